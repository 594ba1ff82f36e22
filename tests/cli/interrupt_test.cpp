// Tests Ctrl-C while `sotto generate` searches or computes scores.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include "tests/cli/generate_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

// Interrupts a run after a fraction of the time that it takes, for many fractions, and checks its output.
template <typename Check>
void interrupt_at_many_moments(const Words& more, Check check) {
  Words words = {"generate", "-m", SOTTO_DEMO_MODEL, "--seed", "0"};
  words.insert(words.end(), more.begin(), more.end());
  const auto start = Clock::now();
  ASSERT_EQ(run_sotto(words).exit_code, 0);
  const auto time = Clock::now() - start;
  int interrupted = 0;
  for (int tenth = 2; tenth < 10; ++tenth) {
    SCOPED_TRACE(tenth);
    Program program(SOTTO_CLI, words);
    std::this_thread::sleep_for(time * tenth / 10);
    program.interrupt();
    const Result result = program.wait();
    if (result.exit_code == -SIGINT) continue;  // before the handler was installed
    EXPECT_TRUE(result.exit_code == 0 || result.exit_code == 130) << result.exit_code;
    interrupted += result.exit_code == 130 ? 1 : 0;
    check(result);
  }
  EXPECT_GT(interrupted, 0);
}

// Expects numbers below 0, as no token is certain, or "nan" for tokens after Ctrl-C.
void expect_scores(const json& values, bool may_lack) {
  for (const json& value : values) {
    if (may_lack && value == "nan") continue;
    ASSERT_TRUE(value.is_number()) << value;
    EXPECT_LT(value.get<double>(), 0.0);
  }
}

TEST(Interrupts, SearchesThatArePrinted) {
  const Words words = {"-p", "a", "-n", "400", "--ignore-eos", "--num-beams", "8", "--logprobs"};
  interrupt_at_many_moments(words, [](const Result& result) {
    const bool was_cancelled = result.err.find("cancelled") != std::string::npos;
    EXPECT_EQ(was_cancelled, result.exit_code == 130) << result.err;
  });
}

TEST(Interrupts, ScoresOfSequences) {
  const Words words = {"-p", "a", "-n", "300", "--ignore-eos", "--n", "16", "--logprobs", "--json"};
  interrupt_at_many_moments(words, [](const Result& result) {
    const json object = json::parse(result.out);
    EXPECT_EQ(object["stop"] == "cancelled", result.exit_code == 130) << object["stop"];
    for (const json& sequence : object["sequences"]) {
      EXPECT_EQ(sequence["log_probabilities"].size(), sequence["tokens"].size());
      expect_scores(sequence["log_probabilities"], result.exit_code == 130);
    }
  });
}

TEST(Interrupts, ScoresOfThePrompt) {
  std::string prompt;
  for (int i = 0; i < 800; ++i) prompt += "The house was very old. ";
  const Words words = {"-p", prompt, "-n", "1", "--overflow", "ring", "--echo-scores", "--json"};
  interrupt_at_many_moments(words, [](const Result& result) {
    json values = json::parse(result.out)["prompt_log_probabilities"];
    EXPECT_EQ(values[0], "nan");
    values.erase(0);
    expect_scores(values, result.exit_code == 130);
  });
}

}  // namespace
}  // namespace sotto::test
