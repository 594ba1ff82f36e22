// Tests grammars that are known to break other engines.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/support/repeated.h"
#include "tests/unit/grammar/grammar_support.h"

namespace sotto::test {
namespace {

struct Case {
  const char* grammar;
  std::vector<std::string> matching;
  std::vector<std::string> refused;
};

TEST(Adversarial, RecursionOfEveryKindIsMatched) {
  const std::vector<Case> cases = {
      {"root ::= root \"a\" | \"a\"", {"a", "aaa", repeated("a", 5000)}, {"", "b", "ab"}},
      {"root ::= x root \"c\" | \"y\"\nx ::= b\nb ::= \"\"", {"y", "yc", "yccc"}, {"", "c", "yy"}},
      {"root ::= (\"a\"*)*", {"", "a", repeated("a", 5000)}, {"b", "ab"}},
      {"root ::= s\ns ::= s s | \"a\"", {"a", "aa", repeated("a", 5000)}, {"", "b"}},
      {"root ::= s\ns ::= s s s | \"a\"", {"a", "aaa", repeated("a", 99)}, {"", "aa"}},
      {"root ::= a | \"x\"\na ::= a", {"x"}, {"", "a"}},
      {"root ::= a\na ::= b \"1\" | \"x\"\nb ::= c \"2\" | a\nc ::= a \"3\" | b",
       {"x", "x1", "x321", "x11", "x1321"},
       {"x2", "x3", "1"}},
      {"root ::= e\ne ::= e \"+\" e | e \"*\" e | \"(\" e \")\" | \"x\"",
       {"x", "x+x*x", repeated("x+", 3000) + "x", repeated("(", 400) + "x" + repeated(")", 400)},
       {"", "+", "x+", "(x"}},
      {"root ::= \"a\" root \"a\" | \"b\" root \"b\" | [ab]?",
       {"", "abba", "ababa", repeated("ab", 30) + repeated("ba", 30)},
       {"ab", "abb"}},
      {"root ::= a{8} \"x\"\na ::= b{4}\nb ::= \"c\"? \"d\"?",
       {"x", "cdx", repeated("c", 32) + "x", repeated("cd", 32) + "x", repeated("d", 32) + "x"},
       {"", repeated("c", 33), repeated("dc", 32) + "dx"}},
  };
  for (const Case& c : cases) {
    const TestGrammar grammar(c.grammar);
    TestMatcher matcher(grammar);
    for (const auto& text : c.matching) EXPECT_EQ(matcher.matches(text), true) << c.grammar << text;
    for (const auto& text : c.refused) EXPECT_EQ(matcher.matches(text), false) << c.grammar << text;
  }
}

// In a small vocabulary, a mask takes fewer bytes as words than as a list of tokens.
TEST(Adversarial, MasksOfSmallVocabulariesFitTheirCache) {
  for (const uint32_t count : {2u, 60u, 64u, 65u, 170u, 250u, 400u}) {
    std::vector<std::optional<std::string>> tokens;
    for (uint32_t i = 0; i < count; ++i) tokens.emplace_back(std::string(1 + i / 26, static_cast<char>('a' + i % 26)));
    const TestVocabulary vocabulary(tokens, -1);
    const TestGrammar letters("root ::= [a-z]* \"!\""), half("root ::= [a-m]* \"!\"");
    for (const TestGrammar* grammar : {&letters, &half}) {
      TestMatcher matcher(*grammar, &vocabulary);
      const AllowedTokens mask = matcher.mask();
      for (uint32_t i = 0; i < count; ++i) EXPECT_EQ(mask[i], grammar == &letters || i % 26 < 13) << count << ": " << i;
    }
  }
}

TEST(Adversarial, ManyOptionalsStaySmall) {
  std::string text = "root ::=";
  for (int i = 0; i < 100; ++i) text += " \"a\"?";
  const TestGrammar grammar(text);
  EXPECT_LE(grammar.view().counts().states, 110u);
  TestMatcher matcher(grammar);
  EXPECT_EQ(matcher.matches(repeated("a", 100)), true);
  EXPECT_EQ(matcher.matches(repeated("a", 101)), false);
}

TEST(Adversarial, LongCountsAreExactAndNeedOneMask) {
  const TestGrammar grammar("root ::= [a-z]{0,100000}");
  const TestVocabulary vocabulary = small_vocabulary({"ab", "abcdefgh"});
  TestMatcher matcher(grammar, &vocabulary);
  const auto first = matcher.mask();
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(matcher.accept("a"), Status::kOk);
    ASSERT_EQ(matcher.mask(), first);
  }
  EXPECT_EQ(matcher->masks().walk_count(), 1u);
  ASSERT_EQ(matcher.accept(repeated("a", 98999)), Status::kOk);
  const auto last = matcher.mask();
  EXPECT_TRUE(last[1 + 'a']);
  EXPECT_FALSE(last[257]);  // "ab" would exceed the limit
  ASSERT_EQ(matcher.accept("z"), Status::kOk);
  EXPECT_TRUE(matcher->must_end(0));
  EXPECT_EQ(matcher.accept("a"), Status::kInvalidArgument);
}

TEST(Adversarial, CountsAreExactHoweverATextIsSplit) {
  for (const uint32_t minimum : {0u, 1u, 6u, 9u}) {
    for (const uint32_t maximum : {9u, 12u, UINT32_MAX}) {
      const std::string most = maximum == UINT32_MAX ? "" : std::to_string(maximum);
      const TestGrammar grammar(
          "root ::= \"<\" [a-z]{" + std::to_string(minimum) + "," + most + "} (\">\" | \"!\" [a-c]?)",
          {.unrolled_states = 0});
      for (uint32_t count = 0; count < 16; ++count) {
        const std::string text = "<" + repeated("b", count);
        const bool begins = count <= maximum;
        for (size_t split = 0; split <= text.size(); ++split) {
          TestMatcher matcher(grammar);
          const Status first = matcher.accept(text.substr(0, split));
          ASSERT_EQ(first == Status::kOk, split <= 1 + uint64_t{maximum});
          if (first != Status::kOk) break;
          const Status rest = matcher.accept(text.substr(split));
          ASSERT_EQ(rest == Status::kOk, begins) << count << " split at " << split;
          if (!begins) continue;
          ASSERT_EQ(matcher.accept(">") == Status::kOk, count >= minimum) << count << split;
          ASSERT_EQ(matcher->may_end(0), count >= minimum);
        }
      }
    }
  }
}

TEST(Adversarial, ALoopEndsWhereTheNextOneBegins) {
  const TestGrammar grammar("root ::= [a-c]{3,40} [x-z]{0,9} \"!\"", {.unrolled_states = 0});
  const std::string text = "abcxyx";
  for (size_t split = 0; split <= text.size(); ++split) {
    TestMatcher matcher(grammar);
    ASSERT_EQ(matcher.accept(text.substr(0, split)), Status::kOk);
    ASSERT_EQ(matcher.accept(text.substr(split)), Status::kOk);
    EXPECT_EQ(matcher.accept("a"), Status::kInvalidArgument) << split;
    EXPECT_EQ(matcher.accept("z!"), Status::kOk) << split;
  }
}

TEST(Adversarial, NestedCountsStayPolynomial) {
  const TestGrammar twice("root ::= ((\"a\"|\"aa\"){0,200}){0,200}");
  TestMatcher matcher(twice);
  EXPECT_EQ(matcher.matches(repeated("a", 80000)), true);
  EXPECT_EQ(matcher.matches(repeated("a", 80001)), false);
  const TestGrammar optional("root ::= ((\"a\"? \"b\"?){0,40}){0,40}");
  TestMatcher other(optional);
  EXPECT_EQ(other.matches(repeated("ab", 1600)), true);
  EXPECT_EQ(other.matches(repeated("ba", 1600)), false);
  const TestGrammar split("root ::= ((\"a\"|\"aa\"){150,200}){150,200}");
  TestMatcher third(split);
  EXPECT_EQ(third.matches(repeated("a", 149)), false);
}

TEST(Adversarial, DeepNestingNeedsFewMasks) {
  const TestGrammar grammar("root ::= \"[\" (root (\",\" root)*)? \"]\"");
  const TestVocabulary vocabulary = small_vocabulary({"[[", "]]", "]]]]", "],", "[],", "]]]]]]]]"});
  MatcherParams limits;
  limits.node_count = limits.state_set_count = limits.state_count = limits.frame_count = 60'000;
  TestMatcher matcher(grammar, &vocabulary, limits);
  for (int i = 0; i < 10000; ++i) {
    ASSERT_EQ(matcher.accept("["), Status::kOk);
    matcher.mask();
  }
  for (int i = 0; i < 9999; ++i) {
    ASSERT_EQ(matcher.accept("]"), Status::kOk);
    matcher.mask();
  }
  EXPECT_FALSE(matcher->may_end(0));
  ASSERT_EQ(matcher.accept("]"), Status::kOk);
  EXPECT_TRUE(matcher->must_end(0));
  EXPECT_LE(matcher->masks().walk_count(), 40u);
}

TEST(Adversarial, UnicodeIsExact) {
  const TestVocabulary vocabulary = small_vocabulary();
  const TestGrammar astral("root ::= [\\U00010000-\\U0010FFFF]+");
  TestMatcher matcher(astral, &vocabulary);
  EXPECT_EQ(matcher.matches("\xF0\x90\x80\x80\xF4\x8F\xBF\xBF"), true);
  EXPECT_EQ(matcher.matches("\xEF\xBF\xBF"), false);
  EXPECT_EQ(matcher.matches("\xF0\x8F\xBF\xBF"), false);  // overlong
  EXPECT_EQ(matcher.matches("\xF4\x90\x80\x80"), false);

  const TestGrammar others("root ::= [^é]+");
  TestMatcher negated(others, &vocabulary);
  ASSERT_EQ(negated.accept("\xC3"), Status::kOk);
  const auto mask = negated.mask();
  EXPECT_FALSE(mask[1 + 0xA9]);
  EXPECT_TRUE(mask[1 + 0xA8]);
  EXPECT_FALSE(mask[0]) << "the text may not end inside a character";

  const TestGrammar only("root ::= [é]+");
  TestMatcher inside(only, &vocabulary);
  ASSERT_EQ(inside.accept("\xC3\xA9"), Status::kOk);
  EXPECT_TRUE(inside.mask()[0]);
  ASSERT_EQ(inside.accept("\xC3"), Status::kOk);
  EXPECT_FALSE(inside.mask()[0]);

  const TestGrammar any("root ::= .*");
  TestMatcher everything(any, &vocabulary);
  const auto allowed = everything.mask();
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool never = (byte >= 0x80 && byte < 0xC2) || byte >= 0xF5;
    EXPECT_EQ(allowed[1 + byte], !never) << byte;
  }
  EXPECT_EQ(everything.matches("\xED\xA0\x80"), false) << "a surrogate";
  EXPECT_EQ(everything.matches(std::string(1, '\0')), true);
}

