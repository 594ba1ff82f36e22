// Tests invalid options of `sotto generate`: a usage error names one of them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/generate_support.h"

namespace sotto::test {
namespace {

TEST(WrongOptions, AreRejectedWithoutTheOptionTheyNeed) {
  const std::vector<Words> cases = {{"--temp-exponent", "2"},
                                    {"--smoothing-curve", "2"},
                                    {"--xtc-threshold", "0.2"},
                                    {"--top-p-decay", "0.9"},
                                    {"--top-p-min", "0.1", "--top-p", "0.9"},
                                    {"--top-p-reset", "11", "--top-p", "0.9"},
                                    {"--repeat-last-n", "9"},
                                    {"--no-penalize-prompt"},
                                    {"--penalty-slope", "1"},
                                    {"--dry-base", "2"},
                                    {"--dry-allowed-length", "3"},
                                    {"--dry-window", "9"},
                                    {"--dry-breaker", "x"},
                                    {"--dry-breaker-token", "3"},
                                    {"--guard-penalty", "2"},
                                    {"--mirostat-tau", "3"},
                                    {"--mirostat-eta", "0.2"},
                                    {"--mirostat-m", "50", "--mirostat", "2"},
                                    {"--mirostat-tau", "3", "--selection", "gumbel"},
                                    {"--adaptive-decay", "0.5"},
                                    {"--dola-relative-top", "0.2"},
                                    {"--end-decay-start", "3"},
                                    {"--watermark-key", "3"},
                                    {"--watermark-gamma", "0.5"},
                                    {"--watermark-delta", "1", "--watermark", "gumbel"},
                                    {"--watermark-layers", "3", "--watermark", "lefthash"},
                                    {"--include-stop"},
                                    {"--repetition-limit-window", "16"},
                                    {"--num-beam-groups", "2"},
                                    {"--diversity-penalty", "1", "--num-beams", "2"},
                                    {"--force-phrase", "x"},
                                    {"--force-phrase", "x", "--num-beams", "1"},
                                    {"--early-stopping", "never"},
                                    {"--length-penalty", "1"},
                                    {"--length-penalty", "2", "--num-beams", "1"},
                                    {"--length-norm", "gnmt", "--num-beams", "1"},
                                    {"--draft-tokens", "3"},
                                    {"--draft-tokens", "3", "--n", "2"},
                                    {"--draft-exit-layer", "2"},
                                    {"--draft-exit-layer", "2", "--draft", "lookup"},
                                    {"--draft-threshold", "0.5", "--draft", "lookup"},
                                    {"--draft-min-match", "3", "--draft", "early-exit"},
                                    {"--draft-max-match", "3", "--draft", "lookahead"},
                                    {"--vote", "exact"},
                                    {"--contrast-alpha", "0.2"},
                                    {"--contrast-beta", "0.2", "--guidance-scale", "2"}};
  for (const Words& words : cases) expect_usage_error(words, words[0]);
}

TEST(WrongOptions, CombinationsWithoutMeaningAreRejected) {
  const std::vector<Words> cases = {{"--mirostat", "2", "--selection", "gumbel"},
                                    {"--mirostat", "2", "--greedy"},
                                    {"--adaptive-p", "0.3", "--selection", "gumbel"},
                                    {"--greedy", "--temp", "0.5"},
                                    {"--greedy", "--do-sample"},
                                    {"--temp", "0", "--mirostat", "2"},
                                    {"--length-penalty", "2", "--best-of", "4", "--vote", "exact"},
                                    {"--temp", "0", "--selection", "mirostat"},
                                    {"--do-sample", "--penalty-alpha", "0.5"},
                                    {"--min-keep", "4", "--num-beams", "3"},
                                    {"--force-phrase", "[]", "--num-beams", "3"},
                                    {"--stages", "top_k", "--order", "hf"},
                                    {"--contrastive-model", "x", "--guidance-scale", "2"},
                                    {"--token-healing", "--negative-prompt", "x"},
                                    {"--num-beams", "4", "--best-of", "4"},
                                    {"--num-beams", "4", "--penalty-alpha", "0.5"},
                                    {"--n", "5", "--num-beams", "4"},
                                    {"--num-beam-groups", "3", "--num-beams", "4"},
                                    {"--temp", "0.7", "--num-beams", "4"},
                                    {"--top-k", "7", "--num-beams", "4"},
                                    {"--xtc-probability", "0.5", "--num-beams", "4"},
                                    {"--selection", "gumbel", "--num-beams", "4"},
                                    {"--do-sample", "--num-beams", "4", "--num-beam-groups", "2"},
                                    {"--n", "3", "--greedy"},
                                    {"--best-of", "3", "--temp", "0"},
                                    {"--n", "3", "--best-of", "2"},
                                    {"--penalty-alpha", "0.5", "--n", "2"},
                                    {"--top-p", "0.5", "--penalty-alpha", "0.5"},
                                    {"--top-k", "1", "--penalty-alpha", "0.5"},
                                    {"--banned-string", "x", "--num-beams", "4"},
                                    {"--banned-string", "x", "--n", "2"},
                                    {"--token-healing", "--n", "2"},
                                    {"--token-healing", "--best-of", "2"},
                                    {"--guidance-scale", "2", "--n", "2"},
                                    {"--logprobs", "3", "--n", "2"},
                                    {"--max-tokens", "-1", "--num-beams", "2"},
                                    {"--max-tokens", "0", "--n", "2"},
                                    {"--load-state", "x", "--guidance-scale", "2"}};
  for (const Words& words : cases) {
    SCOPED_TRACE(joined(words));
    Words all = {"-p", kPrompt};
    all.insert(all.end(), words.begin(), words.end());
    expect_refused(run_on_demo("generate", all), 2, words[0]);
  }
  expect_refused(run_on_demo("generate", {"--load-state", "x", "--token-healing"}), 2, "--token-healing");
}

TEST(WrongOptions, WrongValuesAreRejected) {
  const std::vector<Words> cases = {{"--mirostat", "3"},
                                    {"--selection", "best"},
                                    {"--order", "random"},
                                    {"--stages", "top_k,top_x"},
                                    {"--stages", ""},
                                    {"--watermark", "blue"},
                                    {"--dola", "middle"},
                                    {"--vote", "random", "--n", "2"},
                                    {"--length-norm", "log", "--num-beams", "2"},
                                    {"--early-stopping", "maybe", "--num-beams", "2"},
                                    {"--num-beams", "0"},
                                    {"--num-beams", "65"},
                                    {"--n", "65"},
                                    {"--best-of", "0"},
                                    {"--max-time", "-1"},
                                    {"--stop", ""},
                                    {"--banned-string", ""},
                                    {"--stop", "\"\\x\""},
                                    {"--logit-bias", "the"},
                                    {"--logit-bias", "the=much"},
                                    {"--logit-bias", "{1}"},
                                    {"--logit-bias", "{\"1\":\"x\"}"},
                                    {"--sequence-bias", "=1"},
                                    {"--dry-window", "-2", "--dry-multiplier", "1"}};
  for (const Words& words : cases) expect_usage_error(words, words[0]);
}

TEST(WrongOptions, AreReportedAsSpelledByTheUser) {
  expect_usage_error({"--watermark", "x"}, "--watermark: ");
  expect_usage_error({"--dola", "x"}, "--dola: ");
  expect_usage_error({"--any-json", "--json-space", "x"}, "--json-space: ");
}

TEST(WrongOptions, WrongNumbersAreRejected) {
  const std::string beyond = "18446744073709551616";
  const std::vector<Words> cases = {{"--temp", ""},
                                    {"--top-k", ""},
                                    {"--top-k", "7x"},
                                    {"--top-k", "4294967296"},
                                    {"--top-k", "0x7"},
                                    {"--max-tokens", ""},
                                    {"--max-tokens", "9223372036854775808"},
                                    {"--max-tokens", "99999999999999999999"},
                                    {"--threads", ""},
                                    {"--repeat-last-n", ""},
                                    {"--mirostat", ""},
                                    {"--watermark-key", "", "--watermark", "gumbel"},
                                    {"--watermark-key", "-1", "--watermark", "gumbel"},
                                    {"--watermark-key", beyond, "--watermark", "gumbel"},
                                    {"--seed", ""},
                                    {"--seed", beyond}};
  for (const Words& words : cases) expect_usage_error(words, words[0] + ": ");
  EXPECT_EQ(generated({"-n", "1", "--top-k", "010"})["parameters"]["top_k"], 10);
  EXPECT_EQ(generated({"-n", "007"})["tokens"].size(), 7u);
}

TEST(WrongOptions, EmptyFileNamesAreRejected) {
  for (const char* option : {"--load-state", "--save-state", "--contrastive-model", "--draft", "--grammar",
                             "--json-schema", "--tools", "--model"}) {
    expect_usage_error({option, ""}, std::string(option) + ": the name of the file is empty");
  }
  const std::string file = "--file: the name of the file is empty";
  expect_refused(run_on_demo("generate", {"-f", "", "-n", "1"}), 2, file);
  expect_refused(run_on_demo("score", {"-f", ""}, "It was a dark night"), 2, file);
  expect_refused(run_sotto({"detect", "-m", "", "x"}), 2, "--model");
  expect_refused(run_sotto({"sample", "--jsonl", "-m", ""}), 2, "--model");
  expect_refused(run_sotto({"inspect", ""}), 2, "MODEL");
}

// Values that can be checked only by the library or with the model.
TEST(WrongOptions, ValuesOutOfRangeAreRejected) {
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"--typical-p", "0"}, "typical_p"},
      {{"--top-a", "2"}, "top_a"},
      {{"--tail-free", "0"}, "tail_free"},
      {{"--epsilon", "1"}, "epsilon"},
      {{"--eta", "-0.1"}, "eta"},
      {{"--top-n-sigma", "-1"}, "top_n_sigma"},
      {{"--top-h", "0"}, "top_h"},
      {{"--xtc-probability", "2"}, "xtc_probability"},
      {{"--frequency-penalty", "101"}, "frequency_penalty"},
      {{"--presence-penalty", "nan"}, "presence_penalty"},
      {{"--dry-multiplier", "-1"}, "dry_multiplier"},
      {{"--guard-window", "5000000"}, "guard_window"},
      {{"--temp-range", "-1"}, "temperature_range"},
      {{"--smoothing-factor", "101"}, "smoothing_factor"},
      {{"--min-keep", "0"}, "min_keep"},
      {{"--mirostat", "2", "--mirostat-tau", "0"}, "mirostat_tau"},
      {{"--selection", "adaptive_p"}, "--adaptive-p is not set"},
      {{"--adaptive-p", "2"}, "adaptive_target"},
      {{"--watermark", "lefthash", "--watermark-gamma", "1"}, "gamma"},
      {{"--watermark", "selfhash", "--watermark-context", "17"}, "context_width"},
      {{"--repetition-limit", "2"}, "repetition_limit"},
      {{"--guidance-scale", "-1"}, "scale"},
      {{"--logprobs", "65"}, "alternative_count"},
      {{"--any-json", "--max-digits", "500"}, "--max-digits is 500"},
      {{"--num-beams", "2", "--length-penalty", "11"}, "length_penalty"},
      {{"--num-beams", "2", "--num-beam-groups", "2", "--diversity-penalty", "101"}, "diversity_penalty"},
      {{"--penalty-alpha", "2"}, "contrastive_alpha"},
      {{"--suppress-tokens", "99999"}, "--suppress-tokens"},
      {{"--forced-last-token", "two tokens"}, "--forced-last-token"},
      {{"--logit-bias", " unbelievably=1"}, "--logit-bias"},
      {{"--stop-token", "two tokens"}, "--stop-token"}};
  for (const auto& [words, part] : cases) {
    SCOPED_TRACE(joined(words));
    Words all = {"-p", kPrompt, "-n", "4"};
    all.insert(all.end(), words.begin(), words.end());
    // The message begins with the option, or with the parameter if several options set it.
    const Result result = run_on_demo("generate", all);
    std::string named = part;
    for (const std::string& word : words) {
      if (word.starts_with("--") && result.err.starts_with("sotto: " + word)) named = word;
    }
    expect_refused(result, 1, named);
  }
}

}  // namespace
}  // namespace sotto::test
