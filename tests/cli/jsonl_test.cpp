// Tests JSON lines: many texts in one process (`--jsonl`), and the events of a stream (`--stream-json`).
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/generate_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

std::vector<json> lines_of(const std::string& text) {
  std::vector<json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(json::parse(line));
  return lines;
}

std::string text_of(const std::vector<json>& lines) {
  std::string text;
  for (const json& line : lines) text += line.dump() + '\n';
  return text;
}

// Runs a command with --jsonl on the demo model, and expects exit code `code`.
std::vector<json> answers(const std::string& command, Words words, const std::string& input, int code = 0) {
  words.emplace_back("--jsonl");
  const Result result = run_on_demo(command, words, input);
  EXPECT_EQ(result.exit_code, code) << result.err;
  EXPECT_EQ(result.err, "");
  return lines_of(result.out);
}

// Returns what must not depend on other requests.
json essence(json answer) {
  for (const char* name : {"timings", "memory", "speculation", "id"}) answer.erase(name);
  return answer;
}

TEST(GenerateLines, AnswersEqualSingleRuns) {
  const std::vector<json> params = {json::object(),
                                    {{"seed", 7}, {"max_tokens", 5}},
                                    {{"temperature", 0}, {"stop", {","}}, {"repetition_penalty", 1.3}},
                                    {{"mirostat", 2}},
                                    {{"context_tokens", 64}, {"overflow", "ring"}},
                                    {{"logit_bias", {{"262", -100}}}, {"banned_strings", {"the"}}}};
  const std::vector<std::string> prompts = {"Once upon a time", "It was", "Once upon a time"};
  for (const Words& options :
       {Words{}, {"--draft", "lookup"}, {"--guidance-scale", "1.5"}, {"--regex", "[a-z ]{9,}"}}) {
    SCOPED_TRACE(joined(options));
    std::vector<json> requests, expected;
    for (const json& params_of_line : params) {
      if (!options.empty() && params_of_line.contains("banned_strings")) continue;
      for (const std::string& prompt : prompts) {
        requests.push_back({{"prompt", prompt}, {"params", params_of_line}, {"id", requests.size()}});
        if (expected.size() % prompts.size() == 2) {  // the third prompt is the first one
          expected.push_back(expected[expected.size() - 2]);
          continue;
        }
        const TemporaryFolder folder;
        write_file(folder.file("params"), params_of_line.dump());
        Words words = {"-p", prompt, "--json", "--params", folder.file("params")};
        words.insert(words.end(), options.begin(), options.end());
        if (!params_of_line.contains("max_tokens")) words.insert(words.end(), {"-n", "12"});
        if (params_of_line.contains("seed")) words.insert(words.end(), {"--seed", params_of_line["seed"].dump()});
        expected.push_back(json_of(run_on_demo("generate", words)));
      }
    }
    Words words = {"-n", "12"};
    words.insert(words.end(), options.begin(), options.end());
    for (const char* count : {"1", "4"}) {
      SCOPED_TRACE(count);
      Words parallel = words;
      parallel.insert(parallel.end(), {"--parallel", count});
      const std::vector<json> found = answers("generate", parallel, text_of(requests));
      ASSERT_EQ(found.size(), requests.size());
      for (size_t i = 0; i < found.size(); ++i) {
        EXPECT_EQ(essence(found[i]), essence(expected[i])) << requests[i];
        EXPECT_EQ(found[i]["id"], i);
      }
    }
  }
}

TEST(GenerateLines, SearchesAndIdsAreAnswered) {
  const json ids = ids_of(kPrompt);
  const std::vector<json> found =
      answers("generate", {"--num-beams", "3", "-n", "8"}, text_of({{{"prompt", kPrompt}}, {{"ids", ids}}}));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(essence(found[0]), essence(generated({"--num-beams", "3", "-n", "8"})));
  EXPECT_EQ(essence(found[0]), essence(found[1]));
}

TEST(GenerateLines, ParametersOfALineAreNotReplacedByDefaults) {
  const json line = {{"prompt", "x"}, {"params", {{"mirostat", 2}, {"top_k", 7}, {"max_tokens", 2}}}};
  const json answer = answers("generate", {}, line.dump() + "\n").at(0);
  EXPECT_EQ(answer["parameters"]["top_k"], 7);
  EXPECT_EQ(answer["parameters"]["top_p"], 1.0);
}

