// Tests `sotto generate` on the demo model.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/generate_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

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

TEST(Generate, StatisticsAreReportedPerToken) {
  const json object = generate_json({"-p", kPrompt, "-n", "12", "--statistics", "--top-k", "7", "--temp", "1"});
  for (const char* name : {"entropy", "effective_vocabulary", "kept", "repetitiveness"}) {
    ASSERT_EQ(object[name].size(), 12u) << name;
  }
  for (size_t i = 0; i < 12; ++i) {
    const double entropy = object["entropy"][i];
    EXPECT_NEAR(object["effective_vocabulary"][i].get<double>(), std::exp(entropy), 1e-3 * std::exp(entropy));
    EXPECT_LE(object["kept"][i], 7);
    EXPECT_GE(object["kept"][i], 1);
    EXPECT_LT(object["repetitiveness"][i].get<double>(), 0.5);
  }
  const json loop = generate_json({"-p", "on and on and on and on and on and", "-n", "1", "--statistics", "--greedy"});
  EXPECT_GT(loop["repetitiveness"][0].get<double>(), 0.5);
  EXPECT_EQ(loop["kept"][0], 1);
  expect_refused(run_on_demo("generate", {"-p", kPrompt, "--statistics"}), 2, "--json");
  expect_refused(run_on_demo("generate", {"-p", kPrompt, "--json", "--statistics", "--num-beams", "2"}), 2,
                 "--statistics: is not available for several sequences");
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
  Words words = {"generate", "-m", SOTTO_DEMO_MODEL, "--seed", "0",           "-p", kPrompt,
                 "-n",       "-1", "--overflow",     "ring",   "--ignore-eos"};
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

TEST(Generate, TheSeedIsRandomAndRepeatsTheText) {
  const Words words = {"generate", "-m", SOTTO_DEMO_MODEL, "-p", kPrompt, "-n", "30", "--temp", "1.2"};
  const auto run = [&](const Words& more) {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    return run_sotto(all);
  };
  const json first = json_of(run({"--json"})), second = json_of(run({"--json"}));
  EXPECT_NE(first["parameters"]["seed"], second["parameters"]["seed"]);
  EXPECT_NE(first["text"], second["text"]);
  EXPECT_EQ(json_of(run({"--json", "--seed", first["parameters"]["seed"].dump()}))["text"], first["text"]);
  const Result shown = run({});
  const std::string label = "the seed was ";
  ASSERT_NE(shown.err.find(label), std::string::npos) << shown.err;
  std::string seed = shown.err.substr(shown.err.find(label) + label.size());
  seed.pop_back();  // the line end
  EXPECT_EQ(run({"-q", "--seed", seed}).out, shown.out);
}

TEST(Generate, EscapesInThePromptAreReplacedOnRequest) {
  const auto prompt = [](const Words& words) {
    Words all = {"-n", "1", "--greedy", "--json"};
    all.insert(all.end(), words.begin(), words.end());
    return json_of(run_on_demo("generate", all))["prompt"];
  };
  const std::string written = R"(a\nb\tc\\n\x41\'\q\x4)";
  EXPECT_EQ(prompt({"-p", written}), written);
  EXPECT_EQ(prompt({"-e", "-p", written}), "a\nb\tc\\nA'\\q\\x4");
  EXPECT_EQ(prompt({"--escape", "-p", "end\\"}), "end\\");
}

TEST(Generate, LengthsIncludeThePromptAsInTransformers) {
  const size_t prompt_size = ids_of(kPrompt).size();
  const auto total = std::to_string(prompt_size + 7);
  EXPECT_EQ(generated({"--max-length", total, "--ignore-eos"})["tokens"].size(), 7u);
  const json beams = generated({"--max-length", total, "--ignore-eos", "--num-beams", "2"});
  EXPECT_EQ(beams["tokens"].size(), 7u);
  EXPECT_EQ(beams["parameters"]["max_tokens"], 7);
  EXPECT_EQ(generated({"-n", "1", "--min-length", total})["parameters"]["min_new_tokens"], 7);
  EXPECT_EQ(generated({"-n", "1", "--min-length", "1"})["parameters"]["min_new_tokens"], 0);
  expect_refused(run_on_demo("generate", {"-p", kPrompt, "--max-length", std::to_string(prompt_size)}), 1,
                 "--max-length is ");
  expect_usage_error({"--max-length", total}, "--max-length: cannot be combined with --max-tokens");
}

}  // namespace
}  // namespace sotto::test
