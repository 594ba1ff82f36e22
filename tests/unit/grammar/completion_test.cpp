// Tests finish_within, which completes texts within a number of tokens. Compares masks with a search over all texts,
// and checks that there are no dead ends.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "tests/unit/grammar/schema_support.h"

namespace sotto::test {
namespace {

MatcherParams within(uint32_t tokens) {
  MatcherParams params;
  params.finish_within = tokens;
  return params;
}

std::string start_error(const CompiledGrammar& grammar, const Vocabulary* vocabulary, uint32_t tokens) {
  Error error;
  const Status status = OwnedMatcher().init(grammar, vocabulary, within(tokens), {}, &error);
  return status == Status::kOk ? "" : error.message;
}

// The fewest tokens that complete each text, up to a number of tokens, found by trying all texts.
class Oracle {
 public:
  Oracle(const TestGrammar& grammar, const TestVocabulary& vocabulary) : matcher_(grammar), vocabulary_(vocabulary) {}

  // Returns whether the text can be completed with at most `tokens` further tokens.
  bool completes(const std::string& text, uint32_t tokens) {
    const auto [known, is_new] = known_.try_emplace({text, tokens}, false);
    if (!is_new) return known->second;
    bool begins = false;
    bool matches = false;
    EXPECT_EQ(matcher_->test_text(0, as_span(text), &begins, &matches), Status::kOk);
    bool result = matches;
    for (uint32_t token = 0; begins && !result && tokens > 0 && token < vocabulary_.size(); ++token) {
      const auto bytes = vocabulary_.view().token_bytes(token);
      result = !bytes.empty() && completes(text + std::string(bytes.data(), bytes.size()), tokens - 1);
    }
    return known_[{text, tokens}] = result;
  }

