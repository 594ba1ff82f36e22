// Tests options of `sotto generate`: stops, banned strings, log probabilities, token healing, guides, and saved states.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/generate_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

std::string text_of(const json& object) { return object["text"]; }

bool has(const json& object, const std::string& part) { return text_of(object).find(part) != std::string::npos; }

TEST(Stops, AStopStringEndsTheTextInsideTokens) {
  const json plain = generated({"-n", "40", "--greedy"});
  const std::string text = text_of(plain);
  // The prompt ends inside a word, where no token ends.
  const std::string stop = text.substr(9, 4);
  const std::string before = text.substr(0, text.find(stop));
  for (const char* name : {"--stop", "-r", "--stop-string", "--stop_strings", "--reverse-prompt"}) {
    const json object = generated({"-n", "40", "--greedy", name, stop, "--stop", "never"});
    EXPECT_EQ(object["stop"], "stop_string") << name;
    EXPECT_EQ(text_of(object), before) << name;
  }
  const json with_it = generated({"-n", "40", "--greedy", "--stop", stop, "--include-stop"});
  EXPECT_EQ(text_of(with_it), before + stop);
  EXPECT_EQ(with_it["parameters"]["stop"], json::array({stop}));
  const json quoted = generated({"-n", "200", "--seed", "3", "--stop", "\"\\n\""});
  EXPECT_EQ(quoted["stop"], "stop_string");
  EXPECT_FALSE(has(quoted, "\n"));
  EXPECT_EQ(generated({"-n", "4", "--stop", "[END]"})["parameters"]["stop"], json::array({"[END]"}));
}

TEST(Stops, TokensTimeAndRepetitionEndTheText) {
  const json plain = generated({"-n", "40", "--greedy"});
  const json token = plain["tokens"][5];
  for (const char* name : {"--stop-token", "--stop-token-ids", "--eos_token_id"}) {
    const json object = generated({"-n", "40", "--greedy", name, token.dump() + ",4000"});
    EXPECT_EQ(object["stop"], "stop_token") << name;
    EXPECT_LE(object["tokens"].size(), 5u) << name;
  }
  const json by_text = generated({"-n", "200", "--stop-token", " the"});
  EXPECT_EQ(by_text["stop"], "stop_token");
  EXPECT_FALSE(has(by_text, " the "));
  const json timed = generated({"-n", "-1", "--overflow", "ring", "--ignore-eos", "--max-time", "0.05"});
  EXPECT_EQ(timed["stop"], "max_time");
  EXPECT_GE(timed["timings"]["total_seconds"].get<double>(), 0.05);
  EXPECT_EQ(timed["parameters"]["max_time"], 0.05);
  const json repetitive = generated(
      {"-n", "-1", "--overflow", "ring", "--greedy", "--repetition-limit", "0.5", "--repetition-limit-window", "32"});
  EXPECT_EQ(repetitive["stop"], "repetition");
}

TEST(Stops, BannedStringsNeverOccur) {
  const json plain = generated({"-n", "60", "--greedy"});
  ASSERT_TRUE(has(plain, " the"));
  for (const char* name : {"--banned-string", "--banned-strings", "--banned_strings"}) {
    const json object = generated({"-n", "60", "--greedy", name, "the", "--banned-string", "had"});
    EXPECT_FALSE(has(object, "the")) << text_of(object);
    EXPECT_FALSE(has(object, "had")) << text_of(object);
    EXPECT_EQ(object["tokens"].size(), 60u);
  }
}

TEST(Stops, HealedPromptsContinueTheWord) {
  const Words words = {"-p", "Once upon a ti", "-n", "4", "--greedy", "--json", "--token-healing"};
  const json healed = json_of(run_on_demo("generate", words));
  EXPECT_EQ(text_of(healed).rfind("me", 0), 0u) << text_of(healed);
  EXPECT_EQ(healed["parameters"]["token_healing"], true);
}

