// Tests speculation on the command line: the text, log probabilities and states do not change, and figures report the
// drafts.
#include "tests/cli/generate_support.h"

namespace sotto::test {
namespace {

nlohmann::json without_timings(nlohmann::json run) {
  for (const char* name : {"timings", "memory", "speculation"}) run.erase(name);
  run["parameters"].erase("draft");
  return run;
}

TEST(Draft, EverySourceGivesTheSameText) {
  const std::vector<Words> modes = {
      {"-n", "60", "--greedy", "--logprobs", "2"},
      {"-n", "60", "--seed", "3", "--logprobs", "2", "--repeat-penalty", "1.2"},
      {"-n", "60", "--seed", "4", "--banned-string", "the ", "--stop", "said", "--mirostat", "2"},
      {"-n", "90", "--seed", "5", "--ctx", "48", "--overflow", "shift"},
  };
  for (const Words& mode : modes) {
    const auto plain = without_timings(generated(mode));
    for (const Words& draft : {Words{"--draft", "lookup"}, Words{"--draft", "lookahead"},
                               Words{"--draft", "early-exit"}, Words{"--draft", SOTTO_DEMO_MODEL},
                               Words{"--draft", "lookup", "--draft", "lookahead", "--draft-tokens", "15"}}) {
      Words all = mode;
      all.insert(all.end(), draft.begin(), draft.end());
      SCOPED_TRACE(joined(all));
      const auto run = generated(all);
      EXPECT_EQ(without_timings(run), plain);
      EXPECT_LE(run["speculation"]["accepted"], run["speculation"]["proposed"]);
      EXPECT_EQ(run["parameters"]["draft"]["sources"][0], draft[1]);
    }
  }
}

TEST(Draft, DraftsOfTheSameModelAreAlwaysAccepted) {
  const auto run = generated({"-n", "60", "--seed", "3", "--draft", SOTTO_DEMO_MODEL});
  // A draft costs as much as it saves, so drafts are tried only occasionally.
  EXPECT_GE(run["speculation"]["proposed"], 3);
  EXPECT_EQ(run["speculation"]["accepted"], run["speculation"]["proposed"]);
}

TEST(Draft, TextThatTheGrammarForcesIsDrafted) {
  const Words words = {"-n", "60",        "--seed",
                       "1",  "--choices", "the old house by the river,the young man from the town"};
  Words without = words;
  without.insert(without.end(), {"--draft-tokens", "0"});
  const auto run = generated(words);
  EXPECT_EQ(without_timings(run)["text"], generated(without)["text"]);
  EXPECT_GT(run["speculation"]["forced_accepted"], 2);
}

TEST(Draft, HasTheNamesOfTransformers) {
  const nlohmann::json expected = generated({"-n", "20", "--draft", "lookup", "--draft-tokens", "5"});
  const nlohmann::json found = generated({"-n", "20", "--prompt_lookup_num_tokens", "5"});
  EXPECT_EQ(found["parameters"], expected["parameters"]);
  EXPECT_EQ(found["text"], expected["text"]);
  const nlohmann::json assisted = generated({"-n", "20", "--assistant_model", SOTTO_DEMO_MODEL});
  EXPECT_EQ(assisted["parameters"]["draft"]["sources"], nlohmann::json::array({SOTTO_DEMO_MODEL}));
  EXPECT_EQ(assisted["text"], expected["text"]);
}

TEST(Draft, WrongOptionsAreRejected) {
  expect_usage_error({"--draft-min-match", "3"}, "--draft-min-match");
  expect_usage_error({"--draft", "lookup", "--draft-tokens", "16"}, "--draft-tokens");
  expect_usage_error({"--draft", "lookup", "--draft-tokens", "0"}, "--draft-tokens");
  expect_usage_error({"--draft", "lookup", "--num-beams", "3"}, "--draft");
  expect_usage_error({"--draft", "a.sotto", "--draft", "b.sotto"}, "b.sotto");
  expect_refused(run_on_demo("generate", {"-p", kPrompt, "--draft", "none.sotto"}), 1, "none.sotto");
  expect_refused(run_on_demo("generate", {"-p", kPrompt, "--draft", "lookup", "--draft-min-match", "9"}), 1,
                 "--draft-min-match");
}

TEST(Draft, TimingsShowAcceptedDrafts) {
  const Result result = run_on_demo("generate", {"-p", kPrompt, "-n", "20", "--draft", "lookup"});
  EXPECT_NE(result.err.find("drafts"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace sotto::test
