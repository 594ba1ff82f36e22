// Runs all published cases of other samplers.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "runtime/session/contrast.h"
#include "tests/support/files.h"
#include "tests/unit/sampling/published_process.h"
#include "tests/unit/sampling/sampling_fixture.h"

namespace sotto {
namespace {

using Json = nlohmann::json;

constexpr char kCases[] = "sampling/sampler_cases.json";

std::vector<float> logits_of(const Json& input) {
  std::vector<float> logits;
  if (input.contains("logits")) return input["logits"].get<std::vector<float>>();
  if (input.contains("probs")) {
    for (const double p : input["probs"]) logits.push_back(static_cast<float>(std::log(p)));
    return logits;
  }
  // For "logits_rule", the logit of token i is ln(i), i = 0 ... 9999.
  for (int i = 0; i < 10000; ++i) logits.push_back(std::log(static_cast<float>(i)));
  return logits;
}

using Setting = std::function<void(const Json& given, SamplerParams& params)>;

// Returns the settings of the stages by the names of the cases.
const std::map<std::string, Setting>& settings() {
  static const std::map<std::string, Setting> all = {
      {"temperature", [](const Json& p, SamplerParams& params) { params.temperature = p["temp"]; }},
      {"dynamic_temperature",
       [](const Json& p, SamplerParams& params) {
         params.temperature = p["temp"];
         params.temperature_range = p["delta"];
         params.temperature_exponent = p["exponent"];
       }},
      {"top_k", [](const Json& p, SamplerParams& params) { params.top_k = p["k"]; }},
      {"top_p", [](const Json& p, SamplerParams& params) { params.top_p = p["p"]; }},
      {"min_p", [](const Json& p, SamplerParams& params) { params.min_p = p["p"]; }},
      {"typical_p", [](const Json& p, SamplerParams& params) { params.typical_p = p["p"]; }},
      {"epsilon_cutoff", [](const Json& p, SamplerParams& params) { params.epsilon = p["epsilon"]; }},
      {"eta_cutoff", [](const Json& p, SamplerParams& params) { params.eta = p["epsilon"]; }},
      {"top_n_sigma", [](const Json& p, SamplerParams& params) { params.top_n_sigma = p["n"]; }},
      {"top_h", [](const Json& p, SamplerParams& params) { params.top_h = p["top_h"]; }},
      {"xtc",
       [](const Json& p, SamplerParams& params) {
         params.xtc_threshold = p["threshold"];
         params.xtc_probability = 1;
       }},
      {"log_softmax", [](const Json&, SamplerParams&) {}}};
  return all;
}

void apply(const std::string& stage, const Json& given, TestCandidates& bench) {
  SamplerParams params = plain();
  params.min_keep = given.value("min_keep", 1u);
  settings().at(stage)(given, params);
  bench.run(params);
}

std::map<int32_t, double> probabilities_of(const Candidates& candidates) {
  std::map<int32_t, double> p;
  const auto total = static_cast<double>(candidates.total_fixed());
  const float* y = candidates.weights();
  for (size_t i = 0; i < candidates.count(); ++i) {
    p[candidates.id(i)] = static_cast<double>(to_fixed(y[i])) / total;
  }
  return p;
}

void expect_probabilities(const Json& published, double tolerance, std::map<int32_t, double> p) {
  for (const auto& [id, value] : published.items()) {
    ASSERT_EQ(p.count(std::stoi(id)), 1u) << "token " << id;
    EXPECT_NEAR(p[std::stoi(id)], value.get<double>(), tolerance) << "token " << id;
    p.erase(std::stoi(id));
  }
  EXPECT_TRUE(p.empty()) << p.begin()->first << " stayed";
}

void expect(const Json& expected, double tolerance, std::map<int32_t, double> before, Candidates& candidates) {
  if (expected.contains("kept_probs")) {
    expect_probabilities(expected["kept_probs"], tolerance, probabilities_of(candidates));
  } else if (expected.contains("kept_unrenormalised_probs")) {
    // Probabilities of all tokens before any was removed.
    std::map<int32_t, double> p;
    for (size_t i = 0; i < candidates.count(); ++i) p[candidates.id(i)] = before[candidates.id(i)];
    expect_probabilities(expected["kept_unrenormalised_probs"], tolerance, p);
  } else if (expected.contains("probs")) {
    double sum = 0;
    for (size_t i = 0; i < candidates.count(); ++i) {
      const double p = std::exp(candidates.log_probability(candidates.id(i)));
      const double published = expected["probs"][i];
      EXPECT_NEAR(p, published, tolerance * published);
      sum += p;
    }
    EXPECT_NEAR(sum, expected["sum"].get<double>(), tolerance);
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

// Runs each stage of a chain. The survivors of a stage must be within one token of those published, because at a border
// of float32 the case allows either.
void expect_chain(const Json& c, TestCandidates& bench, Candidates& candidates) {
  const std::map<char, std::pair<const char*, Json>> stages = {{'k', {"top_k", {{"k", c["params"]["top_k"]}}}},
                                                               {'p', {"top_p", {{"p", c["params"]["top_p"]}}}},
                                                               {'m', {"min_p", {{"p", c["params"]["min_p"]}}}}};
  for (const Json& step : c["expected"]["steps"]) {
    const auto& [stage, params] = stages.at(step["step"].get<std::string>()[0]);
    apply(stage, params, bench);
    EXPECT_NEAR(static_cast<double>(candidates.count()), step["size"].get<double>(), 1);
    EXPECT_EQ(candidates.id(candidates.count() - 1), step["max_id"].get<int32_t>());
    EXPECT_NEAR(candidates.id(0), step["min_id"].get<int32_t>(), 1);
  }
}

// Checks "temp 0.5 raises the maximum probability and lowers the minimum; 1.3 the opposite".
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

// Returns whether the case is of one of this file's kinds.
bool check_case(const Json& c) {
  const std::string sampler = c["sampler"];
  const bool is_chain = sampler == "chain";
  if (!is_chain && settings().count(sampler) == 0) return false;
  if (c["expected"].contains("property")) {
    expect_monotone_temperature(c);
    return true;
  }
  const std::vector<float> logits = logits_of(c["input"]);
  TestCandidates bench(logits.size());
  Candidates& candidates = bench.begin(logits);
  if (is_chain) {
    expect_chain(c, bench, candidates);
    return true;
  }
  const std::map<int32_t, double> before = probabilities_of(candidates);
  apply(sampler, c["params"], bench);
  expect(c["expected"], c["tol"], before, candidates);
  return true;
}

// The guide's model is the session's.
void expect_guidance(const Json& c) {
  const std::vector<float> with = c["input"]["cond_logits"], without = c["input"]["uncond_logits"];
  GuideParams params;
  params.scale = c["params"]["scale"];
  std::vector<float> mixed(with.size());
  mix_guide(*find_kernels(Isa::kAuto), params, with, without, mixed.data());
  for (const auto& [id, value] : c["expected"]["logits"].items()) {
    EXPECT_NEAR(mixed[std::stoul(id)], value.get<double>(), c["tol"].get<double>());
  }
}

TEST(PublishedCases, AllHold) {
  SOTTO_REQUIRE_DATA(kCases);
  std::ifstream file(test::shared_data() / kCases);
  std::map<std::string, int> checked;
  const Json root = Json::parse(file);
  for (const Json& c : root["cases"]) {
    SCOPED_TRACE(c["id"].get<std::string>());
    const std::string sampler = c["sampler"];
    ++checked[sampler];
    if (sampler == "classifier_free_guidance") {
      expect_guidance(c);
    } else if (!check_case(c)) {
      EXPECT_TRUE(check_process_case(c)) << "unknown sampler " << sampler;
    }
  }
  int count = 0;
  for (const auto& [sampler, cases] : checked) count += cases;
  RecordProperty("checked", count);
  EXPECT_EQ(count, 61);
}

}  // namespace
}  // namespace sotto
