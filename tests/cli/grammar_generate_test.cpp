// Tests `sotto generate` under grammars: in every mode the text fits the grammar.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>

#include "tests/cli/grammar_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

// Every way to generate text that can be combined with a grammar.
const std::vector<Words> kModes = {{"--greedy"},
                                   {"--temp", "1.5", "--seed", "3"},
                                   {"--temp", "3", "--top-k", "0", "--top-p", "1", "--seed", "4"},
                                   {"--mirostat", "2"},
                                   {"--selection", "gumbel"},
                                   {"--num-beams", "3"},
                                   {"--num-beams", "4", "--num-beam-groups", "2", "--n", "3"},
                                   {"--num-beams", "3", "--do-sample", "--temp", "1.5"},
                                   {"--n", "5", "--temp", "1.5"},
                                   {"--best-of", "4", "--n", "2"},
                                   {"--penalty-alpha", "0.4"},
                                   {"--negative-prompt", "Twice", "--guidance-scale", "1.5"},
                                   {"--dola", "low"},
                                   {"--repeat-penalty", "1.3", "--dry-multiplier", "1"},
                                   {"--watermark", "lefthash"},
                                   {"--banned-string", "zq", "--stop", "zzq"},
                                   {"--min-tokens", "3"},
                                   {"--logprobs", "3"},
                                   {"--overflow", "ring", "--ctx", "32"}};

// Returns all texts of a run. Each text must be complete.
Words texts_of(const Words& grammar, const Words& mode) {
  Words words = grammar;
  words.insert(words.end(), mode.begin(), mode.end());
  SCOPED_TRACE(joined(words));
  const json object = generated(words);
  Words texts;
  const auto add = [&](const json& found) {
    const std::string stop = found["stop"];
    EXPECT_TRUE(stop == "grammar" || stop == "end_of_text") << stop << found["text"];
    texts.push_back(found["text"]);
  };
  if (!object.contains("sequences")) add(object);
  for (const json& sequence : object.value("sequences", json::array())) add(sequence);
  return texts;
}

TEST(GrammarGenerate, EveryModeFollowsASchema) {
  const Words grammar = {"--json-schema", kPersonSchema, "--json-space", "compact", "-n", "90"};
  for (const Words& mode : kModes) {
    for (const std::string& text : texts_of(grammar, mode)) {
      const json person = json::parse(text, nullptr, false);
      ASSERT_TRUE(person.is_object()) << joined(mode) << text;
      EXPECT_EQ(person.size(), 3u) << text;
      EXPECT_TRUE(person["name"].is_string()) << text;
      EXPECT_TRUE(person["age"].is_number_unsigned() && person["age"] <= 120) << text;
      EXPECT_TRUE(person["colour"] == "red" || person["colour"] == "green") << text;
    }
  }
}

TEST(GrammarGenerate, EveryModeFollowsARegex) {
  const std::string date = "[12][0-9]{3}-(0[1-9]|1[0-2])-[0-3][0-9]";
  const std::regex expected(date);
  for (const Words& mode : kModes) {
    for (const std::string& text : texts_of({"--regex", date, "-n", "30"}, mode)) {
      EXPECT_TRUE(std::regex_match(text, expected)) << joined(mode) << text;
    }
  }
}

TEST(GrammarGenerate, EveryKindOfGrammarConstrainsTheText) {
  const TemporaryFolder folder;
  write_file(folder.file("list.gbnf"), "start ::= (\"- \" [a-z]{1,5} \"\\n\"){2}\n");
  const Words words = {"--temp", "1.5", "--seed", "9", "-n", "120"};
  const auto text = [&](const Words& grammar) { return texts_of(grammar, words).front(); };
  const std::string list = text({"--grammar", folder.file("list.gbnf"), "--grammar-root", "start"});
  EXPECT_TRUE(std::regex_match(list, std::regex("(- [a-z]{1,5}\n){2}"))) << list;
  const std::string answer = text({"--choices", "yes,no,\"per,haps"});
  EXPECT_TRUE((std::set<std::string>{"yes", "no", "\"per", "haps"}).contains(answer)) << answer;
  const std::string choice = text({"--guided-choice", "[\"a, b\"]"});
  EXPECT_EQ(choice, "a, b");
  const std::string number = text({"--number-range", "10,99", "--integer"});
  EXPECT_TRUE(std::regex_match(number, std::regex("[1-9][0-9]"))) << number;
  const json call =
      json::parse(text({"--tools",
                        R"([{"name": "f", "parameters": {"type": "object", "properties": )"
                        R"({"x": {"type": "boolean"}}, "required": ["x"], "additionalProperties": false}}])",
                        "--json-space", "one"}));
  EXPECT_EQ(call["name"], "f");
  EXPECT_TRUE(call["arguments"]["x"].is_boolean());
  // A text of any JSON may be long. The output must be at least the beginning of one.
  for (const char* option : {"--any-json", "--json-object"}) {
    const Result made = run_on_demo("generate", {"-p", kPrompt, "--json", option, "--temp", "1.5", "-n", "40"});
    const json object = json::parse(made.out);
    EXPECT_EQ(made.exit_code, object["complete"] ? 0 : 3) << object;
    if (object["stop"] == "max_tokens") {
      const Result checked = run_grammar("check", {option, "--test", object["text"], "--json"});
      EXPECT_NE(json::parse(checked.out)["tests"][0]["verdict"], "rejected") << object["text"];
    } else {
      EXPECT_TRUE(json::accept(object["text"].get<std::string>())) << object["text"];
    }
  }
}