 private:
  TestMatcher matcher_;
  const TestVocabulary& vocabulary_;
  std::map<std::pair<std::string, uint32_t>, bool> known_;
};

struct Case {
  const char* name;
  std::string grammar;
};

std::vector<Case> cases() {
  return {
      {"literal", "root ::= \"abba\" | \"b\""},
      {"right recursion", "root ::= \"a\" root \"b\" | \"c\""},
      {"left recursion", "root ::= root \"ab\" | x\nx ::= \"c\" \"a\"?"},
      {"nullable", "root ::= x y x\nx ::= \"a\"?\ny ::= \"b\" x | x"},
      {"ambiguous", "root ::= root root | \"a\" | \"bb\""},
      {"counter", "root ::= \"a\"{2,5} (\"b\" x){3,4}\nx ::= \"c\" | \"ac\""},
      {"unbounded counter", "root ::= (\"a\" \"b\"?){4,} \"c\""},
      {"nested counters", "root ::= ((\"a\" | \"b\"{2}){2,3} \"c\"){2}"},
      {"unit rules", "root ::= x | \"abc\"\nx ::= y\ny ::= z | \"(\" x \")\"\nz ::= \"a\" | y \"b\""},
  };
}

// In these vocabularies, the text of a rule with the fewest bytes also has the fewest tokens, so masks are exact.
TEST(Completions, MasksAreThoseOfASearchOverAllTexts) {
  const TestVocabulary letters({std::nullopt, "a", "b", "c", "(", ")"}, 0);
  for (const Case& c : cases()) {
    for (const uint32_t unrolled : {0u, 64u}) {
      const TestGrammar grammar(c.grammar, {.unrolled_states = unrolled});
      ASSERT_TRUE(grammar.valid()) << c.name << grammar.message();
      Oracle oracle(grammar, letters);
      uint32_t shortest = 1;
      while (!oracle.completes("", shortest)) ++shortest;
      EXPECT_EQ(start_error(grammar.view(), &letters.view(), shortest - 1) == "", shortest == 1) << c.name;
      for (const uint32_t tokens : {shortest, shortest + 1, shortest + 4}) {
        TestMatcher matcher(grammar, &letters, within(tokens));
        std::mt19937 random(tokens);
        for (uint32_t round = 0; round < 20; ++round) {
          matcher->reset(0);
          std::string text;
          for (uint32_t used = 0; !matcher->must_end(0); ++used) {
            const auto mask = matcher.mask();
            std::vector<uint32_t> allowed;
            for (uint32_t token = 1; token < letters.size(); ++token) {
              const std::string next = text + letters.text(token);
              ASSERT_EQ(mask[token], used < tokens && oracle.completes(next, tokens - used - 1)) << c.name << next;
              if (mask[token]) allowed.push_back(token);
            }
            ASSERT_EQ(mask[0], matcher->may_end(0)) << c.name << text;
            if (allowed.empty()) break;
            const uint32_t token = allowed[random() % allowed.size()];
            ASSERT_EQ(matcher->accept_token(0, static_cast<int32_t>(token)), Status::kOk);
            text += letters.text(token);
          }
          ASSERT_TRUE(matcher->may_end(0)) << c.name << text;
        }
      }
    }
  }
}

// Appends random allowed tokens, also long ones, and compares each bit of the masks with the result of accepting the
// token.
void expect_complete_texts(const CompiledGrammar& grammar, const TestVocabulary& vocabulary, uint32_t tokens,
                           uint32_t seed, const std::string& name) {
  OwnedMatcher matcher;
  ASSERT_EQ(matcher.init(grammar, &vocabulary.view(), within(tokens)), Status::kOk) << name;
  std::mt19937 random(seed);
  uint32_t used = 0;
  for (; !matcher->must_end(0); ++used) {
    TokenMask mask;
    ASSERT_EQ(matcher->mask(0, &mask), Status::kOk) << name << " after " << used << " of " << tokens;
    std::vector<int32_t> allowed;
    for (uint32_t token = 0; token < vocabulary.size(); ++token) {
      const bool bit = (mask.words[token / 64] >> token % 64 & 1) != 0;
      if (bit && static_cast<int32_t>(token) != vocabulary.end_token()) allowed.push_back(static_cast<int32_t>(token));
    }
    if (allowed.empty()) break;
    const int32_t tried = static_cast<int32_t>(random() % vocabulary.size());
    const bool is_allowed = (mask.words[tried / 64] >> tried % 64 & 1) != 0;
    const Status status = matcher->accept_token(0, tried);
    ASSERT_EQ(status == Status::kOk, is_allowed) << name << vocabulary.text(static_cast<uint32_t>(tried));
    if (status == Status::kOk) {
      ASSERT_EQ(matcher->rewind(1), Status::kOk);
    }
    ASSERT_EQ(matcher->accept_token(0, allowed[random() % allowed.size()]), Status::kOk);
  }
  EXPECT_TRUE(matcher->may_end(0)) << name << " after " << used;
  EXPECT_LE(used, tokens) << name;
}

TEST(Completions, RandomTextsOfSchemasAreCompleteWithinTheirTokens) {
  SOTTO_REQUIRE_DATA(kGpt2Encoder);
  const auto vocabulary = gpt2_vocabulary();
  const char* schemas[] = {
      R"({"type": "object", "properties": {"name": {"type": "string", "minLength": 3, "maxLength": 60},
          "tags": {"type": "array", "items": {"type": "string"}, "minItems": 2},
          "age": {"type": "integer", "minimum": 0}, "child": {"$ref": "#"}}, "required": ["name", "age"]})",
      R"({"type": "array", "items": {"anyOf": [{"type": "number"}, {"type": "object",
          "properties": {"first": {"enum": ["alpha", "beta"]}, "second": {"format": "date"}},
          "required": ["first", "second"]}]}, "minItems": 1})",
      R"({"type": "string", "pattern": "^[A-Z]{3}-[0-9]{4,}$"})",
  };
  for (const char* schema : schemas) {
    for (const bool schema_order : {false, true}) {
      GrammarParams options;
      options.schema_order = schema_order;
      const BuiltGrammar grammar = BuiltGrammar::schema(schema, options);
      ASSERT_TRUE(grammar.valid()) << grammar.message();
      uint32_t shortest = 1;
      while (!start_error(grammar.view(), &vocabulary->view(), shortest).empty()) ++shortest;
      ASSERT_LT(shortest, 40u);
      for (const uint32_t tokens : {shortest, shortest + 1, shortest + 5, shortest + 30}) {
        for (uint32_t seed = 0; seed < 3; ++seed) {
          expect_complete_texts(grammar.view(), *vocabulary, tokens, seed, schema);
        }
      }
    }
  }
}

