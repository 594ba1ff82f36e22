// Tests `sotto grammar check`: verdicts, positions, and exit codes.
#include <gtest/gtest.h>

#include <string>

#include "tests/cli/grammar_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "lacks: " << part;
  }
}

TEST(GrammarCheck, ReportsWhichTextsMatch) {
  const TemporaryFolder folder;
  write_file(folder.file("list.gbnf"), "root ::= item+\nitem ::= \"- \" [a-z]+ \"\\n\"\n");
  write_file(folder.file("good.txt"), "- ab\n- c\n");
  const Words valid = {folder.file("list.gbnf"), "--test", "- a\n", "--test-file", folder.file("good.txt")};
  const Result good = run_grammar("check", valid);
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_EQ(good.err, "");
  EXPECT_EQ(run_grammar("check", {"--regex", "a+"}).out.rfind("valid grammar: regex, ", 0), 0u);
  expect_parts(good.out, {"valid", "gbnf", "accepted \"- a\\n\"", "accepted " + folder.file("good")});

  Words all = valid;
  for (const char* text : {"- a", "- ab\n- A\n", ""}) {
    all.push_back("--test");
    all.push_back(text);
  }
  const Result bad = run_grammar("check", all);
  EXPECT_EQ(bad.exit_code, 1);
  expect_parts(bad.out, {"beginning \"- a\": only", "rejected \"- ab\\n- A\\n\": at byte 7, 2:3",
                         "\n    - A\n      ^\n", "beginning \"\""});

  all.push_back("--json");
  const Result told = run_grammar("check", all);
  EXPECT_EQ(told.exit_code, 1);
  const json object = json::parse(told.out);
  EXPECT_EQ(object["valid"], true);
  EXPECT_TRUE(object["error"].is_null());
  EXPECT_GT(object["grammar_bytes"], 0);
  EXPECT_GT(object["matcher_bytes"], object["grammar_bytes"]);
  std::vector<std::string> verdicts;
  for (const json& test : object["tests"]) verdicts.push_back(test["verdict"]);
  EXPECT_EQ(verdicts, (Words{"accepted", "beginning", "rejected", "beginning", "accepted"}));
  EXPECT_EQ(object["tests"][2]["offset"], 7);
  EXPECT_EQ(object["tests"][4]["file"], folder.file("good.txt"));
}

TEST(GrammarCheck, EveryKindOfGrammarIsChecked) {
  const TemporaryFolder folder;
  write_file(folder.file("person.json"), kPersonSchema);
  write_file(folder.file("tools.json"),
             R"([{"type": "function", "function": {"name": "add", "parameters": )"
             R"({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],)"
             R"( "additionalProperties": false}}}])");
  const std::string person = R"({"name": "Ann", "age": 7, "colour": "red"})";
  const std::string compact = R"({"name":"Ann","age":7,"colour":"red"})";
  const std::string reordered = R"({"age": 7, "name": "Ann", "colour": "red"})";
  const std::string call = R"({"name": "add", "arguments": {"a": 1}})";
  const std::vector<Words> cases = {
      {folder.file("person.json"), "--schema", "--test", person},
      {"--schema", folder.file("person.json"), "--json-space", "compact", "--test", compact},
      {"--json-schema", kPersonSchema, "--json-space", "flexible", "--test", compact},
      {"--json-schema", kPersonSchema, "--test", reordered},
      {"--schema", "--test", person, folder.file("person.json")},
      {"--regex", "[a-z]{2}", "--test", "ab"},
      {"--regex=-?[0-9]+", "--test", "-12"},
      {"[a-z]{2}", "--regex", "--test", "ab"},
      {"--choices", "yes,no", "--test", "no"},
      {"--choices", "[\"a,b\", \"c\"]", "--test", "a,b"},
      {"--any-json", "--test", " []", "--json-space", "flexible", "--allow-surrounding-whitespace"},
      {"--json-object", "--test", "{\"a\": [1]}"},
      {"--tools", folder.file("tools.json"), "--test", call},
      {"--tools", folder.file("tools.json"), "--parallel-tool-calls", "--test", "[" + call + "]"},
      {"--structural-tag",
       R"({"type": "structural_tag", "format": {"type": "tag", "begin": "<",)"
       R"( "content": {"type": "any_text"}, "end": ">"}})",
       "--test", "<a>"},
      {"--number-range", "1,10", "--integer", "--test", "10"},
      {"--number-range=-5,5", "--test", "-4.5"},
      {"--number-range", ",5", "--test", "-1000"},
      {"root ::= \"x\"", "--test", "x"},
      {"start ::= \"x\"", "--grammar-root", "start", "--test", "x"},
      {"root ::= \"x\"", "--trigger", "<", "--test", "free <x"},
      {"--schema", R"({"properties": {"a": true}})", "--forbid-additional", "--test", "{}"},
      {"--schema", R"({"format": "date"})", "--no-formats", "--test", "\"x\""},
      {"--schema", R"({"minProperties": 1})", "--assume-distinct-names", "--test", "{\"a\": 1}"}};
  for (const Words& words : cases) {
    const Result result = run_grammar("check", words);
    EXPECT_EQ(result.exit_code, 0) << joined(words) << result.out << result.err;
  }
  const std::vector<Words> refused = {
      {"--number-range", "1,10", "--integer", "--test", "10.5"},
      {"--number-range", "1,10", "--test", "11"},
      {"--schema", kPersonSchema, "--json-space", "compact", "--test", "{ }"},
      {"--schema", kPersonSchema, "--test", compact},
      {"--schema", kPersonSchema, "--schema-order", "--test", reordered},
      {"--schema", kPersonSchema, "--json-space", "flexible", "--max-space", "1", "--test", "{  \"name\""},
      {"--schema", R"({"properties": {"a": true}})", "--forbid-additional", "--test", "{\"b\": 1}"},
      {"--choices", "yes,no", "--test", "yes,no"}};
  for (const Words& words : refused) {
    const Result result = run_grammar("check", words);
    EXPECT_EQ(result.exit_code, 1) << joined(words) << result.out << result.err;
    EXPECT_EQ(result.err, "") << joined(words);
  }
}