TEST(Adversarial, ErrorsNameTheFault) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "1:1: missing rule"},
      {"# nothing\n", "2:1: missing rule"},
      {"a ::= \"x\"", "1:1: undefined start rule: root"},
      {"root ::= \"a\"{3,2}", "1:13: repetition minimum exceeds its maximum at '{3,2}'"},
      {"root ::= \"a\"\n  [\\uD800-\\uDFFF]", "2:3: expected a rule name"},
      {"root ::= [\\uD800-\\uDFFF]", "1:11: invalid Unicode code point"},
      {"root ::= [\\U00110000]", "1:11: invalid Unicode code point"},
      {"root ::= [z-a]", "1:11: range end is before its start at 'z-a]'"},
      {"root ::= []", "1:10: empty character class at '[]'"},
      {"root ::= \"a", "1:10: unterminated string"},
      {"root ::= (\"a\"", "1:10: missing closing )"},
      {"root ::= \"a\")", "1:13: unexpected )"},
      {"root ::= foo", "1:10: undefined rule: foo"},
      {"root ::= \"a\"\nroot ::= \"b\"", "2:1: duplicate rule: root"},
      {"root ::= a\na ::= a", "1:1: start rule matches no finite text"},
      {"root ::= *", "1:10: nothing to repeat"},
      {"root ::= \"a\"{,}", "1:13: missing repetition count"},
      {"root ::= \"a\"{2147483649}", "1:14: number exceeds 2147483648"},
      {"root ::= \"\\q\"", "1:11: invalid escape sequence at '\\q\"'"},
      {"root ::= <[3]>", "1:10: token literals need a vocabulary"},
      {"root ::= \"\xFF\"", "1:11: invalid UTF-8"},
      {"é ::= \"x\"", "1:1: expected a rule name"},
      {"root ::= " + repeated("(", 60000), "1:522: parentheses nested deeper than 512"},
  };
  for (const auto& [text, message] : cases) {
    const TestGrammar grammar(text);
    EXPECT_EQ(grammar.status(), Status::kGrammarSyntax) << text;
    EXPECT_EQ(grammar.message().substr(0, message.size()), message) << text.substr(0, 100);
  }
}