TEST(GrammarGenerate, ReadsGrammarsFromStandardInput) {
  Words words = {"-p", kPrompt, "--json", "--grammar", "-"};
  EXPECT_EQ(json_of(run_on_demo("generate", words, "root ::= \"fixed\""))["text"], "fixed");
  words = {"-p", "-", "--json", "--grammar", "-"};
  expect_refused(run_on_demo("generate", words, "x"), 2, "standard input");
}

TEST(GrammarGenerate, ReportsTheGrammar) {
  const json object = generated({"--regex", "[ab]{3}", "--grammar-memory", "2", "--seed", "2"});
  EXPECT_EQ(object["stop"], "grammar");
  EXPECT_EQ(object["parameters"]["grammar"]["language"], "regex");
  EXPECT_EQ(object["parameters"]["grammar"]["source"], "[ab]{3}");
  EXPECT_GT(object["memory"]["grammar_bytes"], 0);
  EXPECT_GT(object["memory"]["matcher_bytes"], 0);
  EXPECT_LE(object["memory"]["matcher_bytes"], 2 << 20);
  EXPECT_FALSE(generated({"-n", "2"})["parameters"].contains("grammar"));
  const Result people =
      run_on_demo("generate", {"-p", kPrompt, "--grammar", "root ::= \"a\"\nb ::= \"c\"", "--no-echo"});
  EXPECT_EQ(people.exit_code, 0);
  EXPECT_EQ(people.out, "a\n");
  EXPECT_NE(people.err.find("sotto: warning: "), std::string::npos) << people.err;
  EXPECT_NE(people.err.find("stopped by   grammar"), std::string::npos) << people.err;
}

TEST(GrammarGenerate, HotTextsAreCompleteWithinTheirTokens) {
  const std::string schema = R"({"type": "object", "properties": {"name": {"type": "string"},
      "tags": {"type": "array", "items": {"type": "string"}}}, "required": ["name", "tags"]})";
  for (const Words& mode : {Words{"--temp", "2", "--seed", "1"}, Words{"--temp", "2", "--seed", "2"},
                            Words{"--n", "5", "--temp", "2"}, Words{"--num-beams", "3"}}) {
    for (const std::string& text : texts_of({"--json-schema", schema, "--finish-within", "24", "-n", "25"}, mode)) {
      EXPECT_TRUE(json::accept(text)) << text;
    }
  }
  const Words few = {"-p", kPrompt, "--json-schema", schema, "--finish-within", "3"};
  expect_refused(run_on_demo("generate", few), 1, "--finish-within is 3; it must be at least");
  expect_usage_error({"--regex", "a", "--finish-within", "9", "-n", "8"}, "--max-tokens");
  expect_usage_error({"--finish-within", "9"}, "--finish-within");
}

TEST(GrammarGenerate, TextBeforeTriggersIsFree) {
  const json free = generated({"-n", "30", "--greedy"});
  const std::string text = free["text"];
  const json& tokens = free["tokens"];
  size_t last = 5;  // the first token from here on that has not occurred before
  while (std::count(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(last), tokens[last])) {
    ++last;
    ASSERT_LT(last, tokens.size());
  }
  Words ids = {"--decode"};
  for (size_t i = 0; i <= last; ++i) ids.push_back(tokens[i].dump());
  const std::string before = run_on_demo("tokenize", ids).out;
  const std::string trigger = before.substr(before.size() - 6);
  ASSERT_EQ(text.find(trigger), before.size() - 6) << text;
  const Words grammar = {"-n", "60", "--greedy", "--regex", "[0-9]{5}"};
  const auto digits_after = [&](const Words& trigger_words) {
    Words words = grammar;
    words.insert(words.end(), trigger_words.begin(), trigger_words.end());
    const json object = generated(words);
    EXPECT_EQ(object["stop"], "grammar");
    const std::string found = object["text"];
    EXPECT_EQ(found.substr(0, before.size()), before);
    return found.substr(std::min(before.size(), found.size()));
  };
  for (const Words& words :
       {Words{"--trigger", '"' + trigger + '"'}, Words{"--trigger", "never seen", "--trigger", trigger},
        Words{"--trigger-token", tokens[last].dump()}}) {
    const std::string digits = digits_after(words);
    EXPECT_TRUE(std::regex_match(digits, std::regex("[0-9]{5}"))) << joined(words) << digits;
  }
  // Without a trigger the text stays free.
  const json untouched = generated({"-n", "30", "--greedy", "--regex", "x", "--trigger", "#?#"});
  EXPECT_EQ(untouched["tokens"], tokens);
}

