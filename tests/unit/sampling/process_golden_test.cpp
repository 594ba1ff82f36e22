// Compares the results with transformers and llama.cpp for the same logits and histories
// (tests/tools/make_process_goldens.py).
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/unit/sampling/process_fixture.h"

namespace sotto {
namespace {

using Json = nlohmann::json;
using Tokens = std::vector<int32_t>;
using K = StageKind;

// The random number generator of the program that made the cases.
class Numbers {
 public:
  explicit Numbers(uint64_t seed) : state_(seed) {}
  uint32_t below(uint32_t limit) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return static_cast<uint32_t>((state_ >> 33) % limit);
  }

 private:
  uint64_t state_;
};

struct Case {
  std::vector<float> logits;
  Tokens history;
  SamplerParams params = ProcessFixture::off();
  std::vector<K> stages;
  int32_t end_token = kNoTokenId;
  uint64_t generated_count = 0;
  uint64_t token_limit = 0;
  // The lists that the parameters point to.
  Tokens tokens;
  std::vector<Tokens> sequences;
  std::vector<TokenList> words;
  std::vector<SequenceBias> biases;
};

void read_sequences(const Json& p, Case* c) {
  const bool banned = p.contains("words");
  const Json& entries = banned ? p["words"] : p["biases"];
  for (const Json& entry : entries) c->sequences.push_back(banned ? entry : entry[0]);
  for (size_t i = 0; i < entries.size(); ++i) {
    const Tokens& sequence = c->sequences[i];
    if (banned) {
      c->words.push_back({sequence.data(), sequence.size()});
    } else {
      c->biases.push_back({sequence.data(), sequence.size(), entries[i][1].get<float>(), 0});
    }
  }
  c->end_token = p.value("end", kNoTokenId);
  c->params.bad_words = c->words;
  c->params.sequence_bias = c->biases;
  c->stages = {K::kBadWords, K::kSequenceBias};
}

void read_llama(const std::string& family, const Json& p, Case* c) {
  if (family == "penalties") {
    c->params.repetition_window = p["window"];
    c->params.repetition_penalty = p["repeat"];
    c->params.frequency_penalty = p["frequency"];
    c->params.presence_penalty = p["presence"];
    c->stages = {K::kRepetition, K::kFrequency, K::kPresence};
  } else {
    c->params.dry_multiplier = p["multiplier"];
    c->params.dry_base = p["base"];
    c->params.dry_allowed_length = p["allowed"];
    c->params.dry_window = p["window"];
    c->tokens = p["breakers"].get<Tokens>();
    c->params.dry_breaker_tokens = c->tokens;
    c->stages = {K::kDry};
  }
}

void read_transformers(const std::string& family, const Json& p, Case* c) {
  const size_t count = c->history.size();
  SamplerParams& params = c->params;
  if (family == "repetition") {
    params.repetition_penalty = p["penalty"];
    params.repetition_window = kWholeWindow;
    params.penalize_prompt = false;
    c->generated_count = count - p["ignored"].get<size_t>();
    c->stages = {K::kRepetition};
  } else if (family == "ngram") {
    params.no_repeat_ngram = p["n"];
    c->stages = {K::kNoRepeatNgram};
  } else if (family == "bad_words" || family == "sequence_bias") {
    read_sequences(p, c);
  } else if (family == "min_new_tokens") {
    params.min_new_tokens = p["min"];
    c->generated_count = count - p["prompt"].get<size_t>();
    c->end_token = p["end"];
    c->stages = {K::kMinTokens};
  } else if (family == "forced_last") {
    params.forced_last_token = p["token"];
    c->generated_count = count;
    c->token_limit = p["limit"];
    c->stages = {K::kForced};
  } else if (family == "suppress" || family == "begin_suppress") {
    c->tokens = p["tokens"].get<Tokens>();
    (p.contains("begin") ? params.begin_suppressed_tokens : params.suppressed_tokens) = c->tokens;
    c->generated_count = count - p.value("begin", count);
    c->stages = {K::kSuppress};
  } else {
    ASSERT_EQ(family, "end_decay");
    params.end_decay_start = p["start"];
    params.end_decay_factor = p["factor"];
    c->generated_count = count - p["prompt"].get<size_t>();
    c->end_token = p["end"];
    c->stages = {K::kEndDecay};
  }
}

void check(const Json& json, const std::string& family, bool is_llama) {
  Case c;
  Numbers numbers(json["seed"]);
  c.logits.resize(json["sizes"][0]);
  for (float& logit : c.logits) {
    logit = static_cast<float>((static_cast<double>(numbers.below(20001)) - 10000) / 1000);
  }
  c.history.resize(json["sizes"][1]);
  for (int32_t& token : c.history) token = static_cast<int32_t>(numbers.below(json["sizes"][2]));
  if (is_llama) {
    read_llama(family, json["p"], &c);
  } else {
    read_transformers(family, json["p"], &c);
  }
  ProcessFixture bench(c.logits.size(), c.end_token);
  Error error;
  ASSERT_EQ(bench.set(c.params, c.stages, &error), Status::kOk) << error.message;
  const size_t cut = json["seed"].get<size_t>() % (c.history.size() + 1);
  SampleInput input = input_of(split_history(c.history, cut / 2, cut), c.generated_count);
  input.token_limit = c.token_limit;
  std::vector<float> expected = c.logits;
  for (const auto& [id, value] : json["changed"].items()) {
    expected[std::stoul(id)] = value.is_null() ? kMinusInfinity : value.get<float>();
  }
  // If nothing would be left, nothing is banned.
  if (*std::max_element(expected.begin(), expected.end()) == kMinusInfinity) {
    expected = c.logits;
  }
  const std::vector<float> logits = bench.logits(c.logits, input);
  for (size_t i = 0; i < logits.size(); ++i) {
    if (expected[i] == kMinusInfinity) {
      ASSERT_EQ(logits[i], expected[i]) << "token " << i;
    } else {
      // A few units in the last place of what was added.
      ASSERT_NEAR(logits[i], expected[i], 4e-6 + 1e-6 * std::fabs(expected[i])) << "token " << i;
    }
  }
}

void check_file(const std::string& name, size_t families) {
  std::ifstream file(SOTTO_SOURCE_DIR "/tests/unit/sampling/data/" + name);
  const Json root = Json::parse(file);
  EXPECT_EQ(root.size(), families);
  for (const auto& [family, cases] : root.items()) {
    EXPECT_EQ(cases.size(), 150u);
    size_t changing = 0;
    for (size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(family + " " + cases[i].dump());
      changing += cases[i]["changed"].empty() ? 0 : 1;
      check(cases[i], family, name == "process_llama.json");
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_GT(changing, 20u) << family;
  }
}

TEST(ProcessGolden, LogitsEqualThoseOfTransformers) { check_file("process_transformers.json", 9); }
TEST(ProcessGolden, LogitsEqualThoseOfLlamaCpp) { check_file("process_llama.json", 2); }

}  // namespace
}  // namespace sotto
