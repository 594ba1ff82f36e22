// Tests `sotto tokenize` on the demo model.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace sotto::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

const std::string kText = "The caf\u00e9 was closed,\n\tsaid \u4f60\u597d \U0001f600 twice.  \n";

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

TEST(Tokenize, TextAndStandardInputGiveTheSameIds) {
  const Result given = run_on_demo("tokenize", {kText});
  EXPECT_EQ(given.exit_code, 0) << given.err;
  EXPECT_EQ(given.out.find_first_not_of("0123456789 \n"), std::string::npos) << given.out;
  EXPECT_EQ(run_on_demo("tokenize", {}, kText).out, given.out);
  const json object = json_of(run_on_demo("tokenize", {"--json", kText}));
  EXPECT_EQ(object["text"], kText);
  EXPECT_EQ(object["count"], object["ids"].size());
  EXPECT_EQ(std::count(given.out.begin(), given.out.end(), ' ') + 1, object["count"]);
}

TEST(Tokenize, DecodeReturnsTheExactBytes) {
  const std::string ids = run_on_demo("tokenize", {}, kText).out;
  EXPECT_EQ(run_on_demo("tokenize", {"--decode"}, ids).out, kText);
  Words words = {"--decode"};
  std::istringstream stream(ids);
  for (std::string id; stream >> id;) words.push_back(id);
  EXPECT_EQ(run_on_demo("tokenize", words).out, kText);
  EXPECT_EQ(run_on_demo("tokenize", {}, "").out, "\n");
}

TEST(Tokenize, PiecesJoinToTheText) {
  const Result result = run_on_demo("tokenize", {"--pieces", "Once upon"});
  std::istringstream stream(result.out);
  std::string text;
  for (std::string line; std::getline(stream, line);) {
    const size_t quote = line.find("\t\"");
    ASSERT_NE(quote, std::string::npos) << line;
    text += line.substr(quote + 2, line.size() - quote - 3);
  }
  EXPECT_EQ(text, "Once upon");
}

TEST(Tokenize, SpecialTokensAreReadOnRequestOnly) {
  const json model = json_of(run_sotto({"inspect", "--json", SOTTO_DEMO_MODEL}));
  const json special = json_of(run_on_demo("tokenize", {"--json", "--parse-special", "<|endoftext|>"}));
  EXPECT_EQ(special["ids"], json::array({model["end_of_text_token"]}));
  const json plain = json_of(run_on_demo("tokenize", {"--json", "<|endoftext|>"}));
  EXPECT_GT(plain["ids"].size(), 1u);
}

TEST(Tokenize, JsonLinesEncodeAndDecode) {
  const std::vector<std::string> texts = {kText, "", "a", "two words", std::string("\0nul", 4)};
  std::string input;
  for (const std::string& text : texts) input += json{{"text", text}}.dump() + '\n';
  const Result encoded = run_on_demo("tokenize", {"--jsonl"}, input);
  EXPECT_EQ(encoded.exit_code, 0) << encoded.err;
  const Result decoded = run_on_demo("tokenize", {"--jsonl"}, encoded.out);
  EXPECT_EQ(decoded.exit_code, 0) << decoded.err;
  const std::vector<json> lines = lines_of(decoded.out);
  ASSERT_EQ(lines.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) EXPECT_EQ(lines[i], (json{{"text", texts[i]}}));
  EXPECT_EQ(lines_of(encoded.out)[1], (json{{"ids", json::array()}}));
}

TEST(Tokenize, HalfACharacterIsShownAsBytes) {
  const json whole = json_of(run_on_demo("tokenize", {"--json", "\U0001f600"}));
  ASSERT_GT(whole["ids"].size(), 1u);
  const json request = {{"ids", json::array({whole["ids"][0]})}};
  const json half = json_of(run_on_demo("tokenize", {"--jsonl"}, request.dump() + "\n"));
  EXPECT_EQ(half["text"], "\ufffd");
  EXPECT_EQ(half["bytes_hex"].get<std::string>().substr(0, 2), "f0");
}

TEST(Tokenize, BadJsonLinesAreReportedAndTheRestIsAnswered) {
  const std::vector<std::string> bad = {"nonsense",
                                        "",
                                        "[]",
                                        "{}",
                                        "{\"ids\":3}",
                                        "{\"ids\":[-1]}",
                                        "{\"ids\":[1.5]}",
                                        "{\"ids\":[4294967296]}",
                                        "{\"ids\":[18446744073709551615]}",
                                        "{\"text\":7}",
                                        "{\"text\":\"a\",\"ids\":[]}",
                                        "{\"text\":\"a\",\"special\":true}",
                                        "{\"text\":" + std::string(200'000, '[') + std::string(200'000, ']') + "}",
                                        "{\"text\":\"\xff\"}",
                                        "{\"text\":\"\\ud800\"}",
                                        "{\"ids\":[1000000]}",
                                        "{\"text\":NaN}",
                                        std::string("{\"text\":\"a\"}\0b", 15),
                                        "{\"text\":\"cut off"};
  std::string input = "{\"text\":\"good\"}\n";
  for (const std::string& line : bad) input += line + '\n';
  input += "{\"text\":\"good\"}\n";
  const Result result = run_on_demo("tokenize", {"--jsonl"}, input);
  EXPECT_EQ(result.exit_code, 1);
  const std::vector<json> lines = lines_of(result.out);
  ASSERT_EQ(lines.size(), bad.size() + 2);
  for (size_t i = 0; i < bad.size(); ++i) {
    EXPECT_EQ(lines[i + 1]["line"], i + 2) << bad[i];
    EXPECT_GT(lines[i + 1]["error"].get<std::string>().size(), 4u) << bad[i];
  }
  EXPECT_TRUE(lines.back().contains("ids"));
  EXPECT_EQ(lines.back(), lines.front());
}

}  // namespace
}  // namespace sotto::test
