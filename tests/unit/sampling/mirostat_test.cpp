// Tests Mirostat and adaptive-p: formulas, state, and the surprise or probability that they maintain.
#include "runtime/sampling/stages/selection.h"

#include <gtest/gtest.h>

#include "tests/unit/sampling/sampling_fixture.h"
#include "tests/unit/sampling/truncation_oracle.h"

namespace sotto {
namespace {

SamplerParams select_by(Selection selection) {
  SamplerParams params;
  params.temperature = 1;
  params.top_k = 0;
  params.top_p = 1;
  params.min_p = 0;
  params.selection = selection;
  return params;
}

std::vector<float> zipf_logits(size_t count, double s) {
  std::vector<float> logits(count);
  for (size_t i = 0; i < count; ++i) {
    logits[i * 7919 % count] = static_cast<float>(-s * std::log(static_cast<double>(i + 1)));
  }
  return logits;
}

// Computes k by the formulas of the paper, in double.
double oracle_k(const std::vector<float>& logits, uint32_t m, double mu) {
  const oracle::Set set = oracle::begin(logits, {});
  const auto p = oracle::probabilities(set);
  const auto order = oracle::sorted(set);
  double products = 0, squares = 0;
  for (size_t i = 0; i + 1 < std::min<size_t>(m, p.size()); ++i) {
    if (p[order[i + 1]] <= 0) break;
    const double t = std::log((i + 2.0) / (i + 1.0));
    products += t * static_cast<double>(std::log(p[order[i]] / p[order[i + 1]]));
    squares += t * t;
  }
  const double s = products / squares, n = static_cast<double>(p.size());
  return std::pow((s - 1) * std::exp2(mu) / (1 - std::pow(n, 1 - s)), 1 / s);
}

TEST(Mirostat, KeepsTheNumberOfTokensOfTheFormula) {
  std::mt19937_64 random(3);
  for (const size_t count : {2, 3, 50, 1000, 30000}) {
    TestCandidates bench(count);
    for (const LogitKind kind : {LogitKind::kNarrow, LogitKind::kPeaked, LogitKind::kWide}) {
      const auto logits = make_logits(kind, count, random);
      for (const float mu : {0.5f, 3.0f, 10.0f, 25.0f}) {
        for (const uint32_t m : {2u, 100u, 3000u}) {
          Candidates& candidates = bench.begin(logits);
          truncate_mirostat(candidates, m, mu);
          candidates.apply_truncation();
          const double k = oracle_k(logits, m, static_cast<double>(mu));
          const auto clamp = [&](double x) {
            return static_cast<size_t>(std::clamp(std::floor(x), 1.0, static_cast<double>(count)));
          };
          EXPECT_GE(candidates.count(), clamp(k * (1 - 1e-3))) << count << " " << mu << " " << m;
          EXPECT_LE(candidates.count(), clamp(k * (1 + 1e-3))) << count << " " << mu << " " << m;
        }
      }
    }
  }
}

TEST(Mirostat, FindsTheExponentOfZipfsLaw) {
  // With s = 1, the quotient is replaced by its limit: k = 2^mu / ln N.
  const size_t count = 5000;
  const std::vector<float> logits = zipf_logits(count, 1);
  TestCandidates bench(count);
  Candidates& candidates = bench.begin(logits);
  truncate_mirostat(candidates, 100, 10);
  candidates.apply_truncation();
  EXPECT_NEAR(static_cast<double>(candidates.count()), 1024 / std::log(5000.0), 2);
}

TEST(Mirostat, HandlesOneTokenTiesAndNoFiniteLogit) {
  for (const std::vector<float>& logits :
       {std::vector<float>{2}, std::vector<float>(50, 1.0f), std::vector<float>(50, NAN),
        std::vector<float>{1, kMinusInfinity, NAN}, std::vector<float>{INFINITY, 1, INFINITY}}) {
    TestSampler sampler(logits.size());
    for (const Selection selection : {Selection::kMirostat, Selection::kMirostatV2}) {
      ASSERT_EQ(sampler->set_params(select_by(selection), nullptr), Status::kOk);
      SamplerState state = sampler->initial_state();
      for (uint64_t draw = 0; draw < 200; ++draw) {
        SampleInput input;
        input.place = draw;
        const int32_t token = sampler->sample(logits, {}, input, &state).token;
        ASSERT_GE(token, 0);
        ASSERT_LT(static_cast<size_t>(token), logits.size());
        ASSERT_TRUE(std::isfinite(state.mirostat_mu));
      }
    }
  }
}

TEST(MirostatV2, CutsTokensOfMoreSurpriseThanMu) {
  std::mt19937_64 random(3);
  TestCandidates bench(3000);
  for (int i = 0; i < 40; ++i) {
    const auto logits = make_logits(i % 2 == 0 ? LogitKind::kNarrow : LogitKind::kPeaked, 3000, random);
    const float mu = 0.5f * static_cast<float>(i);
    Candidates& candidates = bench.begin(logits);
    truncate_mirostat_v2(candidates, mu);
    candidates.apply_truncation();
    EXPECT_EQ(oracle::judge(oracle::Mode::kEpsilon, oracle::begin(logits, {}), 1, std::exp2(-static_cast<double>(mu)),
                            1, ids_of(candidates)),
              "");
  }
}

// mu begins at 2 tau, changes by eta (S - tau), and the mean surprise approaches tau.
TEST(Mirostat, HoldsTheSurpriseAtTau) {
  const size_t count = 20000;
  const std::vector<float> logits = zipf_logits(count, 0.9);
  TestSampler sampler(count);
  for (const Selection selection : {Selection::kMirostat, Selection::kMirostatV2}) {
    SamplerParams params = select_by(selection);
    params.mirostat_tau = 4;
    params.log_probabilities = true;
    ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
    SamplerState state = sampler->initial_state();
    EXPECT_EQ(state.mirostat_mu, 8.0f);
    double surprises = 0;
    constexpr int kTokens = 3000, kSettling = 300;
    for (uint64_t draw = 0; draw < kTokens + kSettling; ++draw) {
      SampleInput input;
      input.place = draw;
      const float mu = state.mirostat_mu;
      const SampledToken sampled = sampler->sample(logits, {}, input, &state);
      const double surprise = -static_cast<double>(sampled.sampled_log_probability) / std::log(2.0);
      EXPECT_NEAR(state.mirostat_mu, static_cast<double>(mu) - 0.1 * (surprise - 4), 1e-5);
      if (draw >= kSettling) surprises += surprise;
    }
    EXPECT_NEAR(surprises / kTokens, 4, 0.1);
  }
}

TEST(AdaptiveP, FollowsTheFormula) {
  const std::vector<float> logits = {2, 1, 0.5f, -3, kMinusInfinity, NAN};
  TestCandidates bench(6);
  Candidates& candidates = bench.begin(logits);
  SamplerState state;
  const AdaptiveP adaptive = {0.4f, 0.9f};
  adaptive.begin(&state);
  EXPECT_NEAR(state.adaptive_weight, 10, 1e-4);
  EXPECT_NEAR(state.adaptive_sum, 4, 1e-4);
  adaptive.record(0.9f, &state);
  EXPECT_NEAR(state.adaptive_weight, 10, 1e-4);
  EXPECT_NEAR(state.adaptive_sum, 4.5, 1e-4);
  float before[6];
  adaptive.apply(candidates, state, before);
  const auto p = oracle::probabilities(oracle::begin(logits, {}));
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(before[i], static_cast<double>(p[i]), 1e-6);
    const double x = std::fabs(static_cast<double>(p[i]) - 0.35) / 0.3;
    EXPECT_NEAR(candidates.logit(i), 5 - 10 * x * x / (1 + x), 1e-4);
  }
  EXPECT_EQ(candidates.logit(4), kMinusInfinity);
  EXPECT_EQ(candidates.logit(5), kMinusInfinity);
}

TEST(AdaptiveP, DrawsFromTheTransformedDistribution) {
  std::vector<float> logits(40);
  for (size_t i = 0; i < 40; ++i) logits[i] = static_cast<float>(i % 13) * 0.4f;
  SamplerParams params = select_by(Selection::kAdaptiveP);
  params.adaptive_target = 0.1f;
  TestSampler sampler(40);
  ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
  const auto p = oracle::probabilities(oracle::begin(logits, {}));
  std::vector<double> exact;
  double sum = 0;
  for (const long double x : p) {
    const double d = std::fabs(static_cast<double>(x) - 0.1) / 0.3;
    exact.push_back(std::exp(5 - 10 * d * d / (1 + d)));
    sum += exact.back();
  }
  std::vector<int> drawn(40);
  constexpr int kDraws = 100000;
  for (uint64_t draw = 0; draw < kDraws; ++draw) {
    ++drawn[static_cast<size_t>(sampler.sample(logits, {}, {}, draw).token)];
  }
  double chi_square = 0;
  for (size_t i = 0; i < 40; ++i) {
    const double expected = exact[i] / sum * kDraws;
    chi_square += (drawn[i] - expected) * (drawn[i] - expected) / expected;
  }
  EXPECT_LT(chi_square, 95);  // with 39 degrees of freedom, exceeded once in a million
}

// The mean probability of the selected tokens follows the target, as far as the tokens allow it.
TEST(AdaptiveP, HoldsTheMeanNearTheTarget) {
  TestSampler sampler(100);
  for (const float target : {0.2f, 0.3f, 0.5f}) {
    std::mt19937_64 random(12);
    SamplerParams params = select_by(Selection::kAdaptiveP);
    params.adaptive_target = target;
    params.min_p = 0.01f;
    params.log_probabilities = true;
    ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
    SamplerState state = sampler->initial_state();
    double sum = 0;
    constexpr int kTokens = 4000;
    for (uint64_t draw = 0; draw < kTokens; ++draw) {
      std::vector<float> logits = make_logits(LogitKind::kNarrow, 100, random);
      for (int i = 0; i < 3; ++i) logits[random() % 100] += 5;
      SampleInput input;
      input.place = draw;
      const SampledToken sampled = sampler->sample(logits, {}, input, &state);
      sum += std::exp(static_cast<double>(raw_log_probability(logits, sampled.token)));
    }
    EXPECT_NEAR(sum / kTokens, static_cast<double>(target), 0.08);
  }
}

}  // namespace
}  // namespace sotto
