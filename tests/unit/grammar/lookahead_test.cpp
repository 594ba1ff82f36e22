// Tests the lookahead of states, compares masks computed with it with masks computed by trying every token, and tests
// the transitions of a grammar by whole characters.
#include "runtime/grammar/compiler/lookahead.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <set>

#include "runtime/grammar/automata/code_points.h"
#include "tests/unit/grammar/grammar_support.h"

namespace sotto::test {
namespace {

const GrammarState& start_of(const TestGrammar& grammar) { return grammar.view().state(grammar.view().root_start()); }

TEST(Lookahead, FindsEndlessClasses) {
  const struct {
    const char* text;
    uint32_t classes;
  } cases[] = {
      {"root ::= [^\"\\\\]*", kAllClasses},
      {"root ::= c* \"x\"\nc ::= [^\"\\\\\\x00-\\x1F] | \"\\\\\" [nt]", kAllClasses},
      {"root ::= ([a] root) | ([^a\"\\\\] root) | \"\\\"\"", kAllClasses},
      {"root ::= [a-zA-Z0-9_ ]+", kAllClasses & ~kOtherClass},
      {"root ::= [a-zA-Z0-9_]+ \".\"", kLowerClass | kUpperClass | kDigitClass},
      {"root ::= [a-zA-Z]+ \".\"", kLowerClass | kUpperClass},
      {"root ::= [a-z0-9_]+ \".\"", kLowerClass | kDigitClass},
      {"root ::= [a-z]{3,}", kLowerClass},
      {"root ::= root [a-y] | [a-y]", 0},
      {"root ::= [^\"\\\\]{0,1000}", 0},
      {"root ::= \"a\" [^\"]*", 0},
      {"root ::= [^\u2028\"]*", kAllClasses & ~kOtherClass},
      {"root ::= root \"x\" | \"y\" ", 0},
  };
  for (const auto& c : cases) {
    const TestGrammar grammar(c.text);
    ASSERT_TRUE(grammar.valid()) << grammar.message();
    EXPECT_EQ(start_of(grammar).endless_classes, c.classes) << c.text;
  }
}

TEST(Lookahead, CountsCharactersOfAnyClass) {
  const struct {
    const char* text;
    uint32_t count;
    bool is_exact;
  } cases[] = {
      {"root ::= c{0,5} \"\\\"\"\nc ::= [^\"\\\\]", 5, true},
      {"root ::= c{2,5} \"\\\"\"\nc ::= [^\"\\\\] | \"\\\\n\"", 5, true},
      {"root ::= c{0,5} [a-z]\nc ::= [^\"\\\\]", 5, false},
      {"root ::= c{3} c? \"\\\"\"\nc ::= [^\"\\\\]", 4, true},
      {"root ::= c{0,16} \"\\\"\"\nc ::= [^\"\\\\]", 16, true},
      {"root ::= c{0,40} \"\\\"\"\nc ::= [^\"\\\\]", 16, false},
      {"root ::= c{0,5}\nc ::= [^\"\\\\]", 5, false},  // the texts after the root are unknown
  };
  for (const auto& c : cases) {
    const TestGrammar grammar(c.text);
    ASSERT_TRUE(grammar.valid()) << grammar.message();
    EXPECT_EQ(start_of(grammar).any_count, c.count) << c.text;
    EXPECT_EQ((start_of(grammar).flags & GrammarState::kExact) != 0, c.is_exact) << c.text;
  }
}

// If bytes follow that are not a character, a token may still be the beginning of one.
TEST(Lookahead, IgnoresBytesThatAreNotCharacters) {
  std::vector<uint64_t> memory(1 << 14);
  for (const std::string_view text : {"1\xD0\xD0x", "1\xE2\x82x", "1\xC3\xA9\xC3x"}) {
    Workspace workspace(memory.data(), memory.size() * sizeof(uint64_t));
    GrammarBuilder builder(workspace);
    const uint32_t root = builder.anonymous_rule(builder.text(as_span(text)));
    const CompiledGrammar* grammar = nullptr;
    ASSERT_EQ(compile_grammar(builder, as_span(text), root, {}, {}, &grammar, nullptr), Status::kOk);
    const TestVocabulary vocabulary = small_vocabulary({"\xD0", "\xE2\x82", "\xC3\xA9"});
    OwnedMatcher matcher;
    ASSERT_EQ(matcher.init(*grammar, &vocabulary.view()), Status::kOk);
    for (size_t at = 0; at < text.size(); ++at) {
      TokenMask mask;
      ASSERT_EQ(matcher->mask(0, &mask), Status::kOk) << at;
      for (uint32_t token = 0; token < vocabulary.size(); ++token) {
        const std::string_view bytes = vocabulary.text(token);
        const bool fits = !bytes.empty() && text.substr(at).substr(0, bytes.size()) == bytes;
        EXPECT_EQ(mask.allows(token), fits) << at << " " << token;
      }
      ASSERT_EQ(matcher->accept_text(0, as_span(text.substr(at, 1))), Status::kOk);
    }
  }
}

// Writes random rules that read characters of many classes.
class Writer {
 public:
  explicit Writer(uint64_t seed) : random_(seed) {}