TEST(Outputs, AlternativesAndPromptScores) {
  const json object = generated({"-n", "6", "--logprobs", "3", "--temp", "0.5", "--echo-scores"});
  ASSERT_EQ(object["alternatives"].size(), 6u);
  for (size_t i = 0; i < 6; ++i) {
    const json& list = object["alternatives"][i];
    ASSERT_EQ(list.size(), 3u);
    EXPECT_GE(list[0]["log_probability"], list[1]["log_probability"]);
    EXPECT_GE(list[0]["log_probability"], object["log_probabilities"][i]);
    EXPECT_LE(object["sampled_log_probabilities"][i].get<double>(), 0.0);
    EXPECT_NE(object["sampled_log_probabilities"][i], object["log_probabilities"][i]);
  }
  const json& scores = object["prompt_log_probabilities"];
  ASSERT_EQ(scores.size(), object["prompt_tokens"].size());
  EXPECT_EQ(scores[0], "nan");
  double sum = 0.0;
  for (size_t i = 1; i < scores.size(); ++i) sum += scores[i].get<double>();
  EXPECT_NEAR(object["prompt_perplexity"].get<double>(), std::exp(-sum / static_cast<double>(scores.size() - 1)), 1e-3);
  // Scores do not change the text.
  EXPECT_EQ(object["tokens"], generated({"-n", "6", "--temp", "0.5"})["tokens"]);
  const Result lines = run_on_demo("generate", {"-p", kPrompt, "-n", "6", "--top-logprobs", "2", "-q"});
  EXPECT_EQ(std::count(lines.out.begin(), lines.out.end(), '\n'), 6 * 3);
}

TEST(Guides, ANegativePromptActsByItsScale) {
  const json plain = generated({"-n", "16", "--greedy"});
  const json none =
      generated({"-n", "16", "--greedy", "--guidance-scale", "1", "--negative-prompt", "The sea was rough"});
  EXPECT_EQ(none["tokens"], plain["tokens"]);
  const json some =
      generated({"-n", "16", "--greedy", "--guidance_scale", "2.5", "--negative_prompt", "The sea was rough"});
  EXPECT_NE(some["tokens"], plain["tokens"]);
  EXPECT_EQ(some["parameters"]["guide"]["scale"], 2.5);
  const json other =
      generated({"-n", "16", "--greedy", "--cfg-scale", "2.5", "--cfg-negative-prompt", "He was a good old man"});
  EXPECT_NE(other["tokens"], some["tokens"]);
  EXPECT_NE(generated({"-n", "16", "--greedy", "--guidance-scale", "2.5"})["tokens"], plain["tokens"]);
}

TEST(Guides, AContrastiveModelChangesTheText) {
  const json plain = generated({"-n", "16", "--greedy"});
  const auto with = [](const Words& more) {
    Words words = {"-n", "16", "--greedy", "--contrastive-model", SOTTO_DEMO_MODEL};
    words.insert(words.end(), more.begin(), more.end());
    return generated(words);
  };
  // With the model as its own guide, (1 + beta) l - beta l = l, up to rounding.
  EXPECT_EQ(with({})["tokens"], plain["tokens"]);
  EXPECT_EQ(with({})["parameters"]["guide"]["mode"], "contrastive");
  const json set = with({"--contrast-alpha", "0.3", "--contrast-beta", "0.8"});
  EXPECT_EQ(set["parameters"]["guide"]["alpha"], 0.3);
  EXPECT_EQ(set["parameters"]["guide"]["beta"], 0.8);
  expect_refused(run_on_demo("generate", {"-p", "x", "--contrastive-model", "none.sotto"}), 1, "none.sotto");
}

TEST(States, ContinueWhereTheyWereSaved) {
  const TemporaryFolder folder;
  const std::string path = folder.file("state");
  for (const Words& sampler :
       std::vector<Words>{{"--seed", "5"}, {"--mirostat", "2", "--presence-penalty", "1"}, {"--greedy"}}) {
    const auto with = [&](Words words) {
      words.insert(words.end(), sampler.begin(), sampler.end());
      return words;
    };
    SCOPED_TRACE(joined(sampler));
    const json whole = generated(with({"-n", "24"}));
    const json first = generated(with({"-n", "10", "--save-state", path}));
    Words rest = with({"-n", "14", "--load-state", path, "--json"});
    const json second = json_of(run_on_demo("generate", rest));
    json tokens = first["tokens"];
    for (const json& token : second["tokens"]) tokens.push_back(token);
    EXPECT_EQ(tokens, whole["tokens"]);
    EXPECT_EQ(text_of(first) + text_of(second), text_of(whole));
  }
}

