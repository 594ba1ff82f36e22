// Tests grammars without a model: every language, lazy activation, and matchers over a small vocabulary.
#include "tests/capi/open_grammar.h"

#include <algorithm>
#include <random>

namespace sotto {
namespace {

using Tokens = std::set<sotto_token>;

// The tokens are "a" "b" "c" "ab" "bc" "cab" "é", its two halves, an empty one, <end> and <call>.
OpenVocabulary& little() {
  static OpenVocabulary vocabulary(
      {"a", "b", "c", "ab", "bc", "cab", "\xC3\xA9", "\xC3", "\xA9", "", "<end>", "<call>"},
      {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1}, {10});
  return vocabulary;
}
constexpr sotto_token kA = 0, kB = 1, kC = 2, kAb = 3, kBc = 4, kCab = 5, kWhole = 6, kFirst = 7, kSecond = 8,
                      kEnd = 10, kCall = 11;
constexpr size_t kCount = 12;

void expect_texts(const OpenGrammar& grammar, std::initializer_list<std::string> in,
                  std::initializer_list<std::string> out) {
  ASSERT_EQ(grammar.status, SOTTO_OK) << grammar.message();
  OpenMatcher matcher(grammar);
  for (const std::string& text : in) EXPECT_TRUE(matcher.matches(text)) << text;
  for (const std::string& text : out) EXPECT_FALSE(matcher.matches(text)) << text;
}

TEST(Grammar, CompilesEveryLanguage) {
  expect_texts(OpenGrammar("root ::= \"a\" root \"b\" | \"c\""), {"c", "aacbb"}, {"", "acbb", "a"});
  expect_texts(OpenGrammar("x ::= \"y\"\nroot ::= x", [](auto& p) { p.root = {"x", 1}; }), {"y"}, {""});
  expect_texts(OpenGrammar(R"({"type":"object","properties":{"a":{"type":"integer"}},
                               "required":["a"],"additionalProperties":false})",
                           SOTTO_GRAMMAR_JSON_SCHEMA),
               {R"({"a": 1})", R"({"a": -7})"}, {"{}", R"({"a": 1.5})", R"({"a": 1, "b": 2})"});
  expect_texts(OpenGrammar("\\d{3}-[a-f]+", SOTTO_GRAMMAR_REGEX), {"123-abc"}, {"12-a", "123-", "123-g"});
  expect_texts(OpenGrammar("", SOTTO_GRAMMAR_JSON), {"1", "[true, null]", R"({"a": "b"})"}, {"", "01", "[1,]", "nul"});
  expect_texts(OpenGrammar("", SOTTO_GRAMMAR_JSON_OBJECT), {"{}", R"({"a": [1]})"}, {"1", "[]"});
  expect_texts(OpenGrammar(R"(["yes", "no", "caf\u00e9"])", SOTTO_GRAMMAR_CHOICES), {"yes", "no", "caf\xC3\xA9"},
               {"", "y", "yesno", "\"yes\""});
  expect_texts(OpenGrammar(R"({"minimum":-2,"maximum":12,"integer":true})", SOTTO_GRAMMAR_NUMBER), {"-2", "0", "12"},
               {"-3", "13", "1.5", "007"});
  expect_texts(OpenGrammar(R"({"minimum":0.5})", SOTTO_GRAMMAR_NUMBER), {"0.5", "7.25"}, {"0.4", "-1"});
  expect_texts(OpenGrammar("{}", SOTTO_GRAMMAR_NUMBER), {"0", "-1.5"}, {"", "x"});
  const std::string tools = R"([{"name":"add","parameters":{"type":"object","properties":
      {"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}},
      {"type":"function","function":{"name":"stop"}}])";
  expect_texts(OpenGrammar(tools, SOTTO_GRAMMAR_TOOLS),
               {R"({"name": "add", "arguments": {"x": 1}})", R"({"name": "stop", "arguments": {}})"},
               {R"({"name": "add", "arguments": {}})", R"({"name": "no", "arguments": {}})"});
  expect_texts(OpenGrammar(tools,
                           [](auto& p) {
                             p.language = SOTTO_GRAMMAR_TOOLS;
                             p.parallel_tool_calls = 1;
                             p.json_space = SOTTO_JSON_COMPACT;
                           }),
               {R"([{"name":"stop","arguments":{}},{"name":"add","arguments":{"x":2}}])"},
               {R"({"name":"stop","arguments":{}})", "[]"});
}

