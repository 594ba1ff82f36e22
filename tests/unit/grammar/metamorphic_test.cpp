// Metamorphic tests with GPT-2's vocabulary: a mask must not depend on prefilters, on truncation or on the size of the
// store, and must contain exactly the tokens that are accepted.
#include <gtest/gtest.h>

#include <set>

#include "runtime/base/constraint.h"
#include "tests/unit/grammar/grammar_support.h"

namespace sotto::test {
namespace {

struct Sample {
  const char* name;
  std::string grammar;
  std::string text;  // a text of its language, along which masks are compared
};

std::vector<Sample> samples() {
  const char* json = R"gbnf(
root ::= value
value ::= object | array | string | [0-9]+ | "true" | "false" | "null"
object ::= "{" ws (string ":" ws value ("," ws string ":" ws value)*)? ws "}"
array ::= "[" ws (value ("," ws value)*)? ws "]"
string ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
ws ::= [ \n]{0,20}
)gbnf";
  std::string nested;
  for (int i = 0; i < 40; ++i) nested += "[{\"a\": ";
  nested += "\"x\"";
  for (int i = 0; i < 40; ++i) nested += "}]";
  return {
      {"json", json, "{\"name\": \"caf\u00e9 \U0001F600\", \"list\": [1, 22, [], {\"k\": null}]}"},
      {"nested json", json, nested},
      {"limited string", "root ::= \"\\\"\" [^\"\\\\\\x00-\\x1F]{3,30} \"\\\"\" [ab]{2,200} (\"x\" [0-9]{50,90}){2,}",
       "\"twenty-eight characters here\"abababababab"
       "x" +
           std::string(60, '7') + "x" + std::string(90, '8')},
      {"left recursion",
       "root ::= e\ne ::= e \"+\" t | t\nt ::= t \"*\" f | f\nf ::= \"(\" e \")\" | [a-z]+ | "
       "[0-9]{1,40}",
       "(a+b*(cc+((1234))))*(x+((((((((y))))))))"},
      {"ambiguous", "root ::= s\ns ::= s s | \"(\" s \")\" | [a-c]+", "ab(a(bc)a)(((a)))bc"},
      {"words", "root ::= (word \" \")* word \".\"\nword ::= [A-Za-z]+ | \"na\u00efve\" | [^\\x00-\\x7F]+",
       "The na\u00efve \u4e16\u754c end."},
  };
}

MatcherParams tiny_limits() {
  MatcherParams limits;
  limits.node_count = 400;
  limits.frame_count = 800;
  limits.state_set_count = 400;
  limits.state_count = 1200;
  limits.mask_bytes = 16 << 10;
  limits.rollback_count = 0;
  return limits;
}

TEST(Metamorphic, EveryMethodFindsTheSameMasks) {
  SOTTO_REQUIRE_DATA(kGpt2Encoder);
  const auto vocabulary = gpt2_vocabulary();
  for (const Sample& sample : samples()) {
    const TestGrammar grammar(sample.grammar);
    const TestGrammar counted(sample.grammar, {.unrolled_states = 0});
    const TestGrammar undetermined(sample.grammar, {.unrolled_states = 8, .determinized_states = 0});
    TestMatcher plain(grammar, vocabulary.get(), {}, {false, false});
    TestMatcher usual(grammar, vocabulary.get());
    TestMatcher prefiltered(grammar, vocabulary.get(), {}, {true, false});
    TestMatcher truncated(counted, vocabulary.get(), {}, {false, true});
    TestMatcher loops(counted, vocabulary.get());
    TestMatcher nfa(undetermined, vocabulary.get());
    TestMatcher tiny(counted, vocabulary.get(), tiny_limits());
    const TestGrammar image = counted.reloaded();
    TestMatcher loaded(image, vocabulary.get());
    for (size_t at = 0; at <= sample.text.size(); ++at) {
      const auto expected = plain.mask();
      ASSERT_FALSE(expected.empty()) << sample.name << at;
      for (TestMatcher* other : {&usual, &prefiltered, &truncated, &loops, &nfa, &tiny, &loaded}) {
        ASSERT_EQ(other->mask(), expected) << sample.name << at;
        ASSERT_EQ(other->mask(), expected) << sample.name << at << "warm";
      }
      if (at == sample.text.size()) break;
      const std::string_view byte = std::string_view(sample.text).substr(at, 1);
      for (TestMatcher* other : {&plain, &usual, &prefiltered, &truncated, &loops, &nfa, &tiny, &loaded}) {
        ASSERT_EQ(other->accept(byte), Status::kOk) << sample.name << at;
      }
    }
  }
}

TEST(Metamorphic, ABitIsSetExactlyWhenAcceptSucceeds) {
  SOTTO_REQUIRE_DATA(kGpt2Encoder);
  const auto vocabulary = gpt2_vocabulary();
  for (const Sample& sample : samples()) {
    const TestGrammar grammar(sample.grammar);
    TestMatcher matcher(grammar, vocabulary.get());
    for (const size_t at : {size_t{0}, sample.text.size() / 3, sample.text.size() / 2}) {
      matcher->reset(0);
      ASSERT_EQ(matcher.accept(sample.text.substr(0, at)), Status::kOk);
      const auto mask = matcher.mask();
      for (uint32_t token = 0; token < vocabulary->size(); ++token) {
        const Status status = matcher->accept_token(0, static_cast<int32_t>(token));
        ASSERT_EQ(status == Status::kOk, mask[token]) << sample.name << at << " token " << token;
        if (status != Status::kOk) continue;
        ASSERT_EQ(matcher->rewind(1), Status::kOk);
      }
      EXPECT_EQ(matcher.mask(), mask);
    }
  }
}

// Tokens of characters that do not change the state are not read byte by byte.
TEST(Metamorphic, TokensLeadToTheStateOfTheirBytes) {
  SOTTO_REQUIRE_DATA(kGpt2Encoder);
  const auto vocabulary = gpt2_vocabulary();
  auto all = samples();
  all.push_back({"direct", "root ::= [^x]* \"x\" ([a-z] | \"\u00e9\")*", "\u00e9 a_bxcc"});
  all.push_back({"called twice", "root ::= c* \".\" | c* \"!\" d*\nc ::= [^.!]\nd ::= [a-z] d?", "a \u4e16!zz"});
  all.push_back({"optional after", "root ::= \"(\" c* (\")\" | c \"]\")\nc ::= [^()] | \"(\" c", "(ab((\u00e9"});
  MatcherParams limits;
  limits.sequence_count = 3;
  size_t repeating = 0;
  for (const Sample& sample : all) {
    const TestGrammar grammar(sample.grammar);
    TestMatcher matcher(grammar, vocabulary.get(), limits);
    const auto config = [&](uint32_t sequence) { return matcher->automaton().pins()[sequence].set; };
    for (size_t at = 0; at <= sample.text.size(); at += 1 + sample.text.size() / 12) {
      matcher->reset(2);
      ASSERT_EQ(matcher->accept_text(2, as_span(sample.text.substr(0, at))), Status::kOk);
      const bool repeats = matcher->automaton().store().state_set(config(2)).repeated_classes != 0;
      repeating += repeats ? 1 : 0;
      for (uint32_t token = 0; token < vocabulary->size(); token += repeats ? 1 : 17) {
        const auto bytes = vocabulary->view().token_bytes(token);
        if (bytes.empty()) continue;
        matcher->fork(2, 0);
        matcher->fork(2, 1);
        const Status by_token = matcher->accept_token(0, static_cast<int32_t>(token));
        ASSERT_EQ(by_token, matcher->accept_text(1, bytes)) << sample.name << at << "," << token;
        ASSERT_EQ(config(0), config(1)) << sample.name << at << " token " << token;
      }
    }
  }
  EXPECT_GT(repeating, 10u);
}

// The states inside a piece of text are not stored.
TEST(Metamorphic, PiecesLeadToTheStateOfTheirBytes) {
  auto all = samples();
  all.push_back({"calls in calls",
                 "root ::= (a | b | x \"q\")*\na ::= b \"z\" | b b\nb ::= c c\nc ::= d \"y\"?\n"
                 "d ::= [a-f] | \"<\" a \">\"\nx ::= x d | d",
                 "aybyc<abydc><abz><cd<abcd>e>abcq"});
  all.push_back({"counts", "root ::= ([a-z]{3,40} | [a-fé]{7,} | \"[\" [a-c]{2,9} \"]\"){2,5} \".\"",
                 "abcabc[abcabc]fedcbaéfabcdefabcdef[ca]."});
  all.push_back({"counts in a row", "root ::= [a-c]{3,40} [x-z]{0,9} [0-9]{0,9} [x-z]{2,40} \"!\"",
                 "abcxyzx0123456zyxzyxzyxzyxzyxzyxzyxzyxzyx!"});
  all.push_back({"nested counts", "root ::= ((a [a-z]?){2,9} \",\"){1,3} a\na ::= [a-m]{5,30}",
                 "abcdefghijklmabcdezabcde,abcdefghijklmabcdefghijklm,aaaaaaaaaaaa"});
  MatcherParams limits;
  limits.sequence_count = 2;
  uint64_t random = 3;
  size_t counting = 0;
  for (const Sample& sample : all) {
    for (const CompileTuning& tuning : {CompileTuning{}, CompileTuning{.unrolled_states = 0}}) {
      const TestGrammar grammar(sample.grammar, tuning);
      for (int round = 0; round < 20; ++round) {
        TestMatcher matcher(grammar, nullptr, limits);
        const auto config = [&](uint32_t i) { return matcher->automaton().pins()[i].set; };
        for (size_t at = 0; at < sample.text.size();) {
          const size_t size = 1 + next_random(&random) % 24;
          const std::string piece = sample.text.substr(at, size);
          ASSERT_EQ(matcher->accept_text(0, as_span(piece)), Status::kOk) << sample.name << at;
          for (const char& byte : piece) {
            ASSERT_EQ(matcher->accept_text(1, {&byte, 1}), Status::kOk) << sample.name << at;
          }
          ASSERT_EQ(config(0), config(1)) << sample.name << " at " << at << '+' << size;
          counting += matcher->automaton().store().state_set(config(0)).repeats_by_count ? 1 : 0;
          at += size;
        }
        EXPECT_EQ(matcher->accept_text(0, as_span("\x01 none has this")), Status::kInvalidArgument);
      }
    }
  }
  EXPECT_GT(counting, 100u);
}

// Steps that are remembered by token must be forgotten when sets are renumbered.
TEST(Metamorphic, CollectionsDoNotChangeWhereTokensLead) {
  const TestVocabulary vocabulary({"(", ")", "((", "ab", "a(b", "b)c)", ")(", "a", "cab"}, -1);
  const TestGrammar grammar("root ::= p*\np ::= \"(\" p* \")\" | [abc]+");
  MatcherParams limits;
  limits.sequence_count = 2;
  limits.rollback_count = 0;
  limits.node_count = 24;
  limits.state_set_count = 16;
  limits.frame_count = limits.state_count = 32;
  TestMatcher matcher(grammar, &vocabulary, limits);
  const auto config = [&](uint32_t i) { return matcher->automaton().pins()[i].set; };
  uint64_t random = 5;
  for (int step = 0; step < 20000; ++step) {
    if (step % 20 == 0) {
      matcher->reset(0);
      matcher->reset(1);
    }
    const auto token = static_cast<uint32_t>(next_random(&random) % vocabulary.size());
    const Status status = matcher->accept_token(0, static_cast<int32_t>(token));
    if (status != Status::kOk) {
      ASSERT_EQ(status, Status::kInvalidArgument);
      matcher->fork(0, 1);
      continue;
    }
    for (const char& byte : vocabulary.view().token_bytes(token)) {
      ASSERT_EQ(matcher->accept_text(1, {&byte, 1}), Status::kOk) << step;
    }
    ASSERT_EQ(config(0), config(1)) << step << " token " << token;
  }
  EXPECT_GT(matcher->automaton().collection_count(), 20u);
}

TEST(Metamorphic, RollbackAndForkRestoreTheMasks) {
  SOTTO_REQUIRE_DATA(kGpt2Encoder);
  const auto vocabulary = gpt2_vocabulary();
  uint64_t random = 7;
  for (const Sample& sample : samples()) {
    const TestGrammar grammar(sample.grammar, {.unrolled_states = 8});
    MatcherParams limits = tiny_limits();
    limits.sequence_count = 3;
    limits.rollback_count = 16;
    TestMatcher matcher(grammar, vocabulary.get(), limits);
    const TokenConstraint constraint(&*matcher);
    std::vector<AllowedTokens> masks;
    for (int step = 0; step < 60; ++step) {
      masks.push_back(matcher.mask());
      std::vector<int32_t> allowed;
      for (uint32_t token = 0; token < vocabulary->size(); ++token) {
        if (masks.back()[token]) allowed.push_back(static_cast<int32_t>(token));
      }
      const int32_t token = allowed[next_random(&random) % allowed.size()];
      if (token == vocabulary->end_token()) break;
      constraint.fork(0, 1 + static_cast<uint32_t>(step % 2));
      const Status status = constraint.accept_token(0, token);
      if (status == Status::kGrammarTooLarge) break;
      ASSERT_EQ(status, Status::kOk);
      EXPECT_EQ(matcher.mask(1 + static_cast<uint32_t>(step % 2)), masks.back());
      if (step % 5 == 4) {
        const size_t back = 1 + next_random(&random) % 5;
        ASSERT_EQ(constraint.rewind(back), Status::kOk);
        EXPECT_EQ(matcher.mask(), masks[masks.size() - back]) << sample.name << step;
        masks.resize(masks.size() - back);
      }
    }
    EXPECT_EQ(constraint.rewind(17), Status::kInvalidState);
  }
}

TEST(Metamorphic, SplittingATextDoesNotChangeTheState) {
  for (const Sample& sample : samples()) {
    const TestGrammar grammar(sample.grammar);
    TestMatcher whole(grammar);
    TestMatcher parts(grammar);
    ASSERT_EQ(whole.accept(sample.text), Status::kOk) << sample.name;
    uint64_t random = 3;
    for (size_t at = 0; at < sample.text.size();) {
      const size_t size = 1 + next_random(&random) % 5;
      ASSERT_EQ(parts.accept(std::string_view(sample.text).substr(at, size)), Status::kOk);
      at += size;
    }
    EXPECT_EQ(whole->may_end(0), parts->may_end(0)) << sample.name;
  }
}

TEST(Metamorphic, ForcedBytesAreTheOnlyOnes) {
  const TestGrammar grammar("root ::= \"{\\\"name\\\": \\\"\" [a-z]+ \"\\\", \\\"age\\\": \" [0-9]{2} \"}\"");
  TestMatcher matcher(grammar);
  char forced[64];
  size_t size = 0;
  ASSERT_EQ(matcher->forced_text(0, forced, &size), Status::kOk);
  EXPECT_EQ(std::string(forced, size), "{\"name\": \"");
  ASSERT_EQ(matcher.accept("{\"name\": \"bob\""), Status::kOk);
  ASSERT_EQ(matcher->forced_text(0, forced, &size), Status::kOk);
  EXPECT_EQ(std::string(forced, size), ", \"age\": ");
  ASSERT_EQ(matcher->forced_text(0, std::span(forced, 3), &size), Status::kOk);
  EXPECT_EQ(std::string(forced, size), ", \"");
  ASSERT_EQ(matcher.accept(", \"age\": 42}"), Status::kOk);
  ASSERT_EQ(matcher->forced_text(0, forced, &size), Status::kOk);
  EXPECT_EQ(size, 0u);
  EXPECT_TRUE(matcher->must_end(0));
}

TEST(Metamorphic, TokenLiteralsAllowOnlyTheirTokens) {
  TestVocabulary vocabulary({std::nullopt, std::nullopt, "a", "b", "ab", "<", std::nullopt}, 0);
  vocabulary.set_name(1, "<think>");
  vocabulary.set_name(6, "</think>");
  const TestGrammar grammar("root ::= <think> (!</think>)* </think> [ab]+ <[2-3]>?", {}, &vocabulary);
  TestMatcher matcher(grammar, &vocabulary);
  EXPECT_EQ(matcher.mask(), (std::vector<bool>{0, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(matcher->accept_token(0, 2), Status::kInvalidArgument);
  ASSERT_EQ(matcher->accept_token(0, 1), Status::kOk);
  EXPECT_EQ(matcher.mask(), (std::vector<bool>{1, 1, 1, 1, 1, 1, 1}));
  ASSERT_EQ(matcher->accept_token(0, 4), Status::kOk);
  ASSERT_EQ(matcher->accept_token(0, 6), Status::kOk);
  EXPECT_EQ(matcher.mask(), (std::vector<bool>{0, 0, 1, 1, 1, 0, 0}));
  ASSERT_EQ(matcher->accept_token(0, 4), Status::kOk);
  EXPECT_EQ(matcher.mask(), (std::vector<bool>{1, 0, 1, 1, 1, 0, 0}));
  // If both the literal and the text allow a token, it stands for both.
  ASSERT_EQ(matcher->accept_token(0, 2), Status::kOk);
  EXPECT_EQ(matcher.mask(), (std::vector<bool>{1, 0, 1, 1, 1, 0, 0}));
  ASSERT_EQ(matcher->accept_token(0, 0), Status::kOk);
  EXPECT_TRUE(matcher->must_end(0));
  for (const char* wrong : {"root ::= <nothing>", "root ::= <[7]>", "root ::= <[3-2]>", "root ::= <[]>",
                            "root ::= !\"a\"", "root ::= <[1", "root ::= !<[0-6]>"}) {
    EXPECT_EQ(TestGrammar(wrong, {}, &vocabulary).status(), Status::kGrammarSyntax) << wrong;
  }
}

TEST(Metamorphic, VocabulariesStayInBounds) {
  SOTTO_REQUIRE_DATA(kGpt2Encoder);
  const auto vocabulary = gpt2_vocabulary();
  EXPECT_LE(vocabulary->memory_size(), size_t{1'250'000});
  RecordProperty("vocabulary_bytes", static_cast<int>(vocabulary->memory_size()));
}

}  // namespace
}  // namespace sotto::test