TEST(GenerateLines, EachLineHasARandomSeedUnlessOneIsGiven) {
  const Result result = run_sotto({"generate", "-m", SOTTO_DEMO_MODEL, "--jsonl", "-n", "1"},
                                  text_of({{{"prompt", "x"}}, {{"prompt", "x"}}}));
  const std::vector<json> found = lines_of(result.out);
  ASSERT_EQ(found.size(), 2u) << result.err;
  EXPECT_NE(found[0]["parameters"]["seed"], found[1]["parameters"]["seed"]);
}

TEST(GenerateLines, InvalidLinesAreReportedAndOthersAnswered) {
  const std::vector<std::pair<std::string, std::string>> invalid = {
      {"nonsense", "not JSON"},
      {"", "not JSON"},
      {"[1]", "a line is a JSON object"},
      {std::string(100000, '['), "nested too deeply"},
      {"{\"prompt\":\"\xff\"}", "not JSON"},
      {R"({"text":"x"})", "unknown field: \"text\""},
      {R"({"id":5})", R"(give either "prompt" or "ids")"},
      {R"({"prompt":"x","ids":[1]})", R"(give either "prompt" or "ids")"},
      {R"({"prompt":3})", "prompt is 3, not a text"},
      {R"({"prompt":""})", "prompt: empty"},
      {R"({"ids":[]})", "ids is empty"},
      {R"({"ids":[99999]})", "99999"},
      {R"({"prompt":"x","params":3})", "params is not an object"},
      {R"({"prompt":"x","params":{"colour":1}})", "unknown parameter: colour"},
      {R"({"prompt":"x","params":{"temperature":-1}})", "-1"},
      {R"({"prompt":"x","params":{"stop":[""]}})", "--stop: the text is empty"},
      {R"({"prompt":"x","params":{"context_tokens":1}})", "is 1; it must be from 16"},
      {R"({"prompt":"x","params":{"grammar":{}}})", "grammar is not read by --params"}};
  std::string input;
  for (const auto& [line, message] : invalid) input += line + "\n" + R"({"prompt":"It was"})" + "\n";
  const std::vector<json> found = answers("generate", {"-n", "3"}, input, 1);
  const std::vector<json> in_parallel = answers("generate", {"-n", "3", "--parallel", "3"}, input, 1);
  ASSERT_EQ(in_parallel.size(), found.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_EQ(essence(in_parallel[i]), essence(found[i]));
  ASSERT_EQ(found.size(), 2 * invalid.size());
  for (size_t i = 0; i < found.size(); i += 2) {
    const auto& [line, message] = invalid[i / 2];
    EXPECT_NE(found[i]["error"].get<std::string>().find(message), std::string::npos) << found[i] << message;
    EXPECT_EQ(found[i]["line"], i + 1);
    EXPECT_EQ(found[i + 1]["text"], found[1]["text"]);
  }
  EXPECT_EQ(found[12]["id"], 5);
}

TEST(GenerateLines, OptionsThatContradictLinesAreReported) {
  expect_refused(run_on_demo("generate", {"--jsonl", "-p", "x"}), 2, "--prompt");
  expect_refused(run_on_demo("generate", {"--jsonl", "--json"}), 2, "all answers are JSON");
  expect_refused(run_on_demo("generate", {"-p", "x", "--parallel", "2"}), 2, "--jsonl");
  expect_refused(run_on_demo("generate", {"--jsonl", "--parallel", "65"}), 2, "is 65; it must be from 1 to 64");
  expect_refused(run_on_demo("generate", {"--jsonl", "--parallel", "2", "--stream-json"}), 2, "would be mixed");
  expect_refused(run_on_demo("generate", {"--jsonl", "--save-state", "x"}), 2, "--save-state");
  expect_refused(run_on_demo("generate", {"--jsonl", "--grammar", "-"}), 2, "standard input cannot be both");
  expect_refused(run_on_demo("generate", {"--jsonl", "--temp", "0", "--mirostat", "2"}), 2, "Mirostat needs");
  const std::string line = R"({"prompt":"x","params":{"max_tokens":3}})";
  EXPECT_NE(answers("generate", {"--max-length", "9"}, line, 1)[0]["error"].get<std::string>().find("--max-length"),
            std::string::npos);
}

TEST(GenerateLines, AnIncompleteTextHasItsExitCode) {
  const std::vector<json> found =
      answers("generate", {"--regex", "[a-z]{40}", "--finish-within", "0", "-n", "2"}, "{\"prompt\":\"x\"}\n", 3);
  EXPECT_EQ(found.at(0)["complete"], false);
}

TEST(StreamJson, PiecesMakeUpTheResult) {
  for (const Words& more : {Words{}, {"--stop", "a"}, {"--logprobs", "2"}}) {
    Words words = {"-p", kPrompt, "-n", "30", "--stream-json"};
    words.insert(words.end(), more.begin(), more.end());
    const Result result = run_on_demo("generate", words);
    ASSERT_EQ(result.exit_code, 0) << result.err;
    std::vector<json> events = lines_of(result.out);
    json end = events.back();
    events.pop_back();
    EXPECT_EQ(end["event"], "end");
    std::string text;
    json tokens = json::array(), scores = json::array();
    for (const json& event : events) {
      EXPECT_EQ(event["event"], "piece");
      text += event["text"];
      if (event.contains("token")) tokens.push_back(event["token"]);
      if (event.contains("log_probability")) scores.push_back(event["log_probability"]);
      if (event.contains("alternatives")) {
        EXPECT_EQ(event["alternatives"].size(), 2u);
      }
    }
    EXPECT_EQ(end["text"], text);
    EXPECT_EQ(end["tokens"], tokens);
    if (end.contains("log_probabilities")) {
      EXPECT_EQ(end["log_probabilities"], scores);
    }
    end.erase("event");
    Words whole = {"-n", "30"};
    whole.insert(whole.end(), more.begin(), more.end());
    EXPECT_EQ(essence(end), essence(generated(whole)));
  }
  expect_usage_error({"--stream-json", "--json"}, "--json");
  expect_usage_error({"--stream-json", "--num-beams", "2"}, "cannot be combined with --num-beams");
}

TEST(StreamJson, EventsOfLinesHaveTheirIds) {
  const std::vector<json> found = answers("generate", {"--stream-json", "-n", "3"},
                                          text_of({{{"prompt", "It was"}, {"id", "a"}}, {{"prompt", "x"}, {"id", 2}}}));
  ASSERT_EQ(found.size(), 8u);
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i]["id"], i < 4 ? json("a") : json(2));
    EXPECT_EQ(found[i]["event"], i % 4 == 3 ? "end" : "piece");
  }
}