TEST(GrammarGenerate, HealedTokensBelongToThePrompt) {
  const json object =
      json_of(run_on_demo("generate", {"-p", "Once upon a t", "--token-healing", "--json", "--regex", "[a-z]{1,8}"}));
  const std::string text = object["text"];
  EXPECT_TRUE(object["stop"] == "grammar" || object["stop"] == "end_of_text") << object;
  EXPECT_TRUE(std::regex_match(text, std::regex("[a-z]{1,8}"))) << text;
}

TEST(GrammarGenerate, WrongUseNamesTheOption) {
  expect_usage_error({"--regex", "a", "--any-json"}, "--any-json: cannot be combined with --regex");
  expect_usage_error({"--grammar", "x", "--json-schema", "y"}, "cannot be combined with");
  expect_usage_error({"--json-space", "one"}, "--json-space");
  expect_usage_error({"--regex", "a", "--forbid-additional"}, "--forbid-additional");
  expect_usage_error({"--trigger", "x"}, "--trigger");
  expect_usage_error({"--grammar-memory", "1"}, "--grammar-memory");
  expect_usage_error({"--regex", "a", "--grammar-memory", "0"}, "--grammar-memory");
  expect_usage_error({"--regex", "a", "--grammar-memory", "0.0001"}, "--grammar-memory");
  expect_usage_error({"--number-range", "5"}, "--number-range");
  const auto expect_failure = [](const Words& words, const std::string& part) {
    Words all = {"-p", kPrompt, "-n", "4"};
    all.insert(all.end(), words.begin(), words.end());
    expect_refused(run_on_demo("generate", all), 1, part);
  };
  expect_failure({"--grammar", "/no/such/file"}, "/no/such/file");
  expect_failure({"--grammar", "root ::= x"}, "sotto: grammar:1:10: ");
  expect_failure({"--json-schema", "{\"type\": 1}"}, "/type");
  expect_failure({"--regex", "("}, "sotto: regex:1:1: ");
  expect_failure({"--number-range", "5,1"}, "sotto: number-range:1:1: ");
  expect_failure({"--choices", "[]"}, "sotto: choices:1:1: ");
}

TEST(GrammarGenerate, TheTextIsCompleteWithinMaxTokens) {
  const std::string schema =
      R"({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},)"
      R"( "required": ["name", "age"]})";
  for (const char* seed : {"1", "2", "3"}) {
    const Result whole = run_on_demo(
        "generate", {"-p", "A person: ", "-n", "60", "-q", "--no-echo", "--seed", seed, "--json-schema", schema});
    EXPECT_EQ(whole.exit_code, 0) << whole.err;
    const auto person = nlohmann::json::parse(whole.out, nullptr, false);
    EXPECT_TRUE(person.contains("name") && person.contains("age")) << whole.out;
  }
  std::string prompt;
  for (int i = 0; i < 40; ++i) prompt += "It was ";
  const Result at_end =
      run_on_demo("generate", {"-p", prompt, "-n", "-1", "-q", "--ctx", "128", "--no-echo", "--json-schema", schema});
  EXPECT_EQ(at_end.exit_code, 0) << at_end.out << at_end.err;
  const Result impossible = run_on_demo("generate", {"-p", kPrompt, "-n", "5", "-q", "--regex", "[a-z]{200}"});
  EXPECT_EQ(impossible.exit_code, 1);
  EXPECT_EQ(impossible.err,
            "sotto: --max-tokens and the context leave 5 tokens; it must be at least 200, the number of tokens of the "
            "shortest text\n");
}

TEST(GrammarGenerate, ATextThatIsCutOffIsReportedAndExitsWith3) {
  for (const char* quiet : {"-q", "--json"}) {
    const Result cut =
        run_on_demo("generate", {"-p", kPrompt, "-n", "1", "--finish-within", "0", quiet, "--regex", "[a-z]{200}"});
    EXPECT_EQ(cut.exit_code, 3);
    EXPECT_EQ(cut.err, "sotto: the text is not complete under the grammar; it was stopped by max_tokens\n");
  }
  const Result several = run_on_demo(
      "generate", {"-p", kPrompt, "-n", "1", "--finish-within", "0", "-q", "--n", "2", "--regex", "[a-z]{200}"});
  EXPECT_EQ(several.exit_code, 3);
  const Result whole = run_on_demo("generate", {"-p", kPrompt, "-n", "1", "-q", "--regex", "[a-z]*"});
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
}

}  // namespace
}  // namespace sotto::test
