// Tests `sotto next`: probabilities, stages of the sampler, positions of a text.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/cli/generate_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

const std::string kText = "It was a dark night, and the sea was rough.";
const Words kAllOff = {"--temp", "1", "--top-k", "0", "--top-p", "1", "--min-p", "0"};

json looked(const Words& words) {
  Words all = {"--json", "--seed", "0"};
  all.insert(all.end(), words.begin(), words.end());
  return json_of(run_on_demo("next", all));
}

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(Next, ProbabilitiesAreThoseOfGeneratedTokens) {
  const json position = looked({"-p", kPrompt, "--top", "20"})["positions"][0];
  const json generated_text = generated({"-n", "1", "--logprobs", "20"});
  const json& alternatives = generated_text["alternatives"][0];
  ASSERT_EQ(position["top"].size(), 20u);
  for (size_t i = 0; i < 20; ++i) {
    EXPECT_EQ(position["top"][i]["token"], alternatives[i]["token"]);
    EXPECT_EQ(position["top"][i]["rank"], i + 1);
    const double log_probability = position["top"][i]["log_probability"];
    EXPECT_NEAR(log_probability, alternatives[i]["log_probability"].get<double>(), 1e-4);
    EXPECT_NEAR(position["top"][i]["probability"].get<double>(), std::exp(log_probability), 1e-9);
  }
}

TEST(Next, EntropyFollowsFromAllProbabilities) {
  const json position = looked(with({"-p", kPrompt, "--top", "100000"}, kAllOff))["positions"][0];
  double sum = 0.0, entropy = 0.0;
  for (const json& entry : position["top"]) {
    const double p = entry["probability"];
    sum += p;
    entropy -= p * std::log(p);
    EXPECT_NEAR(entry["sampled_probability"].get<double>(), p, 1e-6);
  }
  EXPECT_NEAR(sum, 1.0, 1e-9);
  EXPECT_NEAR(position["entropy"].get<double>(), entropy, 1e-9);
  EXPECT_NEAR(position["effective_vocabulary"].get<double>(), std::exp(entropy), 1e-6);
}

TEST(Next, StagesFollowTheirDefinitions) {
  const json position = looked({"-p", kPrompt, "--top", "100000", "--by-stage", "--top-k", "50", "--top-p", "0.8",
                                "--min-p", "0.02", "--temp", "0.5"})["positions"][0];
  const json& stages = position["stages"];
  const json& all = position["top"];
  ASSERT_EQ(stages.size(), 4u);
  // top_k: the 50 most likely tokens.
  EXPECT_EQ(stages[0]["stage"], "top_k");
  EXPECT_EQ(stages[0]["kept"], 50);
  double mass = 0.0;
  for (size_t i = 0; i < 50; ++i) mass += all[i]["probability"].get<double>();
  EXPECT_NEAR(stages[0]["mass"].get<double>(), mass, 1e-6);
  // top_p: the shortest list of these with 0.8 of their mass.
  size_t count = 0;
  double kept = 0.0;
  while (kept < 0.8 * mass) kept += all[count++]["probability"].get<double>();
  EXPECT_EQ(stages[1]["stage"], "top_p");
  EXPECT_EQ(stages[1]["kept"], count);
  EXPECT_NEAR(stages[1]["mass"].get<double>(), kept, 1e-6);
  // min_p: tokens with at least 0.02 of the largest probability.
  EXPECT_EQ(stages[2]["stage"], "min_p");
  while (all[count - 1]["probability"].get<double>() < 0.02 * all[0]["probability"].get<double>()) --count;
  EXPECT_EQ(stages[2]["kept"], count);
  // temperature: p^(1/T), normalized.
  double whole = 0.0;
  for (size_t i = 0; i < count; ++i) whole += std::pow(all[i]["probability"].get<double>(), 2);
  EXPECT_EQ(stages[3]["stage"], "temperature");
  ASSERT_EQ(stages[3]["top"].size(), count);
  for (size_t i = 0; i < count; ++i) {
    const double expected = std::pow(all[i]["probability"].get<double>(), 2) / whole;
    EXPECT_NEAR(stages[3]["top"][i]["probability"].get<double>(), expected, 1e-5);
    EXPECT_NEAR(all[i]["sampled_probability"].get<double>(), expected, 1e-5);
  }
  EXPECT_EQ(position["kept"], count);
}