TEST(States, AcceptMorePromptAndTheBestOfASearch) {
  const TemporaryFolder folder;
  const std::string path = folder.file("state");
  generated({"-n", "0", "--greedy", "--save-state", path});
  const json more =
      json_of(run_on_demo("generate", {"-p", " there was", "--load-state", path, "-n", "8", "--greedy", "--json"}));
  const json whole = json_of(run_on_demo("generate", {"-p", kPrompt + " there was", "-n", "8", "--greedy", "--json"}));
  EXPECT_EQ(more["tokens"], whole["tokens"]);
  const json found = generated({"-n", "6", "--num-beams", "3", "--save-state", path});
  const json after = json_of(run_on_demo("generate", {"--load-state", path, "-n", "8", "--greedy", "--json"}));
  const json same = json_of(run_on_demo("generate", {"-p", kPrompt + text_of(found), "-n", "8", "--greedy", "--json"}));
  EXPECT_EQ(after["tokens"], same["tokens"]);
}

// The texts are printed even if the state cannot be saved.
TEST(States, KeepTheTextsOfASearchThatDoesNotFit) {
  const TemporaryFolder folder;
  const Words search = {"-p", kPrompt, "-n", "40", "-c", "16", "--num-beams", "3", "--ignore-eos", "-q"};
  const auto expect_failure = [&](const Words& more) {
    Words words = search;
    words.insert(words.end(), more.begin(), more.end());
    SCOPED_TRACE(joined(words));
    const Result result = run_on_demo("generate", words);
    EXPECT_EQ(result.exit_code, 1);
    EXPECT_NE(result.out, "");
    EXPECT_NE(result.err.find(more[0] + ": "), std::string::npos) << result.err;
    EXPECT_NE(result.err.find("do not fit a context of 16"), std::string::npos) << result.err;
  };
  const std::string path = folder.file("state");
  expect_failure({"--save-state", path});
  EXPECT_FALSE(std::filesystem::exists(path));
  for (const char* overflow : {"stop", "ring", "shift"}) {
    expect_failure({"--logprobs", "--overflow", overflow});
  }
}

TEST(States, AStateThatCannotBeWrittenKeepsTheOldOne) {
  const TemporaryFolder folder;
  const std::string path = folder.file("state");
  generated({"-n", "4", "--save-state", path});
  const std::string old = read_file(path);
  ASSERT_GT(old.size(), 1024u);
  const std::string command = "trap '' XFSZ; ulimit -f 1; exec " + shell_word(SOTTO_CLI) + " generate -m " +
                              shell_word(SOTTO_DEMO_MODEL) + " -p x -n 2 --save-state " + shell_word(path);
  const Result result = Program("/bin/sh", {"-c", command}).wait();
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_NE(result.err.find(path + ": "), std::string::npos) << result.err;
  EXPECT_TRUE(read_file(path) == old);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.file("")), {}), 1);
}

TEST(States, WrongStatesAreReported) {
  const TemporaryFolder folder;
  const std::string path = folder.file("state");
  generated({"-n", "4", "--save-state", path});
  const auto load = [&](const std::string& file, const Words& more = {}) {
    Words words = {"--load-state", file, "-n", "4"};
    words.insert(words.end(), more.begin(), more.end());
    return run_on_demo("generate", words);
  };
  expect_refused(load(folder.file("none")), 1, folder.file("none"));
  expect_refused(load(path, {"--ctx", "64"}), 1, path);
  std::string bytes = read_file(path);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  write_file(path, bytes);
  expect_refused(load(path), 1, path);
  write_file(path, bytes.substr(0, 40));
  expect_refused(load(path), 1, path);
  const Result unsaved = run_on_demo("generate", {"-p", "x", "-n", "1", "--save-state", "/"});
  EXPECT_EQ(unsaved.exit_code, 1);
  EXPECT_NE(unsaved.err.find("sotto: /"), std::string::npos) << unsaved.err;
}

}  // namespace
}  // namespace sotto::test