TEST(Adversarial, UnreachableRulesAreWarnings) {
  const TestGrammar grammar("root ::= a\na ::= \"x\"\nb ::= c\nc ::= \"y\"");
  ASSERT_TRUE(grammar.valid());
  EXPECT_EQ(grammar.warnings(), (std::vector<std::string>{"b", "c"}));
}

TEST(Adversarial, FortyThousandRulesAreMatched) {
  std::string text = "root ::= r0\n";
  for (int i = 0; i < 40000; ++i) {
    text += "r" + std::to_string(i) + " ::= \"a\" r" + std::to_string(i + 1) + " | \"b\"\n";
  }
  text += "r40000 ::= \"c\"\n";
  const TestGrammar grammar(text);
  TestMatcher matcher(grammar);
  EXPECT_EQ(matcher.matches(repeated("a", 30000) + "b"), true);
  EXPECT_EQ(matcher.matches(repeated("a", 40000) + "c"), true);
  EXPECT_EQ(matcher.matches(repeated("a", 40000) + "b"), false);

  // Every rule begins with the next one, so all of them are entered at once.
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 40000; ++i) {
    chain += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + " | \"b\" \"c\"\n";
  }
  chain += "r40000 ::= \"d\"\n";
  const TestGrammar chained(chain);
  ASSERT_TRUE(chained.valid()) << chained.message();
  MatcherParams limits;
  limits.visit_count = limits.state_count = limits.frame_count = 1u << 18;
  TestMatcher wide(chained, nullptr, limits);
  EXPECT_EQ(wide.matches("bc"), true);
  EXPECT_EQ(wide.matches("d"), true);
  EXPECT_EQ(wide.matches("bd"), false);
}

