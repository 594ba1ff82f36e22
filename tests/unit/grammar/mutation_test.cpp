// Tests damaged and recombined grammars: a grammar that compiles gives the same masks with little memory as with much,
// and accepts exactly the tokens that the mask allows. The variable SOTTO_GRAMMAR_MUTATIONS sets the number of
// grammars.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/unit/grammar/grammar_support.h"

namespace sotto::test {
namespace {

const char* const kSeeds[] = {
    "root ::= root \"a\" | \"a\"",
    "root ::= s\ns ::= s s | \"a\"",
    "root ::= (\"a\"{2,9} | [a-\u00e9]{5,100})* \"b\"{3,}",
    "root ::= x root \"c\" | \"y\"\nx ::= b\nb ::= \"\"",
    "root ::= ((\"a\"? \"b\"?){0,40} \"c\"){20,40} | <[3-9]>* !<[4]> \"x\"",
    "root ::= e\ne ::= e \"+\" e | e \"*\" e | \"(\" e \")\" | [x-z]{30,90}",
    "root ::= a{8} \"x\"\na ::= b{4}\nb ::= \"c\"? \"d\"?",
    "root ::= \"\\\"\" [^\"\\\\\\x00-\\x1f]{0,20} \"\\\"\" | \"[\" (root (\",\" root)*)? \"]\"",
    "root ::= \"\u20ac\" [^\u00e9\\U00010000-\\U0010FFFF]+ .? | \"\\x41\\u00e9\"* # end\n",
};
const char* const kPieces[] = {"\"a\"", "[a-z]",    "[^x]",   "*",    "+",    "?",      "{2,5}", "{0,100}", "{70}",
                               "(",     ")",        " | ",    "\n",   "root", "::=",    ".",     "\\x41",   "\"",
                               "<[3]>", "!<[2-5]>", "\u00e9", "{3,}", " ",    "b ::= ", "\"\"",  "s",       "e"};

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : state_(seed * 2 + 1) {}

  uint32_t below(uint64_t count) { return static_cast<uint32_t>(next_random(&state_) % count); }

  std::string grammar() {
    std::string text = kSeeds[below(std::size(kSeeds))];
    for (uint32_t left = below(5); left > 0; --left) {
      const size_t at = below(text.size() + 1);
      const std::string other = kSeeds[below(std::size(kSeeds))];
      switch (below(5)) {
        case 0:
          text.erase(at, below(8));
          break;
        case 1:
          if (at < text.size()) text[at] = static_cast<char>(below(256));
          break;
        case 2:
          text.insert(at, other.substr(below(other.size()), below(40)));
          break;
        default:
          text.insert(at, kPieces[below(std::size(kPieces))]);
          break;
      }
    }
    return text;
  }

  MatcherParams small_limits() {
    MatcherParams limits;
    limits.node_count = 16 + below(600);
    limits.frame_count = 16 + below(2000);
    limits.state_set_count = 16 + below(400);
    limits.state_count = 16 + below(2000);
    limits.visit_count = 16 + below(1000);
    limits.mask_bytes = 2000 + below(5000);
    limits.rollback_count = 2 + below(6);
    limits.step_budget = 200'000;
    return limits;
  }

 private:
  uint64_t state_;
};

// Returns false if a limit was reached.
bool compare_masks(TestMatcher& small, TestMatcher& plain, uint32_t token_count, std::vector<int32_t>* allowed) {
  TokenMask expected;
  TokenMask mask;
  if (plain->mask(0, &expected) != Status::kOk) return false;
  const Status status = small->mask(0, &mask);
  EXPECT_TRUE(status == Status::kOk || status == Status::kGrammarTooLarge);
  allowed->clear();
  for (uint32_t token = 0; token < token_count; ++token) {
    if (expected.allows(token)) allowed->push_back(static_cast<int32_t>(token));
    EXPECT_TRUE(status != Status::kOk || mask.allows(token) == expected.allows(token)) << token;
  }
  return status == Status::kOk;
}

void follow(TestMatcher& small, TestMatcher& plain, uint32_t token_count, Mutator* mutator) {
  std::vector<int32_t> allowed;
  uint32_t kept = 0;  // number of tokens that can be rolled back
  for (int step = 0; step < 30; ++step) {
    if (!compare_masks(small, plain, token_count, &allowed)) return;
    const auto other = static_cast<int32_t>(mutator->below(token_count));
    if (std::find(allowed.begin(), allowed.end(), other) == allowed.end()) {
      EXPECT_NE(small->accept_token(0, other), Status::kOk) << other;
    }
    const int32_t token = allowed[mutator->below(allowed.size())];
    const Status status = small->accept_token(0, token);
    if (status == Status::kGrammarTooLarge) return;
    ASSERT_EQ(status, Status::kOk) << token;
    if (plain->accept_token(0, token) != Status::kOk) return;
    if (++kept >= 2 && mutator->below(5) == 0) {
      ASSERT_EQ(small->rewind(2), Status::kOk);
      ASSERT_EQ(plain->rewind(2), Status::kOk);
      kept = 0;
    }
    if (small->must_end(0)) return;
  }
}

TEST(Mutation, CompiledGrammarsAreExactInAnyMemory) {
  const TestVocabulary vocabulary =
      small_vocabulary({"ab", "aaa", "((", "]]]]", "\": \"", "\xC3\xA9\xC3", "true", "xyz", "abababab",
                        "aaaaaaaaaaaaaaaaaaaa", "\xF0\x9F", "\x98\x80"});
  const char* named = std::getenv("SOTTO_GRAMMAR_MUTATIONS");
  const uint64_t count = named == nullptr ? 400 : std::strtoull(named, nullptr, 10);
  size_t compiled = 0;
  for (uint64_t seed = 0; seed < count && !HasFailure(); ++seed) {
    Mutator mutator(seed);
    const std::string text = mutator.grammar();
    SCOPED_TRACE(text);
    const CompileTuning tuning{mutator.below(70), mutator.below(20)};
    const TestGrammar grammar(text, tuning, &vocabulary);
    if (!grammar.valid()) {
      EXPECT_EQ(grammar.status(), Status::kGrammarSyntax) << grammar.message();
      continue;
    }
    ++compiled;
    const MatcherParams limits = mutator.small_limits();
    // The start itself may exceed such limits.
    if (OwnedMatcher().init(grammar.view(), &vocabulary.view(), limits) != Status::kOk) continue;
    TestMatcher small(grammar, &vocabulary, limits);
    MatcherParams much;
    much.step_budget = 400'000;
    TestMatcher plain(grammar, &vocabulary, much, {false, false});
    follow(small, plain, vocabulary.size(), &mutator);
  }
  EXPECT_GE(compiled, count / 10);
}

}  // namespace
}  // namespace sotto::test
