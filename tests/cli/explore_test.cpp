// Tests `sotto explore`: settings, samples and ranges, against computations from the probabilities of `sotto next`.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/cli/generate_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

json explored(const Words& words) {
  Words all = {"--json", "--seed", "3", "-p", kPrompt, "--top", "100000"};
  all.insert(all.end(), words.begin(), words.end());
  return json_of(run_on_demo("explore", all));
}

// Returns the probabilities of the next token under the model, most likely first.
std::vector<double> model_probabilities() {
  const json next = json_of(run_on_demo("next", {"-p", kPrompt, "--json", "--top", "100000"}));
  std::vector<double> probabilities;
  for (const json& entry : next["positions"][0]["top"]) probabilities.push_back(entry["probability"]);
  return probabilities;
}

double entropy_of(const std::vector<double>& weights) {
  double sum = 0.0, entropy = 0.0;
  for (const double weight : weights) sum += weight;
  for (const double weight : weights) entropy -= weight > 0 ? weight / sum * std::log(weight / sum) : 0.0;
  return entropy;
}

std::vector<double> at_temperature(std::vector<double> probabilities, double temperature) {
  for (double& p : probabilities) p = std::pow(p, 1 / temperature);
  return probabilities;
}

TEST(Explore, EachSettingAloneChangesTheDistributionOfTheModel) {
  const std::vector<double> all = model_probabilities();
  const json settings = explored({"--samples", "0", "--temps", "0.5,2", "--with", "--top-k 7", "--with",
                                  "--top-p 0.6 --temp 2", "--with", "--min-p 0.1"})["settings"];
  ASSERT_EQ(settings.size(), 7u);
  const auto expect = [&](size_t index, const std::string& name, size_t kept, double temperature) {
    SCOPED_TRACE(name);
    const json& setting = settings[index];
    const std::vector<double> first(all.begin(), all.begin() + static_cast<ptrdiff_t>(kept));
    double mass = 0.0;
    for (const double p : first) mass += p;
    const std::vector<double> weights = at_temperature(first, temperature);
    double sum = 0.0;
    for (const double weight : weights) sum += weight;
    EXPECT_EQ(setting["setting"], name);
    EXPECT_EQ(setting["kept"], kept);
    EXPECT_NEAR(setting["mass"].get<double>(), mass, 1e-5);
    EXPECT_NEAR(setting["entropy"].get<double>(), entropy_of(weights), 1e-3);
    EXPECT_NEAR(setting["effective_vocabulary"].get<double>(), std::exp(setting["entropy"].get<double>()), 1e-3);
    ASSERT_EQ(setting["top"].size(), kept);
    for (size_t i = 0; i < std::min<size_t>(kept, 20); ++i) {
      EXPECT_NEAR(setting["top"][i]["probability"].get<double>(), weights[i] / sum, 1e-5);
    }
  };
  size_t nucleus = 0;
  for (double sum = 0.0; sum < 0.6; ++nucleus) sum += all[nucleus];
  const auto likely = std::count_if(all.begin(), all.end(), [&](double p) { return p >= 0.1 * all[0]; });
  expect(0, "model", all.size(), 1.0);
  expect(1, "--temp 0.5", all.size(), 0.5);
  expect(2, "--temp 2", all.size(), 2.0);
  expect(3, "--top-k 7", 7, 1.0);
  expect(4, "--top-p 0.6 --temp 2", nucleus, 2.0);
  expect(5, "--min-p 0.1", static_cast<size_t>(likely), 1.0);
}

TEST(Explore, TheLastLineHasAllOptions) {
  const Words options = {"--top-k", "12", "--temp", "0.7", "--suppress-tokens", "11"};
  const json last = explored(options)["settings"].back();
  Words words = {"-p", kPrompt, "--json", "--top", "100000", "--by-stage"};
  words.insert(words.end(), options.begin(), options.end());
  const json stage = json_of(run_on_demo("next", words))["positions"][0]["stages"].back();
  EXPECT_EQ(last["setting"], "all options");
  for (const char* name : {"kept", "entropy", "effective_vocabulary", "mass", "top"}) {
    EXPECT_EQ(last[name], stage[name]) << name;
  }
}

