// Published cases of other samplers, for the stages that exist here.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/sampling/truncation.h"
#include "tests/unit/sampling/published_process.h"
#include "tests/unit/sampling/workbench.h"

namespace sotto {
namespace {

using Json = nlohmann::json;

std::string cases_path() {
  const char* data = std::getenv("SOTTO_TEST_DATA");
  const std::string folder = data != nullptr ? data : SOTTO_SOURCE_DIR "/../shared/data";
  return folder + "/sampling/sampler_cases.json";
}

std::vector<float> logits_of(const Json& input) {
  std::vector<float> logits;
  if (input.contains("logits")) return input["logits"].get<std::vector<float>>();
  if (input.contains("probs")) {
    for (const double p : input["probs"]) logits.push_back(static_cast<float>(std::log(p)));
    return logits;
  }
  // "logits_rule": logit of token i = ln(i), i = 0 ... 9999
  for (int i = 0; i < 10000; ++i) logits.push_back(std::log(static_cast<float>(i)));
  return logits;
}

// Applies a stage of the case, or says that it belongs to what this sampler lacks.
bool apply(const std::string& stage, const Json& params, Candidates& candidates) {
  if (stage == "temperature" && params.contains("temp")) {
    candidates.divide_by(params["temp"]);
  } else if (stage == "top_k") {
    top_k(candidates, params["k"]);
  } else if (stage == "top_p" && params.value("min_keep", 1) == 1) {
    top_p(candidates, params["p"]);
  } else if (stage == "min_p" && params.value("min_keep", 1) == 1) {
    min_p(candidates, params["p"]);
  } else {
    return false;
  }
  return true;
}

std::map<int32_t, double> probabilities_of(Candidates& candidates) {
  std::map<int32_t, double> p;
  const auto total = static_cast<double>(candidates.total_weight());
  const float* y = candidates.shares();
  for (size_t i = 0; i < candidates.count(); ++i) {
    p[candidates.id(i)] = static_cast<double>(weight_of(y[i])) / total;
  }
  return p;
}

void expect(const Json& expected, double tolerance, Candidates& candidates) {
  if (expected.contains("kept_probs")) {
    std::map<int32_t, double> p = probabilities_of(candidates);
    for (const auto& [id, value] : expected["kept_probs"].items()) {
      ASSERT_EQ(p.count(std::stoi(id)), 1u) << "token " << id;
      EXPECT_NEAR(p[std::stoi(id)], value.get<double>(), tolerance) << "token " << id;
      p.erase(std::stoi(id));
    }
    EXPECT_TRUE(p.empty()) << p.begin()->first << " stayed";
  } else if (expected.contains("kept_ids")) {
    EXPECT_EQ(ids_of(candidates), expected["kept_ids"].get<std::vector<int32_t>>());
  } else if (expected.contains("kept_count")) {
    EXPECT_EQ(candidates.count(), expected["kept_count"].get<size_t>());
  } else {
    ASSERT_TRUE(expected.contains("logits"));
    ASSERT_EQ(candidates.count(), expected["logits"].size());
    for (const auto& [id, value] : expected["logits"].items()) {
      EXPECT_NEAR(candidates.logit(std::stoul(id)), value.get<double>(), tolerance);
    }
  }
}

// Each stage of a chain, its survivors within one token of those published (at a border of
// float32 the case allows either).
void expect_chain(const Json& c, Candidates& candidates) {
  const std::map<char, std::pair<const char*, Json>> stages = {
      {'k', {"top_k", {{"k", c["params"]["top_k"]}}}},
      {'p', {"top_p", {{"p", c["params"]["top_p"]}}}},
      {'m', {"min_p", {{"p", c["params"]["min_p"]}}}}};
  for (const Json& step : c["expected"]["steps"]) {
    const auto& [stage, params] = stages.at(step["step"].get<std::string>()[0]);
    ASSERT_TRUE(apply(stage, params, candidates));
    EXPECT_NEAR(static_cast<double>(candidates.count()), step["size"].get<double>(), 1);
    EXPECT_EQ(candidates.id(candidates.count() - 1), step["max_id"].get<int32_t>());
    EXPECT_NEAR(candidates.id(0), step["min_id"].get<int32_t>(), 1);
  }
}

// "temp 0.5 raises the maximum probability and lowers the minimum; 1.3 the opposite"
void expect_monotone_temperature(const Json& c) {
  const std::vector<float> logits = logits_of(c["input"]);
  TestCandidates bench(logits.size());
  const auto extremes = [&](float temperature) {
    Candidates& candidates = bench.begin(logits);
    candidates.divide_by(temperature);
    double low = 1, high = 0;
    for (const auto& [id, p] : probabilities_of(candidates)) {
      low = std::min(low, p);
      high = std::max(high, p);
    }
    return std::pair(low, high);
  };
  const auto plain = extremes(1), cold = extremes(0.5f), hot = extremes(1.3f);
  EXPECT_GT(cold.second, plain.second);
  EXPECT_LT(cold.first, plain.first);
  EXPECT_LT(hot.second, plain.second);
  EXPECT_GT(hot.first, plain.first);
}

TEST(PublishedCases, OfTheStagesThatExist) {
  std::ifstream file(cases_path());
  if (!file) GTEST_SKIP() << "no test data at " << cases_path();
  std::map<std::string, int> skipped;
  int checked = 0;
  const Json root = Json::parse(file);
  for (const Json& c : root["cases"]) {
    SCOPED_TRACE(c["id"].get<std::string>());
    const std::string sampler = c["sampler"];
    if (sampler == "chain") {
      const std::vector<float> logits = logits_of(c["input"]);
      TestCandidates bench(logits.size());
      expect_chain(c, bench.begin(logits));
      ++checked;
      continue;
    }
    if (c["expected"].contains("property") && sampler == "temperature") {
      expect_monotone_temperature(c);
      ++checked;
      continue;
    }
    if (check_process_case(c)) {
      ++checked;
      continue;
    }
    const std::vector<float> logits = logits_of(c["input"]);
    TestCandidates bench(logits.size());
    Candidates& candidates = bench.begin(logits);
    if (!apply(sampler, c["params"], candidates)) {
      ++skipped[sampler];
      continue;
    }
    ++checked;
    expect(c["expected"], c["tol"], candidates);
  }
  RecordProperty("checked", checked);
  std::printf("checked %d;", checked);
  for (const auto& [sampler, count] : skipped) {
    std::printf(" not yet here: %s %d;", sampler.c_str(), count);
  }
  std::printf("\n");
  EXPECT_EQ(checked, 46);
}

}  // namespace
}  // namespace sotto
