// Tests `sotto grammar mask` and `sotto grammar compile`.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/cli/grammar_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

json mask(const Words& words) {
  Words all = words;
  all.push_back("--json");
  return json_of(run_grammar("mask", all));
}

TEST(GrammarMask, BytesAreTheTokensWithoutAModel) {
  json object = mask({"--choices", "yes,yet,no"});
  EXPECT_EQ(object["count"], 2);
  EXPECT_EQ(object["vocabulary_size"], 257);
  EXPECT_EQ(object["may_end"], false);
  EXPECT_EQ(object["forced"], "");
  EXPECT_EQ(object["tokens"], json::parse(R"([{"id": 110, "text": "n"}, {"id": 121, "text": "y"}])"));
  object = mask({"--choices", "yes,yet,no", "--prefix", "y"});
  EXPECT_EQ(object["forced"], "e");
  EXPECT_EQ(object["tokens"], json::parse(R"([{"id": 101, "text": "e"}])"));
  object = mask({"--choices", "yes,yet,no", "--prefix", "no"});
  EXPECT_EQ(object["may_end"], true);
  EXPECT_EQ(object["must_end"], true);
  EXPECT_EQ(object["tokens"], json::parse(R"([{"id": 256, "text": ""}])"));
  object = mask({"root ::= \"a\"*", "--prefix", "aa"});
  EXPECT_EQ(object["may_end"], true);
  EXPECT_EQ(object["must_end"], false);
  object = mask({"root ::= \"é\""});
  EXPECT_EQ(object["tokens"][0]["bytes_hex"], "c3");
}

TEST(GrammarMask, ListsTheTokensOfAModel) {
  const Words words = {"--regex", "(the|then) cat", "-m", SOTTO_DEMO_MODEL};
  const json object = mask(words);
  Words texts;
  for (const json& token : object["tokens"]) texts.push_back(token["text"]);
  std::sort(texts.begin(), texts.end());
  ASSERT_FALSE(texts.empty());
  EXPECT_EQ(object["count"], texts.size());
  for (const std::string& text : texts) {
    EXPECT_EQ(std::string("then cat").rfind(text, 0) == 0 || std::string("the cat").rfind(text, 0) == 0, true) << text;
  }
  EXPECT_EQ(texts[0], "t");
  EXPECT_EQ(object["forced"], "the");
  const json end = mask({"--regex", "(the|then) cat", "-m", SOTTO_DEMO_MODEL, "--prefix", "the cat"});
  const json model = json_of(run_sotto({"inspect", "--json", SOTTO_DEMO_MODEL}));
  EXPECT_EQ(end["count"], 1);
  EXPECT_EQ(end["tokens"][0]["id"], model["end_of_text_token"]);
}

TEST(GrammarMask, ListsAllowedTokensForPeople) {
  const Words words = {"--regex", "[a-z]x*", "--top", "3"};
  const Result result = run_grammar("mask", words);
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out,
            "26 of 257 tokens\nthe text may not end\n     97  \"a\"\n     98  \"b\"\n"
            "     99  \"c\"\n    ...\n");
  EXPECT_EQ(run_grammar("mask", {"--choices", "ab", "--prefix", "a"}).out,
            "1 of 257 tokens\nthe text may not end\nforced: \"b\"\n     98  \"b\"\n");
  EXPECT_EQ(run_grammar("mask", {"--choices", "ab", "--prefix", "ab"}).out,
            "1 of 257 tokens\nthe text must end\n    256  \"\"\n");
  EXPECT_EQ(mask({"--any-json", "--prefix", "\"", "--top", "-1"})["tokens"].size(),
            mask({"--any-json", "--prefix", "\""})["count"]);
  EXPECT_EQ(mask({"--any-json", "--top", "0"})["tokens"], json::array());
}

TEST(GrammarMask, RejectsAPrefixThatDoesNotMatch) {
  const Result result = run_grammar("mask", {"--any-json", "--json-space", "flexible", "--prefix", "[1,\n tru]"});
  expect_refused(result, 1, "sotto: --prefix:2:5: ");
  EXPECT_NE(result.err.find("\n     tru]\n        ^\n"), std::string::npos) << result.err;
  expect_refused(run_grammar("mask", {"--any-json", "--top", "-2"}), 2, "--top");
  expect_refused(run_grammar("mask", {"--any-json", "-m", "/no/model"}), 1, "/no/model");
}

TEST(GrammarCompile, ImagesBehaveAsTheirSources) {
  const TemporaryFolder folder;
  const std::string image = folder.file("person.sottog");
  const Words source = {"--schema", kPersonSchema, "--json-space", "compact"};
  Words words = source;
  words.insert(words.end(), {"-o", image});
  const Result made = run_grammar("compile", words);
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(made.err, "");
  EXPECT_EQ(made.out.rfind(image + ": ", 0), 0u) << made.out;
  words.push_back("--json");
  const json told = json_of(run_grammar("compile", words));
  EXPECT_EQ(told["image_bytes"], read_file(image).size());
  EXPECT_EQ(told["language"], "json_schema");

  const std::string person = R"({"name":"Ann","age":7,"colour":"red"})";
  const json checked = json_of(run_grammar("check", {image, "--test", person, "--json"}));
  EXPECT_EQ(checked["language"], "image");
  EXPECT_EQ(run_grammar("check", {image, "--test", "{ }"}).exit_code, 1);
  EXPECT_EQ(run_grammar("check", {"-", "--test", person}, read_file(image)).exit_code, 0);
  json from_image = mask({image, "--prefix", "{\"name\":\"A", "-m", SOTTO_DEMO_MODEL});
  Words direct = source;
  direct.insert(direct.end(), {"--prefix", "{\"name\":\"A", "-m", SOTTO_DEMO_MODEL});
  EXPECT_EQ(from_image, mask(direct));
  const json from_grammar = generated({"--grammar", image, "--temp", "1.3", "--seed", "5"});
  const json from_schema =
      generated({"--json-schema", kPersonSchema, "--json-space", "compact", "--temp", "1.3", "--seed", "5"});
  EXPECT_EQ(from_grammar["tokens"], from_schema["tokens"]);
}

TEST(GrammarCompile, WrongImagesAndWrongUse) {
  const TemporaryFolder folder;
  const std::string image = folder.file("a.sottog");
  ASSERT_EQ(run_grammar("compile", {"--regex", "a+", "-o", image}).exit_code, 0);
  const std::string bytes = read_file(image);
  for (size_t i : {size_t{9}, bytes.size() / 2, bytes.size() - 1}) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    write_file(image, damaged);
    expect_refused(run_grammar("check", {image}), 1, image + ": ");
  }
  write_file(image, bytes.substr(0, bytes.size() - 8));
  expect_refused(run_grammar("check", {image}), 1, image + ": ");
  write_file(image, bytes);
  expect_refused(run_grammar("check", {image, "--grammar-root", "x"}), 2, "compiled already");
  expect_refused(run_grammar("check", {"--schema", image}), 2, "is a compiled grammar");
  expect_refused(run_grammar("compile", {"--regex", "a"}), 2, "--output");
  expect_refused(run_grammar("compile", {"--regex", "a", "-o", "/no/such/folder/x"}), 1, "/no/such/folder/x");
  expect_refused(run_grammar("compile", {"--regex", "(", "-o", image}), 1, "sotto: regex:1:1");
  EXPECT_EQ(read_file(image), bytes);
}

}  // namespace
}  // namespace sotto::test