  std::string grammar() {
    std::string text = "root ::= " + alternatives(3) + "\n";
    text += "r ::= " + alternatives(2) + "\ns ::= " + alternatives(2) + "\n";
    return text + "c ::= [^\"\\\\\\x00-\\x1F] | \"\\\\\" [nt\"]\nd ::= [^\"\\\\\\x00-\\x1F\\x7F]\n";
  }

 private:
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(next_random(&random_) >> 8) % limit; }
  std::string atom() {
    static const char* const kAtoms[] = {"c",
                                         "c",
                                         "d",
                                         "d",
                                         "r",
                                         "s",
                                         "[^\"]",
                                         "[a-z]",
                                         "[a-zA-Z0-9_ ]",
                                         "[A-Z]",
                                         "[^a\"\\\\]",
                                         "\"\\\"\"",
                                         "\"\\\"\"",
                                         "\"the \"",
                                         "\".\"",
                                         "[^\\x00-\\x7F]",
                                         "[\u00e0-\u4e00a-z]",
                                         "(c d)",
                                         "(d | \"ab\")",
                                         "\"\"",
                                         "(\"a\" | d)"};
    return kAtoms[below(std::size(kAtoms))];
  }
  std::string item() {
    const std::string counts[] = {"", "*", "+", "?", "{1,3}", "{0,5}", "{2,17}", "{0,30}", "{200,}", "{0,9} \"\\\"\""};
    return atom() + counts[below(2) * below(std::size(counts))];
  }
  std::string alternatives(uint32_t most) {
    std::string text;
    for (uint32_t a = 0, count = 1 + below(most); a < count; ++a) {
      if (a > 0) text += " | ";
      for (uint32_t i = 0, items = 1 + below(3); i < items; ++i) text += item() + " ";
    }
    return text;
  }