TEST(GrammarCheck, StandardInputIsAFile) {
  EXPECT_EQ(run_grammar("check", {"-", "--test", "x"}, "root ::= \"x\"").exit_code, 0);
  const Result result = run_grammar("check", {"-"}, "root ::= missing");
  expect_refused(result, 1, "sotto: standard input:1:10: undefined rule: missing");
}

TEST(GrammarCheck, ShowsThePlaceOfAnError) {
  const TemporaryFolder folder;
  const std::string path = folder.file("wrong.gbnf");
  write_file(path, "root ::= \"日本\" wort\n");
  Result result = run_grammar("check", {path});
  expect_refused(result, 1, "sotto: " + path + ":1:15: undefined rule: wort\n");
  // The characters before it take two columns each.
  expect_parts(result.err, {"\n    root ::= \"日本\" wort\n    " + std::string(16, ' ') + "^\n"});

  write_file(path, "root ::= x\nx ::= (\"a\" | \"b\"\n\ny ::= \"c\"\n");
  expect_refused(run_grammar("check", {path}), 1, "sotto: " + path + ":4:3: ");

  write_file(path, "root ::= " + std::string(1000, ' ') + "wort" + std::string(1000, 'x'));
  result = run_grammar("check", {path});
  expect_refused(result, 1, ":1:1010: ");
  EXPECT_LT(result.err.size(), 400u);

  write_file(path, "root ::= \t\x01 x");
  result = run_grammar("check", {path});
  expect_refused(result, 1, ":1:11: ");
  EXPECT_EQ(result.err.find('\x01'), std::string::npos);
  EXPECT_EQ(result.err.find('\t'), std::string::npos);

  write_file(path, "{\"properties\": {\n  \"a\": {\"type\": \"strin\"}}}");
  result = run_grammar("check", {"--schema", path});
  expect_refused(result, 1, "/properties/a/type");
  expect_parts(result.err, {path + ":2:", "strin", "^\n"});

  expect_refused(run_grammar("check", {"--regex", "a(b"}), 1, "sotto: regex:1:2: missing closing )");
  expect_refused(run_grammar("check", {"--regex", "(?<=a)"}), 1, "look-behind");

  const Result told = run_grammar("check", {"root ::= x", "--json", "--test", "x"});
  EXPECT_EQ(told.exit_code, 1);
  EXPECT_EQ(told.err, "");
  const json object = json::parse(told.out);
  EXPECT_EQ(object["valid"], false);
  EXPECT_EQ(object["error"]["line"], 1);
  EXPECT_EQ(object["error"]["column"], 10);
  EXPECT_EQ(object["error"]["offset"], 9);
}