TEST(Next, StagesAreThoseThatAreOn) {
  const auto names = [](const Words& words) {
    Words list;
    const json object = looked(with({"-p", kPrompt, "--by-stage"}, words));
    for (const json& stage : object["positions"][0]["stages"]) {
      list.push_back(stage["stage"]);
    }
    return list;
  };
  EXPECT_EQ(names(kAllOff), Words{});
  EXPECT_EQ(names({"--greedy"}), (Words{"top_k", "top_p", "min_p", "greedy"}));
  EXPECT_EQ(names({"--order", "vllm"}), (Words{"temperature", "min_p", "top_k", "top_p"}));
  EXPECT_EQ(names({"--stages", "top_p,temperature,top_k"}), (Words{"top_p", "temperature", "top_k"}));
  EXPECT_EQ(names(with(kAllOff, {"--repeat-penalty", "1.2", "--suppress-tokens", "5", "--typical", "0.9"})),
            (Words{"suppress", "repetition", "typical"}));
  EXPECT_EQ(names(with(kAllOff, {"--repeat-penalty", "1.2", "--repeat-last-n", "0"})), Words{});
}

TEST(Next, PositionsHaveTheScoresOfTheText) {
  const json positions = looked({"-p", kText, "--all"})["positions"];
  const json scores = json_of(run_on_demo("score", {kText, "--json"}));
  ASSERT_EQ(positions.size(), scores["tokens"].size());
  for (size_t i = 0; i + 1 < positions.size(); ++i) {
    EXPECT_EQ(positions[i]["length"], i + 1);
    EXPECT_EQ(positions[i]["next"]["token"], scores["tokens"][i + 1]);
    EXPECT_NEAR(positions[i]["next"]["log_probability"].get<double>(), scores["log_probabilities"][i + 1].get<double>(),
                1e-4);
    const size_t rank = positions[i]["next"]["rank"];
    if (rank <= positions[i]["top"].size()) {
      EXPECT_EQ(positions[i]["top"][rank - 1]["token"], positions[i]["next"]["token"]);
    }
  }
  EXPECT_FALSE(positions.back().contains("next"));
  // The last position is what a run without --all shows.
  EXPECT_EQ(looked({"-p", kText})["positions"][0], positions.back());
}

TEST(Next, ThePromptCanComeFromFilesAndStandardInput) {
  const json expected = looked({"-p", kText});
  EXPECT_EQ(json_of(run_on_demo("next", {"--json", "--seed", "0"}, kText + "\n")), expected);
  EXPECT_EQ(json_of(run_on_demo("next", {"--json", "--seed", "0", "-p", "-"}, kText)), expected);
  EXPECT_EQ(looked({kText}), expected);
}

TEST(Next, RejectsTextsAndOptionsThatCannotWork) {
  expect_refused(run_on_demo("next", {"-p", "x", "--top", "0"}), 2, "--top");
  expect_refused(run_on_demo("next", {}, ""), 1, "standard input: empty");
  expect_refused(run_on_demo("next", {"-p", kText + kText, "--ctx", "16"}), 1, "tokens do not fit a context of 16");
  expect_refused(run_on_demo("next", {"-p", "x", "--dola", "low"}), 1, "--dola");
  expect_refused(run_on_demo("next", {"x", "-p", "y"}), 2, "--prompt");
}

