// Tests `sotto compare`: texts against `sotto generate`, and measures against computations from `sotto next`.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/cli/generate_support.h"

namespace sotto::test {
namespace {

using nlohmann::json;

const Words kShared = {"-n", "24", "--seed", "5"};

json compared(const Words& words) {
  Words all = {"-p", kPrompt, "--json"};
  all.insert(all.end(), kShared.begin(), kShared.end());
  all.insert(all.end(), words.begin(), words.end());
  return json_of(run_on_demo("compare", all))["strategies"];
}

json generated_with(const Words& words) {
  Words all = kShared;
  all.insert(all.end(), words.begin(), words.end());
  return generated(all);
}

Words words_of(const std::string& text) {
  Words words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// Returns what `sotto next` shows before each new token: the entropy, ln p of the token, and the divergence of the
// sampled distribution from the model's.
std::vector<json> positions_of(const json& tokens, const Words& options) {
  const json prompt = ids_of(kPrompt);
  // The 200 likeliest tokens include all that the options may draw.
  Words words = {"--all", "--json", "--top", options.empty() ? "1" : "200"};
  words.insert(words.end(), options.begin(), options.end());
  words.emplace_back("--ids");
  for (const json& token : prompt) words.push_back(std::to_string(token.get<int>()));
  for (const json& token : tokens) words.push_back(std::to_string(token.get<int>()));
  const json positions = json_of(run_on_demo("next", words))["positions"];
  std::vector<json> list;
  for (size_t i = prompt.size() - 1; i + 1 < positions.size(); ++i) {
    json position = {{"entropy", positions[i]["entropy"]},
                     {"log_probability", positions[i]["next"]["log_probability"]}};
    double divergence = 0.0;
    for (const json& entry : positions[i]["top"]) {
      const double q = entry["sampled_probability"].get<double>();
      if (q > 0.0) divergence += q * (std::log(q) - entry["log_probability"].get<double>());
    }
    position["divergence"] = divergence;
    list.push_back(position);
  }
  return list;
}

TEST(Compare, TextsAreThoseOfGenerate) {
  const json results = compared({});
  ASSERT_EQ(results.size(), 20u);
  EXPECT_EQ(results[0]["strategy"], "greedy");
  std::set<std::string> names;
  for (const json& result : results) {
    SCOPED_TRACE(result["strategy"]);
    names.insert(result["strategy"]);
    const json expected = generated_with(words_of(result["options"]));
    EXPECT_EQ(result["text"], expected["text"]);
    EXPECT_EQ(result["tokens"], expected["tokens"]);
    EXPECT_EQ(result["stop"], expected["stop"]);
    EXPECT_GT(result["tokens_per_second"].get<double>(), 0.0);
  }
  EXPECT_EQ(names.size(), results.size());
}

TEST(Compare, AnyOptionsOfGenerateAreAStrategy) {
  const json results = compared({"--with", "--temp 1.3 --repeat-penalty 1.2", "--with", "beams", "--with",
                                 "--regex '[0-9]{2} [a-z]+'", "--with", "--stop ', and'"});
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(results[0]["strategy"], "--temp 1.3 --repeat-penalty 1.2");
  EXPECT_EQ(results[0]["text"], generated_with({"--temp", "1.3", "--repeat-penalty", "1.2"})["text"]);
  EXPECT_EQ(results[1]["options"], "--num-beams 4");
  EXPECT_EQ(results[2]["text"], generated_with({"--regex", "[0-9]{2} [a-z]+"})["text"]);
  EXPECT_EQ(results[3]["text"], generated_with({"--stop", ", and"})["text"]);
}

TEST(Compare, CountsFollowFromTheTokens) {
  for (const json& result : compared({"--with", "greedy", "--with", "default"})) {
    const std::vector<int> tokens = result["tokens"];
    ASSERT_EQ(tokens.size(), 24u);
    EXPECT_EQ(result["unique_tokens"], std::set<int>(tokens.begin(), tokens.end()).size());
    for (size_t n = 1; n <= 4; ++n) {
      std::map<std::vector<int>, int> grams;
      for (size_t i = 0; i + n <= tokens.size(); ++i) {
        ++grams[std::vector<int>(tokens.begin() + static_cast<ptrdiff_t>(i),
                                 tokens.begin() + static_cast<ptrdiff_t>(i + n))];
      }
      const double expected = static_cast<double>(grams.size()) / static_cast<double>(tokens.size() + 1 - n);
      EXPECT_NEAR(result["distinct"][n - 1].get<double>(), expected, 1e-9);
    }
  }
}

TEST(Compare, MeasuresFollowFromTheDistributionsOfNext) {
  const struct {
    std::string options;
    std::string chain;  // the options of sotto next; empty if no token is drawn
  } kRows[] = {{"--greedy", ""},
               {"--num-beams 3", ""},
               {"--penalty-alpha 0.5 --top-k 3", ""},
               {"--temp 0.7 --top-k 30", "--temp 0.7 --top-k 30"},
               {"--temp 1.3 --repeat-penalty 1.2", "--temp 1.3 --repeat-penalty 1.2"},
               {"--temp 0.7 --top-k 30 --best-of 3", "--temp 0.7 --top-k 30"},
               // With banned strings, the sampler's input is recorded.
               {"--temp 0.7 --top-k 30 --banned-string xyz", "--temp 0.7 --top-k 30"}};
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.options);
    const json result = compared({"--with", row.options})[0];
    double entropy = 0.0, log_probability = 0.0, divergence = 0.0;
    const std::vector<json> positions = positions_of(result["tokens"], words_of(row.chain));
    const auto count = static_cast<double>(positions.size());
    for (const json& position : positions) {
      entropy += position["entropy"].get<double>();
      log_probability += position["log_probability"].get<double>();
      divergence +=
          row.chain.empty() ? -position["log_probability"].get<double>() : position["divergence"].get<double>();
    }
    EXPECT_NEAR(result["entropy"].get<double>(), entropy / count, 1e-4);
    EXPECT_NEAR(result["log_probability"].get<double>(), log_probability, 1e-2);
    EXPECT_NEAR(result["divergence"].get<double>(), divergence / count, 1e-4);
  }
}

// At each place where the grammar allows one of two tokens, the divergence is -ln of their probability together.
TEST(Compare, DivergencesIncludeTheMaskOfAGrammar) {
  const json result = compared({"--with", "--temp 1 --top-k 0 --top-p 1 --min-p 0 --choices a,b"})[0];
  ASSERT_EQ(result["tokens"].size(), 1u);
  const json top = json_of(run_on_demo("next", {"-p", kPrompt, "--json", "--top", "100000"}))["positions"][0]["top"];
  double mass = 0.0;
  for (const json& entry : top)
    mass += entry["text"] == "a" || entry["text"] == "b" ? entry["probability"].get<double>() : 0.0;
  EXPECT_GT(mass, 0.0);
  EXPECT_NEAR(result["divergence"].get<double>(), -std::log(mass), 1e-4);
}

// Mirostat version 2 keeps the tokens whose surprise is at most mu bits, and moves mu after each token.
TEST(Compare, DivergencesIncludeTheTruncationOfMirostat) {
  constexpr double kTau = 3.0, kEta = 0.2;
  const json result = compared({"--with", "--mirostat 2 --mirostat-tau 3 --mirostat-eta 0.2 --temp 1"})[0];
  const json prompt = ids_of(kPrompt);
  Words words = {"--all", "--json", "--top", "100000", "--ids"};
  for (const json& token : prompt) words.push_back(std::to_string(token.get<int>()));
  for (const json& token : result["tokens"]) words.push_back(std::to_string(token.get<int>()));
  const json positions = json_of(run_on_demo("next", words))["positions"];
  double mu = 2 * kTau, sum = 0.0;
  for (size_t i = 0; i < result["tokens"].size(); ++i) {
    const json& position = positions[prompt.size() - 1 + i];
    double mass = 0.0;
    for (const json& entry : position["top"]) {
      const double p = entry["probability"].get<double>();
      mass += -std::log2(p) <= mu || entry["rank"] == 1 ? p : 0.0;
    }
    sum -= std::log(mass);
    const double p = std::exp(position["next"]["log_probability"].get<double>());
    mu -= kEta * (-std::log2(p / mass) - kTau);
  }
  EXPECT_NEAR(result["divergence"].get<double>(), sum / static_cast<double>(result["tokens"].size()), 1e-3);
}

// Statements of textbooks on strategies, for the demo model.
TEST(Compare, StrategiesGiveTheTablesOfTextbooks) {
  std::map<std::string, json> results;
  for (const json& result : compared({})) results[result["strategy"]] = result;
  const auto measure = [&](const char* strategy, const char* name) { return results[strategy][name].get<double>(); };
  // Greedy search repeats itself, sampling does not, and penalties of repetition reduce it.
  EXPECT_LT(measure("greedy", "unique_tokens"), 12);
  EXPECT_GT(measure("temp-1", "unique_tokens"), 18);
  EXPECT_GT(measure("contrastive", "unique_tokens"), measure("greedy", "unique_tokens"));
  // Beams find a likelier text than greedy search, and best-of a likelier one than one sample.
  EXPECT_GT(measure("beams", "log_probability"), measure("greedy", "log_probability"));
  EXPECT_GT(measure("best-of", "log_probability"), measure("temp-1", "log_probability"));
  // The higher the temperature, the less likely the text.
  EXPECT_GT(measure("temp-0.5", "log_probability"), measure("temp-1", "log_probability"));
  EXPECT_GT(measure("temp-1", "log_probability"), measure("temp-1.5", "log_probability"));
  // Plain sampling draws from the model's distribution, truncations from one near it, and greedy search is farthest.
  EXPECT_NEAR(measure("temp-1", "divergence"), 0.0, 1e-3);
  for (const char* truncation : {"top-k", "top-p", "min-p", "typical"}) {
    EXPECT_GT(measure(truncation, "divergence"), 0.01) << truncation;
    EXPECT_LT(measure(truncation, "divergence"), measure("greedy", "divergence")) << truncation;
  }
  EXPECT_EQ(results["extraction"]["text"], results["greedy"]["text"]);
}

TEST(Compare, FilesAndPipesReceivePlainTables) {
  const Result result = run_on_demo("compare", {"-p", kPrompt, "-n", "4", "--with", "greedy", "--with", "temp-1.5"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos);
  EXPECT_NE(result.out.find("\ngreedy "), std::string::npos);
  EXPECT_NE(result.err.find("the seed was "), std::string::npos);
}

TEST(Compare, ThePromptCanBeIdsOrStandardInput) {
  const json ids = ids_of(kPrompt);
  Words words = {"--json", "--with", "greedy", "-n", "4", "--seed", "5", "--ids"};
  for (const json& id : ids) words.push_back(std::to_string(id.get<int>()));
  const json expected = generated({"-n", "4", "--greedy"})["text"];
  EXPECT_EQ(json_of(run_on_demo("compare", words))["strategies"][0]["text"], expected);
  const Result piped = run_on_demo("compare", {"--json", "--with", "greedy", "-n", "4"}, kPrompt + "\n");
  EXPECT_EQ(json_of(piped)["strategies"][0]["text"], expected);
}

TEST(Compare, RejectsStrategiesThatCannotWork) {
  const auto refuse = [](const std::string& strategy, int exit_code, const std::string& part) {
    SCOPED_TRACE(strategy);
    expect_refused(run_on_demo("compare", {"-p", "x", "-n", "4", "--with", strategy}), exit_code, part);
  };
  refuse("gredy", 2, "\"gredy\" is neither options nor one of greedy, default");
  refuse("--num-beam 4", 2, "--with: \"--num-beam 4\": ");
  refuse("--num-beams 4 --best-of 2", 2, "--num-beams");
  refuse("--json", 2, "--json: is not an option of a strategy");
  refuse("-f other.txt", 2, "--file");
  refuse("-n 9", 2, "--max-tokens");
  refuse("--temp \"1", 2, "a quote that is not closed");
  refuse("--top-p 3", 1, "--top-p 3: ");
  refuse("-m other.sotto", 2, "--model");
  expect_refused(run_on_demo("compare", {"-p", "x", "-n", "0"}), 2, "--max-tokens");
  expect_refused(run_on_demo("compare", {"-p", "x", "-s", "soon"}), 2, "--seed");
  expect_refused(run_on_demo("compare", {}, ""), 1, "standard input: empty");
}

}  // namespace
}  // namespace sotto::test