TEST(Adversarial, LimitsLeaveTheStateUnchanged) {
  const TestGrammar grammar("root ::= s\ns ::= s s s | \"a\"");
  const TestVocabulary vocabulary = small_vocabulary({"aa"});
  MatcherParams limits;
  limits.frame_count = 400;
  limits.node_count = 64;
  TestMatcher matcher(grammar, &vocabulary, limits);
  size_t accepted = 0;
  while (matcher.accept("a") == Status::kOk) ASSERT_LT(++accepted, 1000u);
  EXPECT_GE(accepted, 10u);
  EXPECT_EQ(matcher.accept("a"), Status::kGrammarTooLarge);
  EXPECT_EQ(matcher->may_end(0), accepted % 2 == 1);
  ASSERT_EQ(matcher->rewind(5), Status::kOk);
  EXPECT_EQ(matcher->may_end(0), (accepted - 5) % 2 == 1);
  EXPECT_TRUE(matcher.mask()[1 + 'a']);

  limits = {};
  limits.step_budget = 300;
  TestMatcher hasty(grammar, &vocabulary, limits);
  Status status = Status::kOk;
  for (accepted = 0; accepted < 1000 && status == Status::kOk; ++accepted) {
    status = hasty.accept("a");
  }
  EXPECT_EQ(status, Status::kGrammarTooLarge);
}

constexpr char kPalindrome[] = "root ::= \"a\" root \"a\" | \"b\" root \"b\" | \"\"";

// Each letter may be the middle of the text, and a rollback may return to every previous state.
TEST(Adversarial, AmbiguousTextsFitTheDefaultLimits) {
  const TestGrammar grammar(kPalindrome);
  const TestVocabulary vocabulary = small_vocabulary();
  TestMatcher matcher(grammar, &vocabulary);
  for (int letter = 0; letter < 48; ++letter) {
    ASSERT_EQ(matcher.accept("a"), Status::kOk) << letter;
    matcher.mask();
  }
  EXPECT_EQ(matcher->rewind(48), Status::kOk);
}

// No two sequences have contexts in common, as in a search for many texts.
TEST(Adversarial, SequencesFitTheDefaultLimits) {
  const TestGrammar grammar(kPalindrome);
  const TestVocabulary vocabulary = small_vocabulary();
  for (const uint32_t count : {2u, 11u, 101u}) {
    MatcherParams limits;
    limits.sequence_count = count;
    TestMatcher matcher(grammar, &vocabulary, limits);
    uint64_t random = count;
    for (int letter = 0; letter < 60; ++letter) {
      for (uint32_t sequence = 0; sequence < count; ++sequence) {
        const char text = next_random(&random) % 2 == 0 ? 'a' : 'b';
        ASSERT_EQ(matcher->accept_text(sequence, {&text, 1}), Status::kOk) << count << letter;
        matcher.mask(sequence);
      }
    }
  }
}

TEST(Adversarial, CompilingStaysInItsMemory) {
  std::string words = "root ::= ";
  for (int i = 0; i < 300; ++i) words += "\"w" + std::to_string(i * 7919) + "\" | ";
  for (const std::string& text :
       {std::string("root ::= ([a-z]{1,30} \"x\" | [^é]*)* | root \"y\""), words + "[a-z]{1,60}"}) {
    std::vector<uint8_t> memory(1 << 20);
    size_t needed = 0;
    for (size_t size = 0; size < memory.size() && needed == 0; size += 2003) {
      const CompiledGrammar* grammar = nullptr;
      Error error;
      const Status status = compile_gbnf(as_span(text), {}, {}, {memory.data(), size}, &grammar, &error);
      if (status == Status::kOk) {
        needed = size;
      } else {
        ASSERT_EQ(status, Status::kGrammarTooLarge) << size << error.message;
      }
    }
    EXPECT_GT(needed, 0u);
  }
}

}  // namespace
}  // namespace sotto::test