TEST(Next, FilesAndPipesReceiveNoBarsAndNoColours) {
  const Result result = run_on_demo("next", {"-p", kPrompt, "--by-stage"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out.find("\x1b"), std::string::npos);
  EXPECT_EQ(result.out.find("█"), std::string::npos);
}

// The table of softmax(l / T) for the logits 2.0, 1.0, 0.1 that introductions to temperature print.
TEST(Sample, TemperaturesGiveTheTablesOfTextbooks) {
  const struct {
    double temperature;
    double probabilities[3];
  } kTable[] = {{0.5, {0.864, 0.117, 0.019}}, {1.0, {0.659, 0.242, 0.099}}, {2.0, {0.502, 0.304, 0.194}}};
  for (const auto& row : kTable) {
    const json line = {{"logits", {2.0, 1.0, 0.1}}, {"params", {{"temperature", row.temperature}}}};
    const json kept = json_of(run_sotto({"sample"}, line.dump() + '\n'))["kept"];
    const double sum =
        std::exp(2.0 / row.temperature) + std::exp(1.0 / row.temperature) + std::exp(0.1 / row.temperature);
    for (int token = 0; token < 3; ++token) {
      const double probability = kept[std::to_string(token)];
      const double logit = token == 0 ? 2.0 : token == 1 ? 1.0 : 0.1;
      EXPECT_NEAR(probability, row.probabilities[token], 5.1e-4);
      EXPECT_NEAR(probability, std::exp(logit / row.temperature) / sum, 1e-6);
    }
  }
}

// A nucleus has few tokens where the model is certain and many where it is not, unlike a top-k list.
TEST(Sample, NucleusSizesOfTextbooks) {
  const struct {
    std::vector<double> probabilities;
    double top_p;
    size_t size;
  } kTable[] = {{{0.5, 0.3, 0.1, 0.06, 0.04}, 0.75, 2},
                {{0.92, 0.04, 0.02, 0.01, 0.01}, 0.9, 1},
                {{0.24, 0.21, 0.2, 0.18, 0.17}, 0.9, 5},
                {{0.4, 0.3, 0.15, 0.1, 0.05}, 0.8, 3}};
  for (const auto& row : kTable) {
    const json line = {{"probs", row.probabilities}, {"params", {{"top_p", row.top_p}}}};
    const json kept = json_of(run_sotto({"sample"}, line.dump() + '\n'))["kept"];
    ASSERT_EQ(kept.size(), row.size) << line;
    double mass = 0.0;
    for (size_t i = 0; i < row.size; ++i) mass += row.probabilities[i];
    for (size_t i = 0; i < row.size; ++i) {
      EXPECT_NEAR(kept[std::to_string(i)].get<double>(), row.probabilities[i] / mass, 1e-6);
    }
  }
}

// The guard raises the repetition penalty if a text has repeated itself, also if the loop is not at its end.
TEST(Next, TheGuardFindsTheLoopInsideATextbooksText) {
  const std::string end = "Then the rain came, and they all went home.";
  std::string loop, varied = "A dog ran over the hill to see what was there, but it found no one in the old house. ";
  for (int i = 0; i < 6; ++i) loop += "The cat sat on the mat. ";
  // Returns the probability of the tokens that occurred before.
  const auto seen_mass = [&](const std::string& text, const Words& words) {
    const json ids = ids_of(text);
    const json position = looked(with({"-p", text, "--top", "100000"}, with(kAllOff, words)))["positions"][0];
    double mass = 0.0;
    for (const json& entry : position["top"]) {
      const bool is_seen = std::find(ids.begin(), ids.end(), entry["token"]) != ids.end();
      mass += is_seen ? entry["sampled_probability"].get<double>() : 0.0;
    }
    return mass;
  };
  const Words guard = {"--guard-window", "64"};
  EXPECT_LT(seen_mass(loop + end, guard), 0.8 * seen_mass(loop + end, {}));
  EXPECT_NEAR(seen_mass(varied + end, guard), seen_mass(varied + end, {}), 0.02);
  const auto stop_of = [](const std::string& text) {
    return json_of(run_on_demo("generate", {"-p", text, "-n", "2", "--json", "--greedy", "--repetition-limit", "0.3"}))
        .at("stop");
  };
  EXPECT_EQ(stop_of(loop + end), "repetition");
  EXPECT_EQ(stop_of(varied + end), "max_tokens");
}

}  // namespace
}  // namespace sotto::test