TEST(GrammarCheck, WarnsAboutUnusedRules) {
  const std::string grammar = "root ::= \"x\"\nspare ::= \"y\"";
  const Result result = run_grammar("check", {grammar, "--test", "x"});
  EXPECT_EQ(result.exit_code, 0);
  expect_parts(result.err, {"sotto: warning: ", "spare"});
  const json object = json_of(run_grammar("check", {grammar, "--json"}));
  ASSERT_EQ(object["warnings"].size(), 1u);
  expect_parts(object["warnings"][0], {"spare"});
}

TEST(GrammarCheck, MemoryGrowsWithTheGrammarAndTheText) {
  std::string grammar = "root ::= r0\n";
  for (int i = 0; i < 20000; ++i) {
    const std::string number = std::to_string(i);
    grammar += "r" + number + " ::= \"" + number + "\" r" + std::to_string(i + 1) + "?\n";
  }
  grammar += "r20000 ::= \"end\"\n";
  const Result large = run_grammar("check", {"-", "--test", "012345"}, grammar);
  EXPECT_EQ(large.exit_code, 0) << large.err.substr(0, 300);
  const std::string deep = std::string(20000, '[') + std::string(20000, ']');
  const TemporaryFolder folder;
  write_file(folder.file("deep.json"), deep);
  const json object = json_of(run_grammar("check", {"--any-json", "--test-file", folder.file("deep.json"), "--json"}));
  EXPECT_EQ(object["tests"][0]["verdict"], "accepted");
}

TEST(GrammarCheck, ChecksTheTokensOfAModel) {
  const json ids = ids_of(" the");
  ASSERT_EQ(ids.size(), 1u);
  const std::string grammar = "root ::= <[" + ids[0].dump() + "]>";
  EXPECT_EQ(run_grammar("check", {grammar, "-m", SOTTO_DEMO_MODEL}).exit_code, 0);
  expect_refused(run_grammar("check", {grammar}), 1, "token literals need a vocabulary");
  expect_refused(run_grammar("check", {"root ::= <[999999]>", "-m", SOTTO_DEMO_MODEL}), 1,
                 "token number is not in the vocabulary");
}

TEST(GrammarCheck, TheEmptyExpressionMatchesTheEmptyText) {
  EXPECT_EQ(run_grammar("check", {"--regex", "", "--test", ""}).exit_code, 0);
  EXPECT_EQ(run_grammar("check", {"--regex", "", "--test", "x"}).exit_code, 1);
}

TEST(GrammarCheck, WrongUseNamesTheOption) {
  const auto expect_usage = [](const Words& words, const std::string& part) {
    SCOPED_TRACE(joined(words));
    expect_refused(run_grammar("check", words), 2, part);
  };
  expect_usage({}, "Give a GRAMMAR");
  expect_usage({"--schema"}, "Give a GRAMMAR");
  expect_usage({"--any-json", "x"}, "GRAMMAR");
  expect_usage({"--regex", "a", "b"}, "GRAMMAR");
  expect_usage({"--regex", "a", "--choices", "b"}, "cannot be combined");
  expect_usage({"x", "--json-space", "compact"}, "--json-space");
  expect_usage({"--regex", "x", "--grammar-root", "y"}, "--grammar-root");
  expect_usage({"--schema", "{}", "--parallel-tool-calls"}, "--parallel-tool-calls");
  expect_usage({"--any-json", "--json-space", "wide"}, "wide");
  expect_usage({"--schema", "{}", "--max-space", "3"}, "--max-space");
  expect_usage({"--any-json", "--allow-surrounding-whitespace"}, "--allow-surrounding-whitespace");
  expect_usage({"--schema", "{}", "--schema-draft", "3"}, "--schema-draft");
  expect_usage({"--number-range", "1"}, "comma");
  expect_usage({"--number-range", "1,x"}, "not a number");
  expect_usage({"x", "--trigger", ""}, "--trigger");
  expect_usage({"x", "--trigger-token", "1"}, "--trigger-token");
  expect_usage({"--jsonl", "--test", "x"}, "--test");
  expect_usage({"x", "--nonsense"}, "--nonsense");
  expect_refused(run_grammar("check", {"/no/such/file"}), 1, "/no/such/file: ");
  const Result incomplete = run_sotto({"grammar"});
  EXPECT_EQ(incomplete.exit_code, 2);
  EXPECT_NE(incomplete.err.find("Usage: sotto grammar"), std::string::npos) << incomplete.err;
  expect_refused(run_sotto({"grammar", "frob"}), 2, "\"frob\" is not a command");
  EXPECT_EQ(run_grammar("check", {"--help"}).exit_code, 0);
}

}  // namespace
}  // namespace sotto::test