TEST(Explore, SamplesAreTheTextsOfGenerate) {
  const json samples = explored({"--temps", "0,0.9", "--samples", "2", "-n", "9", "--top-k", "20"})["samples"];
  ASSERT_EQ(samples.size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const std::string temperature = i < 2 ? "0" : "0.9";
    const std::string seed = std::to_string(3 + i % 2);
    const json expected = generated({"-n", "9", "--temp", temperature, "--seed", seed, "--top-k", "20"});
    EXPECT_EQ(samples[i]["text"], expected["text"]);
    EXPECT_EQ(samples[i]["tokens"], expected["tokens"]);
    EXPECT_EQ(std::to_string(samples[i]["seed"].get<int>()), seed);
  }
  EXPECT_EQ(samples[0]["text"], samples[1]["text"]);
  EXPECT_NE(samples[2]["text"], samples[3]["text"]);
}

TEST(Explore, RangesFollowTheirRules) {
  const std::vector<double> all = model_probabilities();
  const json ranges = explored({"--samples", "0"})["ranges"];
  const double third = ranges["focused"]["temperature"][1];
  const double two_thirds = ranges["balanced"]["temperature"][1];
  EXPECT_NEAR(entropy_of(at_temperature(all, third)), entropy_of(all) / 3, 1e-3);
  EXPECT_NEAR(entropy_of(at_temperature(all, two_thirds)), entropy_of(all) * 2 / 3, 1e-3);
  EXPECT_EQ(ranges["focused"]["temperature"][0], 0.0);
  EXPECT_EQ(ranges["balanced"]["temperature"][0], third);
  EXPECT_EQ(ranges["varied"]["temperature"], json({two_thirds, 1.0}));
  const json& truncation = ranges["truncation"];
  for (const int end : {0, 1}) {
    size_t count = 0;
    for (double sum = 0.0; sum < (end == 0 ? 0.8 : 0.95); ++count) sum += all[count];
    EXPECT_EQ(truncation["top_k"][end], count);
    EXPECT_NEAR(truncation["min_p"][1 - end].get<double>(), all[count - 1] / all[0], 1e-9);
  }
}

TEST(Explore, OptionsInQuotesKeepTheirSpaces) {
  const json settings = explored({"--samples", "0", "--temps", "1", "--with", "--suppress-tokens ' of'"})["settings"];
  const json of = ids_of(" of");
  ASSERT_EQ(of.size(), 1u);
  const auto has_of = [&](const json& setting) {
    return std::any_of(setting["top"].begin(), setting["top"].end(),
                       [&](const json& entry) { return entry["token"] == of[0]; });
  };
  EXPECT_TRUE(has_of(settings[1]));
  EXPECT_FALSE(has_of(settings[2]));
}

TEST(Explore, BytesThatAreNotUtf8AreShownAsNumbers) {
  const Result result =
      run_on_demo("explore", {"--ids", "0", "--samples", "1", "-n", "3", "--top", "4096", "--seed", "1"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_NE(result.out.find("\\x"), std::string::npos);
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos);
}

TEST(Explore, RejectsTextsAndOptionsThatCannotWork) {
  expect_refused(run_on_demo("explore", {"-p", "x", "--top", "0"}), 2, "--top");
  expect_refused(run_on_demo("explore", {"-p", "x", "--temps", ""}), 2, "--temps");
  expect_refused(run_on_demo("explore", {"-p", "x", "--temps", "0.5,warm"}), 2, "\"warm\" is not a number");
  expect_refused(run_on_demo("explore", {"-p", "x", "--temps", "-1"}), 2, "contains -1");
  expect_refused(run_on_demo("explore", {"-p", "x", "--with", "--top-q 1"}), 2, "--with: \"--top-q 1\": ");
  expect_refused(run_on_demo("explore", {"-p", "x", "--with", "--top-k '1"}), 2, "a quote that is not closed");
  expect_refused(run_on_demo("explore", {"-p", "x", "--with", "--mirostat 2"}), 2, "--mirostat");
  expect_refused(run_on_demo("explore", {"-p", "x", "--with", "--help"}), 2, "help");
  expect_refused(run_on_demo("explore", {"-p", "x", "--with", "--top-p 7"}), 1, "--top-p");
  expect_refused(run_on_demo("explore", {}, ""), 1, "standard input: empty");
  expect_refused(run_on_demo("explore", {"-p", kPrompt, "--ctx", "16"}), 1, "do not fit a context of 16");
}

}  // namespace
}  // namespace sotto::test