  uint64_t random_;
};

TEST(Lookahead, MasksEqualThoseOfTestingEveryToken) {
  SOTTO_REQUIRE_DATA(kGpt2Encoder);
  const auto vocabulary = gpt2_vocabulary();
  size_t compared = 0;
  const char* count = std::getenv("SOTTO_STATE_TEXTS_GRAMMARS");
  for (int seed = 1; seed <= (count == nullptr ? 40 : std::atoi(count)); ++seed) {
    const std::string text = Writer(static_cast<uint64_t>(seed)).grammar();
    const TestGrammar usual(text, {.unrolled_states = seed % 3 == 0 ? 0u : 64u});
    if (!usual.valid()) continue;  // no text completes it
    const TestGrammar loaded = usual.reloaded();
    ASSERT_TRUE(loaded.valid()) << loaded.message() << text;
    MatcherParams limits;
    limits.node_count = limits.visit_count = 4096;
    limits.state_set_count = 4096;
    limits.frame_count = limits.state_count = 16384;
    TestMatcher plain(usual, vocabulary.get(), limits, {false, false});
    TestMatcher prefiltered(loaded, vocabulary.get(), limits);
    TestMatcher small(loaded, vocabulary.get());
    uint64_t random = static_cast<uint64_t>(seed);
    for (int step = 0; step < 8; ++step) {
      TokenMask masks[3];
      const Status status = plain->mask(0, &masks[0]);
      if (status != Status::kOk || prefiltered->mask(0, &masks[1]) != Status::kOk) break;
      const bool is_small = small->mask(0, &masks[2]) == Status::kOk;
      uint32_t chosen = 0;
      for (uint32_t token = 0; token < vocabulary->size(); ++token) {
        const bool allowed = masks[0].allows(token);
        ASSERT_EQ(masks[1].allows(token), allowed) << text << vocabulary->text(token);
        if (is_small) {
          ASSERT_EQ(masks[2].allows(token), allowed) << text << vocabulary->text(token);
        }
        const bool is_short = vocabulary->text(token).size() <= 1 + next_random(&random) % 3;
        if (allowed && is_short && next_random(&random) % 64 == 0) chosen = token;
      }
      ++compared;
      const auto next = static_cast<int32_t>(chosen);
      if (plain->accept_token(0, next) != Status::kOk) break;
      ASSERT_EQ(prefiltered->accept_token(0, next), Status::kOk) << text;
      if (is_small && small->accept_token(0, next) != Status::kOk) break;
    }
  }
  EXPECT_GT(compared, 100u);
}

// Returns the states that the characters of each class lead to, or nothing if a class leads nowhere.
std::set<uint32_t> targets_of_characters(const CompiledGrammar& grammar, uint32_t start) {
  std::set<uint32_t> targets;
  for (uint32_t c = 0; c <= kMaxCodePoint; ++c) {
    uint8_t bytes[4];
    const size_t size = is_scalar_value(c) ? encode_utf8(c, bytes) : 0;
    if (size == 0 || char_class_of(bytes[0]) == 0) continue;
    uint32_t state = start;
    for (size_t i = 0; i < size; ++i) {
      const auto moves = grammar.moves(state, grammar.byte_class(bytes[i]));
      if (moves.empty()) return {};
      state = moves[0].target;
    }
    targets.insert(state);
  }
  return targets;
}

// Returns parts of all blocks of characters, so that most continuation bytes have a class of their own.
std::string scattered_ranges() {
  std::string ranges;
  for (uint32_t i = 0; i < 30; ++i) {
    const uint32_t first = 0x400 + i * 0x8642;
    char range[32];
    std::snprintf(range, sizeof range, "\\U%08X-\\U%08X", first, first + 0x100 + i * 7);
    ranges += range;
  }
  return ranges;
}

// A walk follows only the few paths through the bytes of characters that differ. It must still reach all states that
// characters lead to.
TEST(Utf8Transitions, WalksEnterEachPlaceOnce) {
  const std::string ranges = scattered_ranges();
  const TestGrammar built("root ::= [" + ranges + "] \"a\" | [^" + ranges + "] \"b\"");
  ASSERT_TRUE(built.valid()) << built.message();
  const CompiledGrammar& grammar = built.view();
  const uint32_t start = grammar.root_start();
  std::vector<Utf8Transition> memory(Utf8Transitions::count(grammar));
  Utf8Transitions steps;
  steps.init(grammar, memory.data());
  std::set<uint32_t> targets;
  size_t visits = 0;
  for (const Utf8Transition& first : steps.from(0)) {
    EXPECT_TRUE(steps.all_lead_to(grammar, start, first, [&](uint32_t target) {
      targets.insert(target);
      ++visits;
      return true;
    }));
  }
  EXPECT_LT(visits, 20000u);
  EXPECT_EQ(targets, targets_of_characters(grammar, start));
  EXPECT_EQ(targets.size(), 2u);
}

}  // namespace
}  // namespace sotto::test