TEST(Grammar, AcceptsEveryOption) {
  const std::string schema = R"({"type":"object","properties":{"a":{"format":"date"}}})";
  const auto with = [&](const OpenGrammar::Adjust& adjust) {
    return OpenGrammar(schema, [&](auto& p) {
      p.language = SOTTO_GRAMMAR_JSON_SCHEMA;
      adjust(p);
    });
  };
  const std::string compact = R"({"a":"2024-02-29","b":1})";
  const std::string spaced = R"({"a": "2024-02-29", "b": 1})";
  const std::string wrong_date = R"({"a": "nothing"})";
  const std::string lines = "{\n\"a\": \"2024-02-29\", \"b\": 1}";
  expect_texts(with([](auto&) {}), {spaced, "{}"}, {compact, lines, wrong_date, " {}"});
  const auto flexible = [&](const OpenGrammar::Adjust& adjust) {
    return with([&](auto& p) {
      p.json_space = SOTTO_JSON_FLEXIBLE;
      adjust(p);
    });
  };
  expect_texts(flexible([](auto&) {}), {compact, spaced, lines, "{}"}, {" {}"});
  expect_texts(with([](auto& p) { p.json_space = SOTTO_JSON_COMPACT; }), {compact}, {spaced});
  expect_texts(flexible([](auto& p) { p.max_space = 0; }), {compact}, {spaced});
  expect_texts(flexible([](auto& p) { p.max_space = UINT32_MAX; }), {"{" + std::string(5000, ' ') + "}"}, {});
  expect_texts(flexible([](auto& p) { p.allow_surrounding_whitespace = 1; }), {" {}\n"}, {});
  expect_texts(with([](auto& p) { p.assert_formats = 0; }), {wrong_date}, {});
  expect_texts(with([](auto& p) { p.forbid_additional = 1; }), {R"({"a": "2024-02-29"})"}, {spaced});
  const std::string siblings = R"({"$ref":"#/definitions/a","enum":[1],"definitions":{"a":{"type":"integer"}}})";
  for (const uint32_t draft : {7u, 2020u}) {
    const OpenGrammar grammar(siblings, [draft](auto& p) {
      p.language = SOTTO_GRAMMAR_JSON_SCHEMA;
      p.schema_draft = draft;
    });
    EXPECT_EQ(OpenMatcher(grammar).matches("2"), draft == 7);
  }
  const OpenGrammar counted(R"({"type":"object","minProperties":2})", [](auto& p) {
    p.language = SOTTO_GRAMMAR_JSON_SCHEMA;
    p.assume_distinct_names = 1;
  });
  EXPECT_EQ(counted.status, SOTTO_OK) << counted.message();
}

