// Tests published grammars with their cases of accepted and rejected texts, grammars from public repositories, and
// JSONTestSuite.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/unit/grammar/grammar_support.h"

namespace sotto::test {
namespace {

constexpr char kGrammars[] = "grammars";

void check_cases(const nlohmann::json& entry, std::string_view root) {
  const auto text = entry["source_text"].get<std::string>();
  const TestGrammar grammar(text, {}, nullptr, root);
  ASSERT_TRUE(grammar.valid()) << text << grammar.message();
  TestMatcher matcher(grammar);
  for (const auto& s : entry["accept"]) {
    EXPECT_EQ(matcher.matches(s.get<std::string>()), true) << entry["id"] << text << s;
  }
  for (const auto& s : entry["reject"]) {
    EXPECT_EQ(matcher.matches(s.get<std::string>()), false) << entry["id"] << text << s;
  }
}

TEST(Published, VerdictsEqualThoseOfLlamaCpp) {
  SOTTO_REQUIRE_DATA(kGrammars);
  const auto json = nlohmann::json::parse(read_file(shared_data() / kGrammars / "cases_llamacpp.json"));
  size_t checked = 0;
  for (const auto& entry : json["cases"]) {
    const auto kind = entry["kind"].get<std::string>();
    if (kind == "schema") continue;
    ++checked;
    if (kind == "grammar") {
      check_cases(entry, "root");
      continue;
    }
    const auto text = entry["source_text"].get<std::string>();
    EXPECT_EQ(TestGrammar(text).valid(), kind == "grammar_valid") << text;
  }
  EXPECT_GE(checked, 15u);
}

TEST(Published, VerdictsEqualThoseOfXgrammar) {
  SOTTO_REQUIRE_DATA(kGrammars);
  const auto json = nlohmann::json::parse(read_file(shared_data() / kGrammars / "cases_xgrammar.json"));
  size_t checked = 0;
  for (const auto& entry : json["cases"]) {
    if (entry["kind"] != "grammar") continue;
    ++checked;
    check_cases(entry, entry["options"]["root"].get<std::string>());
  }
  EXPECT_GE(checked, 15u);
}

// The grammars that llama.cpp prints for schemas.
TEST(Published, SchemaGrammarsCompile) {
  SOTTO_REQUIRE_DATA(kGrammars);
  const auto json = nlohmann::json::parse(read_file(shared_data() / kGrammars / "schema_to_gbnf_llamacpp.json"));
  for (const auto& entry : json["cases"]) {
    if (entry["expect"] != "success") continue;
    const TestGrammar grammar(entry["published_grammar"].get<std::string>());
    EXPECT_TRUE(grammar.valid()) << entry["id"] << grammar.message();
  }
}

// The files that are rejected, with the reason.
const std::map<std::string, std::string> kRefused = {
    {"bh-sparql-llm__sparql1.1.gbnf", "208:33: range end is before its start at '\\]-["},
    {"meta-introspector__gallina.gbnf", "6:222: unexpected character at ':= term"},
    {"meta-introspector__gallina2.gbnf", "5:5: undefined rule: term"},
    {"meta-introspector__gallina3.gbnf", "1:205: invalid escape sequence at '\\&"},
    {"meta-introspector__grammar-3.gbnf", "3:8: unexpected character at '::="},
    {"meta-introspector__json.gbnf", "10:8: unexpected character at '::="},
    {"meta-introspector__json_arr.gbnf", "15:8: unexpected character at '::="},
    {"meta-introspector__json_converse.gbnf", "14:9: unexpected character at '::="},
    {"meta-introspector__primitive.gbnf", "1:1: undefined start rule: root"},
    {"meta-introspector__question_grammar.gbnf", "4:23: invalid escape sequence at '\\)"},
};

TEST(Published, GrammarsFromTheWildCompile) {
  SOTTO_REQUIRE_DATA(kGrammars);
  const TestVocabulary vocabulary = small_vocabulary();
  size_t compiled = 0;
  for (const auto& file : std::filesystem::directory_iterator(shared_data() / kGrammars / "gbnf")) {
    if (file.path().extension() != ".gbnf") continue;
    const auto name = file.path().filename().string();
    const TestGrammar grammar(read_file(file.path()));
    const auto refused = kRefused.find(name);
    if (refused != kRefused.end()) {
      EXPECT_EQ(grammar.message().substr(0, refused->second.size()), refused->second) << name;
      continue;
    }
    ASSERT_TRUE(grammar.valid()) << name << grammar.message();
    TestMatcher matcher(grammar, &vocabulary);
    EXPECT_FALSE(matcher.mask().empty()) << name;
    ++compiled;
  }
  EXPECT_GE(compiled, 20u);
}

// Appends tokens drawn uniformly from the masks. Returns the number of tokens before a limit was reached.
int walk(const TestGrammar& grammar, const TestVocabulary& vocabulary, uint64_t seed, int tokens) {
  TestMatcher matcher(grammar, &vocabulary);
  for (int step = 0; step < tokens; ++step) {
    TokenMask mask;
    if (matcher->mask(0, &mask) != Status::kOk) return step;
    std::vector<int32_t> allowed;
    for (uint32_t token = 0; token < vocabulary.size(); ++token) {
      if (mask.allows(token)) allowed.push_back(static_cast<int32_t>(token));
    }
    const int32_t token = allowed[next_random(&seed) % allowed.size()];
    if (token == vocabulary.end_token()) break;
    if (matcher->accept_token(0, token) != Status::kOk) return step;
  }
  return tokens;
}

TEST(Published, GrammarsFromTheWildFitTheDefaultLimits) {
  SOTTO_REQUIRE_DATA(kGrammars);
  SOTTO_REQUIRE_DATA(kGpt2Encoder);
  const auto vocabulary = gpt2_vocabulary();
  constexpr int kTokens = 40;
  for (const auto& file : std::filesystem::directory_iterator(shared_data() / kGrammars / "gbnf")) {
    const std::string name = file.path().filename().string();
    const bool is_tested_below = name == "meta-introspector__elixir.gbnf";
    if (file.path().extension() != ".gbnf" || is_tested_below) continue;
    const TestGrammar grammar(read_file(file.path()));
    if (!grammar.valid()) continue;
    for (uint64_t seed = 1; seed <= 4; ++seed) {
      EXPECT_EQ(walk(grammar, *vocabulary, seed, kTokens), kTokens) << name;
    }
  }
}

// The grammar has left recursion through a hundred rules, and dozens of ways to read each text. Long texts of random
// tokens have too many ways for any limit.
TEST(Published, AnAmbiguousLanguageFitsTheDefaultLimits) {
  SOTTO_REQUIRE_DATA(kGrammars);
  SOTTO_REQUIRE_DATA(kGpt2Encoder);
  const auto vocabulary = gpt2_vocabulary();
  const TestGrammar grammar(read_file(shared_data() / kGrammars / "gbnf/meta-introspector__elixir.gbnf"));
  TestMatcher matcher(grammar, vocabulary.get());
  for (const char* text : {"x", "=", "[", "1,", "{", "a"}) {
    TokenMask mask;
    ASSERT_EQ(matcher->mask(0, &mask), Status::kOk) << text;
    ASSERT_EQ(matcher.accept(text), Status::kOk) << text;
  }
  constexpr int kTokens = 8;
  EXPECT_EQ(walk(grammar, *vocabulary, 1, kTokens), kTokens);
}

constexpr char kJson[] = R"gbnf(
root ::= ws value ws
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (member (ws "," ws member)*)? ws "}"
member ::= string ws ":" ws value
array ::= "[" ws (value (ws "," ws value)*)? ws "]"
string ::= "\"" ([^"\\\x00-\x1F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4}))* "\""
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
ws ::= [ \t\n\r]*
)gbnf";

TEST(Published, JsonTestSuiteIsExact) {
  SOTTO_REQUIRE_DATA(kGrammars);
  const TestGrammar grammar(kJson);
  TestMatcher matcher(grammar);
  std::map<char, size_t> seen;
  for (const auto& file : std::filesystem::directory_iterator(shared_data() / kGrammars / "json-test-suite")) {
    const auto name = file.path().filename().string();
    const char verdict = name[0];
    if (file.path().extension() != ".json" || (verdict != 'y' && verdict != 'n')) continue;
    ++seen[verdict];
    EXPECT_EQ(matcher.matches(read_file(file.path())), verdict == 'y') << name;
  }
  EXPECT_GE(seen['y'], 40u);
  EXPECT_GE(seen['n'], 90u);
}

// No walk through a grammar leads to a dead end. A walk is random at first, and later prefers tokens that close open
// brackets and strings.
void walk_to_the_end(TestMatcher& matcher, uint64_t* random, const char* name) {
  const std::string closing = "\"\"}])=\n:0a ";
  matcher->reset(0);
  for (int step = 0; step < 5000; ++step) {
    const auto mask = matcher.mask();
    ASSERT_FALSE(mask.empty()) << name;
    if (mask[0] && step > 40) {
      ASSERT_EQ(matcher->accept_token(0, 0), Status::kOk);
      EXPECT_TRUE(matcher->must_end(0));
      return;
    }
    std::vector<int32_t> allowed;
    for (const char c : step > 60 ? closing : std::string()) {
      const int32_t token = 1 + static_cast<uint8_t>(c);
      if (mask[static_cast<size_t>(token)]) allowed.push_back(token);
    }
    for (uint32_t token = 1; allowed.empty() && token < mask.size(); ++token) {
      if (mask[token] && next_random(random) % 8 == 0) allowed.push_back(static_cast<int32_t>(token));
    }
    if (allowed.empty()) continue;
    const int32_t token = allowed[next_random(random) % allowed.size()];
    ASSERT_EQ(matcher->accept_token(0, token), Status::kOk);
  }
  FAIL() << name << " does not end";
}

TEST(Published, RandomWalksReachTheEnd) {
  SOTTO_REQUIRE_DATA(kGrammars);
  const TestVocabulary vocabulary = small_vocabulary({"true", "\": ", "}}", "]]", "é"});
  uint64_t random = 1;
  for (const char* name : {"json.gbnf", "json_arr.gbnf", "arithmetic.gbnf"}) {
    const TestGrammar grammar(read_file(shared_data() / kGrammars / "gbnf" / (std::string("ggerganov__") + name)));
    TestMatcher matcher(grammar, &vocabulary);
    for (int walk = 0; walk < 100; ++walk) walk_to_the_end(matcher, &random, name);
  }
}

}  // namespace
}  // namespace sotto::test
