// Tests `sotto grammar check --jsonl`: its format, and the published cases of llama.cpp and xgrammar.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "tests/cli/grammar_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

TEST(GrammarJsonl, AnswersEveryKindOfLine) {
  const std::string lines = R"({"grammar": "root ::= \"a\"+", "test": ["a", "aa", "", "b"], "id": 7})"
                            "\n"
                            R"({"schema": {"type": "integer", "maximum": 12345678901234567890123}, )"
                            R"("test": ["12345678901234567890123", "12345678901234567890124"]})"
                            "\n"
                            R"({"schema": "{\"enum\": [1]}", "test": ["1", "2"]})"
                            "\n"
                            R"({"schema": true, "test": ["[]"]})"
                            "\n"
                            R"({"regex": "[é日]", "test": ["é", "日", "e"]})"
                            "\n"
                            R"({"choices": ["x", "y, z"], "test": ["y, z", "y"]})"
                            "\n"
                            R"({"number_range": {"minimum": 1, "integer": true}, "test": ["2", "0"]})"
                            "\n"
                            R"({"any_json": true, "test": ["{\"a\": 1}", "{"]})"
                            "\n"
                            R"({"json_object": true, "test": ["{}", "[]"]})"
                            "\n"
                            R"({"tools": [{"name": "f"}], "test": ["{\"name\": \"f\", \"arguments\": {}}"]})"
                            "\n"
                            R"({"grammar": "x ::= \"1\"", "root": "x", "test": ["1"]})"
                            "\n"
                            R"({"grammar": "root ::= \"1\"", "options": {"trigger": "go"}, "test": ["x go1", "go2"]})"
                            "\n";
  const std::vector<json> expected = {{true, true, false, false},
                                      {true, false},
                                      {true, false},
                                      {true},
                                      {true, true, false},
                                      {true, false},
                                      {true, false},
                                      {true, false},
                                      {true, false},
                                      {true},
                                      {true},
                                      {true, false}};
  const std::vector<json> answers = answers_to(lines);
  ASSERT_EQ(answers.size(), expected.size());
  for (size_t i = 0; i < answers.size(); ++i) {
    EXPECT_EQ(answers[i]["valid"], true) << answers[i];
    EXPECT_TRUE(answers[i]["error"].is_null());
    EXPECT_EQ(answers[i]["accepted"], expected[i]) << i;
  }
  EXPECT_EQ(answers[0].at("id"), 7);
}

TEST(GrammarJsonl, TextsThatAreNotUnicode) {
  const std::vector<json> answers =
      answers_to(R"({"any_json": true, "test": ["\"\ud800\"", "\"\ud83d\ude00\"", "\"\\ud83d\\ude00\""], )"
                 R"("test_base64": ["IsOpIg==", "Iv8i", "IsPpIg"]})"
                 "\n"
                 "{\"grammar\": \"root ::= .\", \"test\": [\"\xff\", \"\xc3\xa9\"]}\n");
  EXPECT_EQ(answers[0]["accepted"], json({false, true, true}));
  EXPECT_EQ(answers[0].at("accepted_base64"), json({true, false, false}));
  EXPECT_EQ(answers[1]["accepted"], json({false, true}));
}

TEST(GrammarJsonl, InvalidGrammarsAcceptNothing) {
  const std::vector<json> answers = answers_to(R"({"grammar": "root ::= \"a\"\n  y ::= z", "test": ["a", "b"]})"
                                               "\n"
                                               R"({"schema": {"type": 1}, "test": []})"
                                               "\n"
                                               R"({"schema": {"uniqueItems": true}, "test": ["1"]})"
                                               "\n"
                                               R"({"schema": "{", "test": ["1"]})"
                                               "\n"
                                               R"({"schema": false, "test": ["1"]})"
                                               "\n");
  ASSERT_EQ(answers.size(), 5u);
  for (const json& answer : answers) {
    EXPECT_EQ(answer["valid"], false) << answer;
    EXPECT_FALSE(answer["error"]["message"].get<std::string>().empty());
    for (const json& accepted : answer["accepted"]) EXPECT_EQ(accepted, false);
  }
  EXPECT_EQ(answers[0]["error"]["line"], 2);
  EXPECT_EQ(answers[0]["error"]["column"], 9);
  EXPECT_EQ(answers[0]["error"]["offset"], 21);
  EXPECT_EQ(answers[0]["accepted"].size(), 2u);
}