TEST(ScoreLines, AnswersEqualSingleRuns) {
  const std::vector<json> found = answers("score", {},
                                          text_of({{{"text", "It was a dark night"}, {"id", 1}},
                                                   {{"text", "x"}},
                                                   {{"text", " dark night"}, {"given", "It was a"}},
                                                   {{"ids", ids_of("It was a dark night")}},
                                                   {{"text", "x"}, {"colour", 1}}}),
                                          1);
  ASSERT_EQ(found.size(), 5u);
  const json single = json_of(run_on_demo("score", {"It was a dark night", "--json"}));
  json first = found[0];
  EXPECT_EQ(first["id"], 1);
  first.erase("id");
  EXPECT_EQ(first, single);
  EXPECT_EQ(found[3], single);
  EXPECT_NE(found[1]["error"].get<std::string>().find("nothing to score"), std::string::npos);
  EXPECT_EQ(found[1]["line"], 2);
  EXPECT_EQ(found[2], json_of(run_on_demo("score", {" dark night", "--given", "It was a", "--json"})));
  EXPECT_EQ(found[4]["error"], "unknown field: \"colour\"");
  // ln p of a text is the sum over its parts, each given the parts before.
  const json beginning = json_of(run_on_demo("score", {"It was a", "--json"}));
  EXPECT_NEAR(beginning["log_probability"].get<double>() + found[2]["log_probability"].get<double>(),
              single["log_probability"].get<double>(), 1e-6);
  EXPECT_EQ(found[2]["scored_tokens"], 2);
}

TEST(EmbedLines, AnswersEqualSingleRuns) {
  const std::vector<json> found = answers(
      "embed", {"--normalize"}, text_of({{{"text", "It was"}}, {{"text", ""}}, {{"text", "x"}, {"id", "b"}}}), 1);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0], json_of(run_on_demo("embed", {"It was", "--normalize", "--json"})));
  EXPECT_EQ(found[1], json({{"error", "text: empty"}, {"line", 2}}));
  EXPECT_EQ(found[2]["id"], "b");
  expect_refused(run_on_demo("embed", {"--jsonl", "x"}), 2, "lines have texts of their own");
}

}  // namespace
}  // namespace sotto::test