TEST(Completions, TooFewTokensAreAnErrorWithTheNumberNeeded) {
  const TestVocabulary letters({std::nullopt, "a", "b", "abb", "bb"}, 0);
  const TestGrammar grammar("root ::= \"abba\" \"b\"*");
  EXPECT_EQ(start_error(grammar.view(), &letters.view(), 1),
            "finish_within is 1; it must be at least 2, the number of tokens of the shortest text");
  EXPECT_EQ(start_error(grammar.view(), &letters.view(), 2), "");
  EXPECT_EQ(start_error(grammar.view(), nullptr, 5), "finish_within is 5; it must be 0 without a vocabulary");
}

TEST(Completions, AVocabularyWithoutATokenForAByteAvoidsIt) {
  const TestVocabulary some({std::nullopt, "a", "x"}, 0);
  const TestGrammar both("root ::= \"b\" | \"xaa\"");
  EXPECT_EQ(start_error(both.view(), &some.view(), 2),
            "finish_within is 2; it must be at least 3, the number of tokens of the shortest text");
  const TestGrammar neither("root ::= \"b\" | \"c\"");
  EXPECT_EQ(start_error(neither.view(), &some.view(), 9),
            "finish_within: every text has a byte for which the vocabulary has no token");
}

TEST(Completions, ATokenOfTheZeroByteIsNoTokenOfOtherBytes) {
  const TestVocabulary zero({std::nullopt, std::string(1, '\0'), "a", "bb"}, 0);
  EXPECT_EQ(start_error(TestGrammar("root ::= \"b\"").view(), &zero.view(), 9),
            "finish_within: every text has a byte for which the vocabulary has no token");
  EXPECT_EQ(start_error(TestGrammar("root ::= \"b\" | \"aa\"").view(), &zero.view(), 1),
            "finish_within is 1; it must be at least 2, the number of tokens of the shortest text");
}

// The number of tokens belongs to a sequence, like its text.
TEST(Completions, SequencesCountTheirOwnTokens) {
  const TestVocabulary letters({std::nullopt, "a", "b"}, 0);
  const TestGrammar grammar("root ::= \"a\"* \"b\"");
  MatcherParams params = within(3);
  params.sequence_count = 2;
  TestMatcher matcher(grammar, &letters, params);
  ASSERT_EQ(matcher->accept_token(0, 1), Status::kOk);
  matcher->mark_start();
  matcher->fork(0, 1);
  ASSERT_EQ(matcher->accept_token(0, 1), Status::kOk);
  EXPECT_EQ(matcher->accept_token(0, 1), Status::kInvalidArgument);
  EXPECT_EQ(matcher.mask(), (std::vector<bool>{false, false, true}));
  ASSERT_EQ(matcher->rewind(1), Status::kOk);
  EXPECT_EQ(matcher.mask(), (std::vector<bool>{false, true, true}));
  ASSERT_EQ(matcher->accept_token(0, 1), Status::kOk);
  matcher->restart();
  EXPECT_EQ(matcher.mask(), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(matcher.mask(1), (std::vector<bool>{false, true, true}));
  matcher->reset(1);
  ASSERT_EQ(matcher->accept_token(1, 1), Status::kOk);
  EXPECT_EQ(matcher.mask(1), (std::vector<bool>{false, true, true}));
}

TEST(Completions, NothingIsRequiredBeforeATrigger) {
  const TestVocabulary letters({std::nullopt, "a", "b", "c", "x"}, 0);
  // The text of an Aho-Corasick automaton for the trigger "ab", after which "cccc" is required.
  const TestGrammar grammar("root ::= free | free \"ab\" \"cccc\"\nfree ::= ([^a] | \"a\"+ [^ab])*");
  TestMatcher matcher(grammar, &letters, within(7));
  EXPECT_EQ(matcher.mask(), (std::vector<bool>{true, true, true, true, true}));
  ASSERT_EQ(matcher->accept_token(0, 4), Status::kOk);
  ASSERT_EQ(matcher->accept_token(0, 4), Status::kOk);
  EXPECT_EQ(matcher.mask(), (std::vector<bool>{true, true, true, true, true}));
  ASSERT_EQ(matcher->accept_token(0, 1), Status::kOk);
  EXPECT_EQ(matcher.mask(), (std::vector<bool>{false, true, false, true, true}));
}

}  // namespace
}  // namespace sotto::test