TEST(Grammar, ErrorsNamePlaceAndReason) {
  const struct {
    sotto_grammar_language language;
    std::string source;
    sotto_status status;
    uint64_t offset;
    std::string message;
  } cases[] = {
      {SOTTO_GRAMMAR_GBNF, "root ::= \"a\nb", SOTTO_GRAMMAR_SYNTAX, 9, "1:10: unterminated string"},
      {SOTTO_GRAMMAR_GBNF, "root ::= x", SOTTO_GRAMMAR_SYNTAX, 9, "1:10: undefined rule: x"},
      {SOTTO_GRAMMAR_GBNF, "a ::= \"a\"", SOTTO_GRAMMAR_SYNTAX, 0, "1:1: undefined start rule: root"},
      {SOTTO_GRAMMAR_GBNF, "root ::= root", SOTTO_GRAMMAR_SYNTAX, 0, "1:1: start rule matches no finite text"},
      {SOTTO_GRAMMAR_GBNF, "root ::= <x>", SOTTO_GRAMMAR_SYNTAX, 9, "1:10: token literals need a vocabulary"},
      {SOTTO_GRAMMAR_JSON_SCHEMA, "{\"type\": \"x\"}", SOTTO_GRAMMAR_SYNTAX, 9, "#/type is \"x\"; it must be"},
      {SOTTO_GRAMMAR_JSON_SCHEMA, "{\"$dynamicRef\": \"#x\"}", SOTTO_GRAMMAR_UNSUPPORTED, 16,
       "#/$dynamicRef is \"#x\"; the keyword is not supported"},
      {SOTTO_GRAMMAR_JSON_SCHEMA, "{\"pattern\": \"(\"}", SOTTO_GRAMMAR_SYNTAX, 12, "#/pattern: 1:1"},
      {SOTTO_GRAMMAR_JSON_SCHEMA, "{", SOTTO_GRAMMAR_SYNTAX, 1, "1:2: "},
      {SOTTO_GRAMMAR_JSON_SCHEMA, "false", SOTTO_GRAMMAR_SYNTAX, 0, "1:1: start rule matches no finite text"},
      {SOTTO_GRAMMAR_REGEX, "a(", SOTTO_GRAMMAR_SYNTAX, 1, "1:2: missing closing )"},
      {SOTTO_GRAMMAR_REGEX, "a(?<=b)", SOTTO_GRAMMAR_UNSUPPORTED, 1, "1:2: unsupported look-behind"},
      {SOTTO_GRAMMAR_REGEX, "(a)\\1", SOTTO_GRAMMAR_UNSUPPORTED, 3, "1:4: unsupported back-reference"},
      {SOTTO_GRAMMAR_STRUCTURAL_TAG,
       "{\"type\":\"structural_tag\",\"format\":{\"type\":\"regex\",\"pattern\":\"(abc\"}}", SOTTO_GRAMMAR_SYNTAX, 60,
       "#/format/pattern: 1:1: missing closing )"},
      {SOTTO_GRAMMAR_JSON, "x", SOTTO_INVALID_ARGUMENT, UINT64_MAX, "source must be empty"},
      {SOTTO_GRAMMAR_CHOICES, "[]", SOTTO_GRAMMAR_SYNTAX, 0, "1:1: expected an array of at least one string"},
      {SOTTO_GRAMMAR_CHOICES, "[\"a\", 1]", SOTTO_GRAMMAR_SYNTAX, 6, "1:7: expected a string"},
      {SOTTO_GRAMMAR_CHOICES, "", SOTTO_GRAMMAR_SYNTAX, 0, "1:1: "},
      {SOTTO_GRAMMAR_NUMBER, "[]", SOTTO_GRAMMAR_SYNTAX, 0, "1:1: expected an object"},
      {SOTTO_GRAMMAR_NUMBER, "{\"least\":1}", SOTTO_GRAMMAR_SYNTAX, 9,
       "1:10: unknown key (expected minimum, maximum or integer): least"},
      {SOTTO_GRAMMAR_NUMBER, "{\"minimum\":\"1\"}", SOTTO_GRAMMAR_SYNTAX, 11, "1:12: expected a number"},
      {SOTTO_GRAMMAR_NUMBER, "{\"integer\":1}", SOTTO_GRAMMAR_SYNTAX, 11, "1:12: expected true or false"},
      {SOTTO_GRAMMAR_NUMBER, "{\"minimum\":2,\"maximum\":1}", SOTTO_GRAMMAR_SYNTAX, 0, "1:1: start"},
      {SOTTO_GRAMMAR_TOOLS, "[]", SOTTO_GRAMMAR_SYNTAX, 0, "1:1: expected an array of at least one function"},
      {SOTTO_GRAMMAR_TOOLS, "[{}]", SOTTO_GRAMMAR_SYNTAX, 1, "function 0 has no \"name\""},
  };
  for (const auto& wrong : cases) {
    const OpenGrammar grammar(wrong.source, wrong.language);
    EXPECT_EQ(grammar.status, wrong.status) << wrong.source << " " << grammar.message();
    EXPECT_EQ(grammar.error.status, wrong.status) << wrong.source;
    EXPECT_EQ(grammar.error.offset, wrong.offset) << wrong.source << " " << grammar.message();
    EXPECT_EQ(grammar.message().rfind(wrong.message, 0), 0u) << grammar.message();
    EXPECT_EQ(grammar.get(), nullptr);
  }
}

