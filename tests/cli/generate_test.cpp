// Tests `sotto generate` on the demo model.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/program.h"

namespace sotto::test {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

const std::string kPrompt = "Once upon a time";

// Returns the text of 24 tokens after the prompt, sampled with `more` arguments.
std::string continuation(const Words& more) {
  Words words = {"-p", kPrompt, "-n", "24", "-q", "--no-echo"};
  words.insert(words.end(), more.begin(), more.end());
  const Result result = run_on_demo("generate", words);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  return result.out;
}

json generate_json(const Words& words, const std::string& input = "") {
  Words all = words;
  all.push_back("--json");
  return json_of(run_on_demo("generate", all, input));
}

TEST(Generate, EchoesThePromptThenContinuesIt) {
  const Result result = run_on_demo("generate", {"-p", kPrompt, "-n", "24", "-q"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.err, "");
  const std::string text = continuation({});
  EXPECT_GT(text.size(), 24u);
  EXPECT_EQ(result.out, kPrompt + text);
  EXPECT_EQ(result.out.back(), '\n');
}

TEST(Generate, SeedDecidesTheText) {
  EXPECT_EQ(continuation({"--seed", "7"}), continuation({"--seed", "7"}));
  EXPECT_NE(continuation({"--seed", "7"}), continuation({"--seed", "8"}));
  EXPECT_EQ(continuation({"--greedy", "--seed", "7"}), continuation({"--temp", "0"}));
}

TEST(Generate, ThreadsBatchesAndInstructionSetsDoNotChangeTheText) {
  const std::string text = continuation({});
  EXPECT_EQ(continuation({"--threads", "2"}), text);
  EXPECT_EQ(continuation({"--threads", "0"}), text);
  EXPECT_EQ(continuation({"--batch", "1"}), text);
  EXPECT_EQ(continuation({"--batch", "3", "--threads", "2"}), text);
  EXPECT_EQ(continuation({"--isa", "reference"}), text);
}

TEST(Generate, NoMmapCopiesWeights) {
  const json mapped = generate_json({"-p", kPrompt, "--isa", "reference", "-n", "8"});
  const json copied = generate_json({"-p", kPrompt, "--isa", "reference", "-n", "8", "--no-mmap"});
  EXPECT_EQ(copied["tokens"], mapped["tokens"]);
  EXPECT_GT(copied["memory"]["model_bytes"], 4 << 20);
  EXPECT_LT(mapped["memory"]["model_bytes"], 1 << 16);
}

TEST(Generate, ReadsThePromptFromStandardInputAndFiles) {
  const json expected = generate_json({"-p", kPrompt, "-n", "8"});
  const json from_input = generate_json({"-p", "-", "-n", "8"}, kPrompt + "\n");
  EXPECT_EQ(from_input["prompt"], kPrompt);
  EXPECT_EQ(from_input["tokens"], expected["tokens"]);
  const TemporaryFolder folder;
  write_file(folder.file("prompt.txt"), kPrompt);
  const json from_file = generate_json({"-f", folder.file("prompt.txt"), "-n", "8"});
  EXPECT_EQ(from_file["tokens"], expected["tokens"]);
}

TEST(Generate, JsonHasTextTokensTimingsAndParameters) {
  const json object = generate_json({"-p", kPrompt, "-n", "24", "--seed", "3"});
  EXPECT_EQ(object["text"].get<std::string>() + "\n", continuation({"--seed", "3"}));
  EXPECT_EQ(object["tokens"].size(), 24u);
  EXPECT_EQ(object["stop"], "max_tokens");
  EXPECT_EQ(object["parameters"]["seed"], 3);
  EXPECT_EQ(object["parameters"]["temperature"], 0.8);
  EXPECT_EQ(object["timings"]["prefill"]["tokens"], object["prompt_tokens"].size());
  EXPECT_GT(object["timings"]["first_token_seconds"].get<double>(), 0.0);
  EXPECT_GT(object["memory"]["session_bytes"], object["memory"]["kv_bytes"]);

  Words ids = {"--decode"};
  for (const json& id : object["tokens"]) ids.push_back(id.dump());
  EXPECT_EQ(run_on_demo("tokenize", ids).out, object["text"].get<std::string>());
}

TEST(Generate, LogProbabilitiesAreReportedPerToken) {
  const json object = generate_json({"-p", kPrompt, "-n", "12", "--logprobs", "--greedy"});
  ASSERT_EQ(object["log_probabilities"].size(), 12u);
  for (const json& value : object["log_probabilities"]) {
    EXPECT_LE(value.get<double>(), 0.0);
    EXPECT_GT(value.get<double>(), -12.0);  // a greedy choice has at least the probability 1/vocabulary
  }
  const Result lines = run_on_demo("generate", {"-p", kPrompt, "-n", "12", "--logprobs", "--greedy", "-q"});
  EXPECT_EQ(std::count(lines.out.begin(), lines.out.end(), '\n'), 12);
}

TEST(Generate, NoTokensGiveAnEmptyText) {
  const json object = generate_json({"-p", kPrompt, "-n", "0"});
  EXPECT_EQ(object["text"], "");
  EXPECT_EQ(object["tokens"], json::array());
  EXPECT_EQ(object["stop"], "max_tokens");
  EXPECT_TRUE(object["timings"]["first_token_seconds"].is_null());
}

TEST(Generate, AnEmptyPromptIsRejectedWithTheWayToStartANewText) {
  expect_refused(run_on_demo("generate", {"-p", "", "-n", "4"}), 1, "prompt: empty; ");
  expect_refused(run_on_demo("generate", {"-p", "-", "-n", "4"}, "\n"), 1, "standard input: empty; ");
  const json model = json_of(run_sotto({"inspect", "--json", SOTTO_DEMO_MODEL}));
  const json special = generate_json({"-p", "<|endoftext|>", "--parse-special", "-n", "4"});
  EXPECT_EQ(special["prompt_tokens"], json::array({model["end_of_text_token"]}));
}

TEST(Generate, SpellingsOfOtherProgramsAreAccepted) {
  const Words ours = {"-p",      kPrompt, "-n",         "9",    "--temp",           "1.1", "--top-k",         "9",
                      "--top-p", "0.9",   "--min-p",    "0.01", "--repeat-penalty", "1.3", "--repeat-last-n", "-1",
                      "--ctx",   "64",    "--overflow", "ring", "--sink-tokens",    "2"};
  const Words theirs = {
      "-p",        kPrompt, "--max_new_tokens", "9",    "--temperature",        "1.1", "--top_k",         "9",
      "--top_p",   "0.9",   "--min_p",          "0.01", "--repetition_penalty", "1.3", "--repeat_last_n", "-1",
      "--num_ctx", "64",    "--overflow",       "ring", "--num_keep",           "2"};
  const json expected = generate_json(ours);
  const json object = generate_json(theirs);
  EXPECT_EQ(object["parameters"], expected["parameters"]);
  EXPECT_EQ(object["tokens"], expected["tokens"]);
  EXPECT_EQ(object["parameters"]["sink_tokens"], 2);
  EXPECT_EQ(object["parameters"]["repetition_window"], 4294967295u);
}

TEST(Generate, FullContextStopsOrContinues) {
  const json stopped = generate_json({"-p", kPrompt, "-n", "-1", "--ctx", "16", "--greedy"});
  EXPECT_EQ(stopped["stop"], "context_full");
  EXPECT_LE(stopped["tokens"].size() + stopped["prompt_tokens"].size(), 17u);
  for (const char* overflow : {"ring", "shift"}) {
    const json object = generate_json({"-p", kPrompt, "-n", "100", "--ctx", "16", "--overflow", overflow, "--greedy"});
    EXPECT_EQ(object["stop"], "max_tokens") << overflow;
    EXPECT_EQ(object["tokens"].size(), 100u) << overflow;
  }
}

TEST(Generate, TimingsOnStandardError) {
  const Result result = run_on_demo("generate", {"-p", kPrompt, "-n", "8"});
  for (const char* part : {"prefill", "decode", "sample ", "tok/s", "first token", "memory", "max_tokens"}) {
    EXPECT_NE(result.err.find(part), std::string::npos) << part << " in " << result.err;
  }
}

// Starts an endless generation, waits until it prints, and presses Ctrl-C.
Result interrupted(const Words& more) {
  Words words = {"generate", "-m", SOTTO_DEMO_MODEL, "-p", kPrompt, "-n", "-1", "--overflow", "ring", "--ignore-eos"};
  words.insert(words.end(), more.begin(), more.end());
  Program program(SOTTO_CLI, words);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (program.output_size() <= kPrompt.size() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  program.interrupt();
  return program.wait();
}

TEST(Generate, InterruptEndsCleanlyWithTimings) {
  const Result result = interrupted({"--repeat-penalty", "1.2"});
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.out.rfind(kPrompt, 0), 0u);
  EXPECT_EQ(result.out.back(), '\n');
  EXPECT_NE(result.err.find("cancelled"), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("tok/s"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace sotto::test