TEST(GrammarJsonl, BadLinesDoNotEndTheRun) {
  const std::string good = R"({"regex": "a", "test": ["a"]})";
  const std::vector<std::string> bad = {"",
                                        "x",
                                        "[]",
                                        "{}",
                                        R"({"test": ["a"]})",
                                        R"({"regex": "a", "grammar": "b"})",
                                        R"({"regex": 1})",
                                        R"({"regex": "a", "test": "a"})",
                                        R"({"regex": "a", "test": [1]})",
                                        R"({"regex": "a", "tests": []})",
                                        R"({"regex": "a", "options": {"colour": 1}})",
                                        R"({"schema": {}, "options": {"json_space": "wide"}})",
                                        R"({"any_json": 1})",
                                        R"({"regex": "a", "id": NaN})",
                                        R"({"regex": "a", "test_base64": ["!"]})",
                                        R"({"regex": "a\q"})",
                                        R"({"regex": "a)",
                                        R"({"regex": "a"} x)",
                                        R"({"schema": {}, "options": {"schema_draft": 4}})",
                                        std::string(100000, '['),
                                        R"({"id": )" + std::string(100000, '[') + "}"};
  std::string lines;
  for (const std::string& line : bad) lines += line + '\n' + good + '\n';
  const std::vector<json> answers = answers_to(lines, 1);
  ASSERT_EQ(answers.size(), 2 * bad.size());
  for (size_t i = 0; i < bad.size(); ++i) {
    EXPECT_EQ(answers[2 * i]["valid"], false) << bad[i].substr(0, 80);
    EXPECT_EQ(answers[2 * i].value("line", size_t{0}), 2 * i + 1);
    EXPECT_EQ(answers[2 * i]["accepted"], json::array());
    EXPECT_EQ(answers[2 * i + 1]["accepted"], json::array({true}));
  }
}

// Cases where those engines accept another language.
const std::map<std::string, std::string> kDifferences = {
    {"lc-gi-002", "llama.cpp ends integers after 16 digits"},
    {"lc-gi-041", "llama.cpp takes a schema with items to mean arrays only"},
    {"lc-gi-047", "uniqueItems is refused; llama.cpp ignores it"},
    {"xg-0885", "a member may occur twice in any order of xgrammar"}};

json line_of(const json& item) {
  const std::string kind = item["kind"];
  json line = {{"id", item["id"]}, {"test", json::array()}};
  if (kind == "builtin_json") {
    line["any_json"] = true;
  } else {
    const bool is_grammar = kind.rfind("grammar", 0) == 0;
    line[is_grammar ? "grammar" : kind] = item["source_text"];
  }
  json options = item.value("options", json::object());
  const bool has_json = kind == "schema" || kind == "builtin_json";
  if (kind == "schema") options["schema_order"] = !options.value("any_order", false);
  options.erase("any_order");
  if (has_json) options["assume_distinct_names"] = true;
  if (has_json && !options.contains("any_whitespace")) options["any_whitespace"] = true;
  line["options"] = options;
  for (const char* list : {"accept", "reject"}) {
    for (const json& text : item.value(list, json::array())) line["test"].push_back(text);
  }
  return line;
}

void run_published(const std::string& name, size_t expected_count) {
  SOTTO_REQUIRE_DATA("grammars/" + name);
  const json document = json::parse(read_file(shared_data() / "grammars" / name));
  std::vector<json> cases;
  std::string lines;
  for (const json& item : document["cases"]) {
    if (kDifferences.contains(item["id"])) continue;
    cases.push_back(item);
    lines += line_of(item).dump() + '\n';
  }
  EXPECT_EQ(cases.size(), expected_count);
  const std::vector<json> answers = answers_to(lines);
  ASSERT_EQ(answers.size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    const json& item = cases[i];
    EXPECT_EQ(answers[i].at("id"), item["id"]);
    const std::string kind = item["kind"];
    const bool is_invalid = kind == "grammar_invalid" || kind == "grammar_no_root";
    const size_t accept_count = item.value("accept", json::array()).size();
    const bool valid = answers[i]["valid"];
    if (is_invalid) {
      EXPECT_FALSE(valid) << item;
    } else if (accept_count > 0 || kind == "grammar_valid") {  // otherwise it is possible that nothing fits
      EXPECT_TRUE(valid) << item << answers[i];
    }
    const json& accepted = answers[i]["accepted"];
    for (size_t j = 0; j < accepted.size(); ++j) {
      EXPECT_EQ(accepted[j], j < accept_count) << item["id"] << line_of(item)["test"][j];
    }
  }
}

TEST(GrammarJsonl, VerdictsEqualThoseOfLlamaCpp) { run_published("cases_llamacpp.json", 38); }

TEST(GrammarJsonl, VerdictsEqualThoseOfXgrammar) { run_published("cases_xgrammar.json", 465); }

}  // namespace
}  // namespace sotto::test