TEST(Grammar, WarnsOfUnreachableRules) {
  std::vector<std::string> warnings;
  const OpenGrammar grammar("root ::= \"a\"\n  other ::= \"b\"", [&](auto& p) {
    p.log_user_data = &warnings;
    p.log = [](void* self, sotto_log_level level, const char* message) {
      EXPECT_EQ(level, SOTTO_LOG_WARNING);
      static_cast<std::vector<std::string>*>(self)->push_back(message);
    };
  });
  ASSERT_EQ(grammar.status, SOTTO_OK);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].rfind("2:3: unreachable rule: other", 0), 0u) << warnings[0];
  // The rules of a pattern in a structural tag have no names that a warning could contain.
  const std::string alternatives = R"({"type":"structural_tag","format":{"type":"or","elements":[
      {"type":"const_string","value":"a"},{"type":"regex","pattern":"[^\\s\\S]"}]}})";
  warnings.clear();
  const OpenGrammar tag(alternatives, [&](auto& p) {
    p.language = SOTTO_GRAMMAR_STRUCTURAL_TAG;
    p.log_user_data = &warnings;
    p.log = [](void* self, sotto_log_level, const char* message) {
      static_cast<std::vector<std::string>*>(self)->push_back(message);
    };
  });
  ASSERT_EQ(tag.status, SOTTO_OK) << tag.message();
  EXPECT_TRUE(warnings.empty()) << warnings[0];
}

