// Compares masks with the Earley parser of tests/tools/earley_oracle.py. The variable SOTTO_GRAMMAR_ORACLE names a file
// to use instead of the committed sample.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/unit/grammar/grammar_support.h"

namespace sotto::test {
namespace {

struct Variant {
  const char* name;
  CompileTuning tuning;
  MatcherParams limits;
  MaskShortcuts shortcuts;
};

std::vector<Variant> variants() {
  MatcherParams tiny;
  tiny.node_count = 64;
  tiny.frame_count = 256;
  tiny.state_set_count = 24;
  tiny.state_count = 160;
  tiny.mask_bytes = 2048;
  // Without determinization there are more states at once than the default limits allow.
  MatcherParams roomy;
  roomy.node_count = roomy.visit_count = 16384;
  roomy.frame_count = 65536;
  roomy.state_set_count = 8192;
  roomy.state_count = 32768;
  return {
      {"plain", {}, {}, {false, false}},
      {"usual", {}, {}, {}},
      {"loops", {.unrolled_states = 0}, {}, {}},
      {"nfa", {.unrolled_states = 64, .determinized_states = 0}, roomy, {}},
      {"loops and nfa", {.unrolled_states = 0, .determinized_states = 0}, roomy, {false, false}},
      {"tiny", {}, tiny, {}},
  };
}

TestVocabulary read_vocabulary(const nlohmann::json& json) {
  std::vector<std::optional<std::string>> tokens;
  for (const auto& token : json) {
    if (token.is_null()) {
      tokens.push_back(std::nullopt);
      continue;
    }
    const auto hex = token.get<std::string>();
    std::string text;
    for (size_t i = 0; i < hex.size(); i += 2) {
      text += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    }
    tokens.push_back(text);
  }
  return {tokens, 0};
}

std::vector<bool> read_mask(const std::string& hex, size_t count) {
  std::vector<bool> mask(count);
  for (size_t i = 0; i < hex.size(); ++i) {
    const int digit = std::stoi(hex.substr(hex.size() - 1 - i, 1), nullptr, 16);
    for (size_t bit = 0; bit < 4; ++bit) {
      if (4 * i + bit < count) mask[4 * i + bit] = (digit >> bit & 1) != 0;
    }
  }
  return mask;
}

// Returns whether the limits suffice for the start of the grammar.
bool can_begin(const TestGrammar& grammar, const TestVocabulary& vocabulary, const Variant& variant) {
  const Status status = OwnedMatcher().init(grammar.view(), &vocabulary.view(), variant.limits, variant.shortcuts);
  EXPECT_TRUE(status == Status::kOk || status == Status::kGrammarTooLarge);
  return status == Status::kOk;
}

class Oracle : public testing::TestWithParam<size_t> {};

TEST_P(Oracle, AllowsTheSameTokens) {
  const Variant variant = variants()[GetParam()];
  const char* named = std::getenv("SOTTO_GRAMMAR_ORACLE");
  std::ifstream file(named != nullptr ? named : SOTTO_SOURCE_DIR "/tests/unit/grammar/data/oracle.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  const TestVocabulary vocabulary = read_vocabulary(nlohmann::json::parse(line));
  size_t grammars = 0;
  size_t decisions = 0;
  size_t limited = 0;
  for (; std::getline(file, line); ++grammars) {
    const auto json = nlohmann::json::parse(line);
    const auto text = json["grammar"].get<std::string>();
    const TestGrammar grammar(text, variant.tuning);
    ASSERT_EQ(grammar.valid(), !json["masks"].is_null()) << text << grammar.message();
    if (!grammar.valid()) continue;
    const auto masks = json["masks"].get<std::vector<std::pair<std::vector<int>, std::string>>>();
    if (!can_begin(grammar, vocabulary, variant)) {
      limited += masks.size();
      continue;
    }
    TestMatcher matcher(grammar, &vocabulary, variant.limits, variant.shortcuts);
    for (const auto& [path, hex] : masks) {
      matcher->reset(0);
      bool within_limits = true;
      for (const int token : path) {
        const Status status = matcher->accept_token(0, token);
        within_limits = status != Status::kGrammarTooLarge;
        if (!within_limits) break;
        ASSERT_EQ(status, Status::kOk) << text << nlohmann::json(path);
      }
      TokenMask mask;
      if (!within_limits || matcher->mask(0, &mask) == Status::kGrammarTooLarge) {
        ++limited;
        continue;
      }
      const auto expected = read_mask(hex, vocabulary.size());
      ASSERT_EQ(matcher.mask(), hex == "0" ? std::vector<bool>() : expected)
          << text << nlohmann::json(path) << variant.name;
      decisions += expected.size();
    }
  }
  EXPECT_GE(grammars, 300u);
  RecordProperty("decisions", static_cast<int>(decisions));
  // Reaching a limit is a valid result, but with the usual limits it must be rare even for such grammars. No mask of
  // the committed sample may reach one.
  const size_t masks = decisions / vocabulary.size();
  constexpr size_t kMasksPerLimit = 10000;
  EXPECT_LE(limited, std::string(variant.name) == "tiny" ? masks / 10 : masks / kMasksPerLimit);
}

INSTANTIATE_TEST_SUITE_P(Variants, Oracle, testing::Range<size_t>(0, 6), [](const auto& parameter) {
  std::string name = variants()[parameter.param].name;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
});

}  // namespace
}  // namespace sotto::test