TEST(Matcher, MasksContainExactlyTheAcceptedTokens) {
  OpenGrammar grammar("root ::= \"a\" (\"b\" | \"\xC3\xA9\") \"c\"?");
  OpenMatcher matcher(grammar, &little());
  EXPECT_EQ(matcher.allowed(kCount), (Tokens{kA, kAb}));
  EXPECT_EQ(matcher.take(kC), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(matcher.take(kEnd), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(matcher.take(static_cast<sotto_token>(kCount)), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(matcher.take(-1), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(matcher.info().token_count, 0u);
  ASSERT_EQ(matcher.take(kA), SOTTO_OK);
  EXPECT_EQ(matcher.allowed(kCount), (Tokens{kB, kBc, kWhole, kFirst}));
  ASSERT_EQ(matcher.take(kFirst), SOTTO_OK);  // half a character
  EXPECT_EQ(matcher.allowed(kCount), (Tokens{kSecond}));
  ASSERT_EQ(matcher.take(kSecond), SOTTO_OK);
  EXPECT_EQ(matcher.allowed(kCount), (Tokens{kC, kEnd}));
  EXPECT_EQ(matcher.info().may_end, 1u);
  EXPECT_EQ(matcher.info().must_end, 0u);
  ASSERT_EQ(matcher.take(kC), SOTTO_OK);
  EXPECT_EQ(matcher.allowed(kCount), (Tokens{kEnd}));
  EXPECT_EQ(matcher.info().must_end, 1u);
  EXPECT_EQ(matcher.info().token_count, 4u);
  ASSERT_EQ(matcher.take(kEnd), SOTTO_OK);
  EXPECT_EQ(matcher.info().must_end, 1u);
  ASSERT_EQ(sotto_matcher_rewind(matcher.get(), 4), SOTTO_OK);
  EXPECT_EQ(matcher.allowed(kCount), (Tokens{kB, kBc, kWhole, kFirst}));
  EXPECT_EQ(sotto_matcher_rewind(matcher.get(), 2), SOTTO_INVALID_STATE);
  EXPECT_EQ(matcher.info().token_count, 1u);
  ASSERT_EQ(sotto_matcher_reset(matcher.get(), 0), SOTTO_OK);
  EXPECT_EQ(matcher.allowed(kCount), (Tokens{kA, kAb}));
}

TEST(Matcher, RangesOfTokensDoNotContainEndTokens) {
  const OpenVocabulary vocabulary({"a", "b", "x", ""}, {0, 0, 0, 1}, {3});
  const auto allowed_after_a = [&](const std::string& source) {
    const OpenGrammar grammar(source, [&](auto& params) { params.vocabulary = vocabulary.get(); });
    OpenMatcher matcher(grammar, &vocabulary);
    EXPECT_EQ(matcher.take(0), SOTTO_OK);
    return matcher.allowed(4);
  };
  EXPECT_EQ(allowed_after_a("root ::= \"a\" !<[1]> \"b\""), (std::set<sotto_token>{0, 2}));
  EXPECT_EQ(allowed_after_a("root ::= \"a\" <[1-3]> \"b\""), (std::set<sotto_token>{1, 2}));
  EXPECT_EQ(allowed_after_a("root ::= \"a\" !<[1]>?"), (std::set<sotto_token>{0, 2, 3}));
  EXPECT_EQ(allowed_after_a("root ::= \"a\" <[3]>"), (std::set<sotto_token>{3}));
}

TEST(Matcher, ForksAreIndependent) {
  OpenGrammar grammar("root ::= \"cabbage\" | \"cab\" [0-9]+");
  OpenMatcher matcher(grammar, &little(), [](auto& p) {
    p.sequence_count = 3;
    p.rollback_count = 2;
  });
  char forced[16];
  size_t size = 99;
  ASSERT_EQ(sotto_matcher_forced_text(matcher.get(), 0, forced, sizeof forced, &size), SOTTO_OK);
  EXPECT_EQ(std::string(forced, size), "cab");
  ASSERT_EQ(sotto_matcher_forced_text(matcher.get(), 0, forced, 2, &size), SOTTO_OK);
  EXPECT_EQ(std::string(forced, size), "ca");
  ASSERT_EQ(sotto_matcher_forced_text(matcher.get(), 0, nullptr, 0, &size), SOTTO_OK);
  EXPECT_EQ(size, 0u);
  ASSERT_EQ(matcher.take(kCab), SOTTO_OK);
  ASSERT_EQ(sotto_matcher_fork(matcher.get(), 0, 2), SOTTO_OK);
  ASSERT_EQ(matcher.accept("bag"), SOTTO_OK);
  EXPECT_TRUE(matcher.matches("e"));
  EXPECT_FALSE(matcher.begins("x"));
  EXPECT_EQ(matcher.accept("x"), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(matcher.allowed(kCount, 2), (Tokens{kB}));
  EXPECT_EQ(matcher.allowed(kCount, 1), (Tokens{kC, kCab}));
  uint64_t word;
  EXPECT_EQ(sotto_matcher_mask(matcher.get(), 0, &word, 1), SOTTO_GRAMMAR_DEAD_END);  // the vocabulary has no "e"
  ASSERT_EQ(matcher.accept("e"), SOTTO_OK);
  EXPECT_EQ(matcher.info().must_end, 1u);
  EXPECT_EQ(sotto_matcher_rewind(matcher.get(), 3), SOTTO_INVALID_STATE);  // beyond the limit
  EXPECT_EQ(sotto_matcher_rewind(matcher.get(), 2), SOTTO_OK);
  EXPECT_EQ(matcher.allowed(kCount), (Tokens{kB}));
  ASSERT_EQ(sotto_matcher_fork(matcher.get(), 1, 0), SOTTO_OK);
  EXPECT_EQ(matcher.allowed(kCount), (Tokens{kC, kCab}));
  EXPECT_EQ(sotto_matcher_rewind(matcher.get(), 1), SOTTO_INVALID_STATE);
}

TEST(Matcher, LimitsGiveAStatusAndChangeNothing) {
  OpenGrammar grammar("root ::= \"a\" root \"b\" | \"c\"");
  OpenMatcher matcher(grammar, &little(), [](auto& p) {
    p.node_count = 32;
    p.frame_count = 32;
    p.rollback_count = 0;
  });
  size_t depth = 0;
  while (depth < 1000 && matcher.take(kA) == SOTTO_OK) ++depth;
  EXPECT_GT(depth, 3u);
  EXPECT_LT(depth, 1000u);
  EXPECT_EQ(matcher.take(kA), SOTTO_GRAMMAR_TOO_LARGE);
  EXPECT_EQ(matcher.info().token_count, depth);
  ASSERT_EQ(matcher.take(kC), SOTTO_OK);
  for (size_t i = 0; i < depth; ++i) ASSERT_EQ(matcher.take(kB), SOTTO_OK) << i;
  EXPECT_EQ(matcher.info().must_end, 1u);

  OpenMatcher hurried(grammar, &little(), [](auto& p) { p.step_budget = 100; });
  EXPECT_EQ(hurried.accept(std::string(1000, 'a')), SOTTO_GRAMMAR_TOO_LARGE);
  EXPECT_EQ(hurried.info().token_count, 0u);
}

// Returns the part of the text after the first trigger, or npos if there is none.
size_t after_first(const std::string& text, const std::vector<std::string>& triggers) {
  for (size_t end = 1; end <= text.size(); ++end) {
    for (const std::string& trigger : triggers) {
      if (text.substr(0, end).size() >= trigger.size() &&
          text.compare(end - trigger.size(), trigger.size(), trigger) == 0) {
        return end;
      }
    }
  }
  return std::string::npos;
}

TEST(Triggers, TextIsFreeUntilTheFirstOfThem) {
  std::mt19937 random(7);
  const std::vector<std::string> letters = {"a", "b", "c", "\xC3\xA9"};
  for (int round = 0; round < 60; ++round) {
    std::vector<std::string> triggers(1 + random() % 3);
    std::vector<sotto_text> views;
    for (std::string& trigger : triggers) {
      for (size_t n = 1 + random() % 4; n > 0; --n) trigger += letters[random() % 4];
      views.push_back({trigger.data(), trigger.size()});
    }
    OpenGrammar grammar("root ::= \"b\" [ac]{0,2}", [&](auto& p) {
      p.triggers = views.data();
      p.trigger_count = views.size();
    });
    ASSERT_EQ(grammar.status, SOTTO_OK) << grammar.message();
    OpenMatcher matcher(grammar);
    for (int i = 0; i < 200; ++i) {
      std::string text;
      for (size_t n = random() % 9; n > 0; --n) text += letters[random() % 4];
      const size_t begin = after_first(text, triggers);
      const std::string rest = begin == std::string::npos ? "" : text.substr(begin);
      const bool matches = begin == std::string::npos || (rest.substr(0, 1) == "b" && rest.size() <= 3 &&
                                                          rest.find_first_not_of("ac", 1) == std::string::npos);
      ASSERT_EQ(matcher.matches(text), matches) << text << " after " << triggers[0];
      ASSERT_EQ(matcher.begins(text), matches || rest.empty()) << text;
    }
  }
}

TEST(Triggers, MasksAreExactlyWhatIsAccepted) {
  std::mt19937 random(3);
  const sotto_text triggers[] = {{"ba", 2}, {"abc", 3}, {"c\xC3\xA9", 3}};
  const OpenGrammar grammar("root ::= \"c\" root \"b\" | [^a]", [&](auto& p) {
    p.vocabulary = little().get();
    p.triggers = triggers;
    p.trigger_count = 3;
    p.trigger_tokens = &kCall;
    p.trigger_token_count = 1;
  });
  OpenMatcher matcher(grammar, &little(), [](auto& p) { p.sequence_count = 2; });
  size_t denied = 0;
  for (int walk = 0; walk < 200; ++walk) {
    ASSERT_EQ(sotto_matcher_reset(matcher.get(), 0), SOTTO_OK);
    for (int step = 0; step < 12 && matcher.info().must_end == 0; ++step) {
      const Tokens allowed = matcher.allowed(kCount);
      ASSERT_FALSE(allowed.empty());
      for (sotto_token token = 0; token < static_cast<sotto_token>(kCount); ++token) {
        ASSERT_EQ(sotto_matcher_fork(matcher.get(), 0, 1), SOTTO_OK);
        const sotto_status status = sotto_matcher_accept_token(matcher.get(), 1, token);
        ASSERT_EQ(status == SOTTO_OK, allowed.count(token) == 1) << token;
        denied += status == SOTTO_OK ? 0 : 1;
      }
      ASSERT_EQ(matcher.take(*std::next(allowed.begin(), random() % allowed.size())), SOTTO_OK);
    }
  }
  EXPECT_GT(denied, 2000u);
}

TEST(Triggers, TokensWithoutAndWithText) {
  const auto open = [](std::vector<sotto_token> tokens, std::vector<sotto_text> texts) {
    return std::make_unique<OpenGrammar>("root ::= \"b\"", [&](auto& p) {
      p.vocabulary = little().get();
      p.trigger_tokens = tokens.data();
      p.trigger_token_count = tokens.size();
      p.triggers = texts.data();
      p.trigger_count = texts.size();
    });
  };
  const Tokens text = {kA, kB, kC, kAb, kBc, kCab, kWhole, kFirst};
  const auto with = [](Tokens tokens, Tokens more) {
    tokens.insert(more.begin(), more.end());
    return tokens;
  };
  const auto special = open({kCall}, {});
  OpenMatcher by_token(*special, &little());
  EXPECT_EQ(by_token.allowed(kCount), with(text, {kCall, kEnd}));
  ASSERT_EQ(by_token.accept("abba"), SOTTO_OK);
  ASSERT_EQ(by_token.take(kFirst), SOTTO_OK);
  EXPECT_EQ(by_token.allowed(kCount), (Tokens{kSecond}));  // inside a character, only its second half is allowed
  ASSERT_EQ(by_token.take(kSecond), SOTTO_OK);
  ASSERT_EQ(by_token.take(kCall), SOTTO_OK);
  EXPECT_EQ(by_token.allowed(kCount), (Tokens{kB}));
  ASSERT_EQ(by_token.take(kB), SOTTO_OK);
  EXPECT_EQ(by_token.allowed(kCount), (Tokens{kEnd}));

  const auto both = open({kCall}, {{"ca", 2}});
  OpenMatcher by_either(*both, &little());
  // "cab" is the trigger and a text of the grammar.
  EXPECT_EQ(by_either.allowed(kCount), with(text, {kCall, kEnd}));
  ASSERT_EQ(by_either.take(kBc), SOTTO_OK);
  ASSERT_EQ(by_either.take(kAb), SOTTO_OK);
  EXPECT_EQ(by_either.allowed(kCount), (Tokens{kEnd}));

  const auto spelled = open({kCab}, {});
  OpenMatcher by_spelled(*spelled, &little());
  EXPECT_EQ(by_spelled.allowed(kCount), with(text, {kEnd}));
  ASSERT_EQ(by_spelled.take(kC), SOTTO_OK);
  ASSERT_EQ(by_spelled.take(kAb), SOTTO_OK);  // the same text in other tokens
  ASSERT_EQ(by_spelled.take(kCab), SOTTO_OK);
  EXPECT_EQ(by_spelled.allowed(kCount), (Tokens{kB}));

  // The token is the trigger only as a token: the same text in other tokens is read on, up to the trigger string.
  const auto mixed = open({kCab}, {{"abb", 3}});
  OpenMatcher by_mixed(*mixed, &little());
  EXPECT_EQ(by_mixed.allowed(kCount), with(text, {kEnd}));
  ASSERT_EQ(by_mixed.take(kC), SOTTO_OK);
  ASSERT_EQ(by_mixed.take(kAb), SOTTO_OK);
  EXPECT_EQ(by_mixed.allowed(kCount), (Tokens{kA, kB, kC, kAb, kCab, kWhole, kFirst, kEnd}));  // "bc" is not in root
  ASSERT_EQ(by_mixed.take(kB), SOTTO_OK);
  EXPECT_EQ(by_mixed.allowed(kCount), (Tokens{kB}));
  ASSERT_EQ(sotto_matcher_reset(by_mixed.get(), 0), SOTTO_OK);
  ASSERT_EQ(by_mixed.take(kA), SOTTO_OK);
  ASSERT_EQ(by_mixed.take(kCab), SOTTO_OK);  // inside the trigger string, too
  EXPECT_EQ(by_mixed.allowed(kCount), (Tokens{kB}));
}

// The grammar reads a trigger token as its text, or names it by a literal, like any other token.
TEST(Triggers, TriggerTokensAreOrdinaryInTheGrammar) {
  const sotto_token trigger = kCab;
  const auto open = [&](const std::string& source) {
    return std::make_unique<OpenGrammar>(source, [&](auto& p) {
      p.vocabulary = little().get();
      p.trigger_tokens = &trigger;
      p.trigger_token_count = 1;
    });
  };
  const auto grammar = open("root ::= \"cab\" \"b\"? | <[" + std::to_string(kCab) + "]> \"a\"");
  OpenMatcher matcher(*grammar, &little());
  ASSERT_EQ(matcher.take(kB), SOTTO_OK);
  ASSERT_EQ(matcher.take(kCab), SOTTO_OK);
  EXPECT_EQ(matcher.allowed(kCount), (Tokens{kC, kCab}));
  ASSERT_EQ(matcher.take(kCab), SOTTO_OK);
  EXPECT_EQ(matcher.allowed(kCount), (Tokens{kA, kB, kEnd}));
}

// With a budget, a trigger token is allowed only if the grammar can still be completed, although its text could be.
TEST(Triggers, TriggerTokensLeaveEnoughOfTheBudget) {
  const sotto_token trigger = kCab;
  const OpenGrammar grammar("root ::= \"b\" \"b\" \"b\"", [&](auto& p) {
    p.vocabulary = little().get();
    p.trigger_tokens = &trigger;
    p.trigger_token_count = 1;
  });
  OpenMatcher matcher(grammar, &little(), [](auto& p) { p.finish_within = 5; });
  EXPECT_EQ(matcher.allowed(kCount).count(kCab), 1u);
  ASSERT_EQ(matcher.take(kA), SOTTO_OK);
  EXPECT_EQ(matcher.allowed(kCount).count(kCab), 1u);
  ASSERT_EQ(matcher.take(kA), SOTTO_OK);
  EXPECT_EQ(matcher.allowed(kCount).count(kCab), 0u);
  EXPECT_EQ(matcher.allowed(kCount).count(kA), 1u);
  EXPECT_NE(matcher.take(kCab), SOTTO_OK);
}

}  // namespace
}  // namespace sotto
