// Tests temperatures and selections: their formulas, their state, and their distributions.
#include "runtime/sampling/stages/selection.h"

#include <gtest/gtest.h>

#include "runtime/base/random.h"
#include "runtime/base/scalar_math.h"
#include "tests/unit/sampling/sampling_fixture.h"
#include "tests/unit/sampling/truncation_oracle.h"

namespace sotto {
namespace {

// Compares cells with at least five expected draws. The others are joined to one.
void expect_distribution(const std::vector<double>& exact, const std::vector<int>& drawn) {
  double total = 0;
  for (const int count : drawn) total += count;
  double chi_square = 0, rare_expected = 0, rare_drawn = 0, cells = 0;
  const auto add = [&](double expected, double count) {
    chi_square += (count - expected) * (count - expected) / expected;
    ++cells;
  };
  for (size_t i = 0; i < exact.size(); ++i) {
    const double expected = exact[i] * total;
    if (exact[i] == 0) {
      EXPECT_EQ(drawn[i], 0) << "token " << i;
    } else if (expected < 5) {
      rare_expected += expected;
      rare_drawn += drawn[i];
    } else {
      add(expected, drawn[i]);
    }
  }
  if (rare_expected > 5) add(rare_expected, rare_drawn);
  ASSERT_GT(cells, 2);
  EXPECT_LT(chi_square, chi_square_bound(cells - 1)) << "cells " << cells;
}

std::vector<float> some_logits(size_t count, float spread) {
  std::vector<float> logits(count);
  std::mt19937_64 random(count);
  for (float& l : logits) l = spread * static_cast<float>(random() % 1000) / 1000;
  return logits;
}

std::vector<double> softmax(const std::vector<float>& logits, double temperature = 1) {
  std::vector<double> p;
  double sum = 0;
  const double max = *std::max_element(logits.begin(), logits.end());
  for (const float l : logits) p.push_back(std::exp((l - max) / temperature));
  for (const double x : p) sum += x;
  for (double& x : p) x /= sum;
  return p;
}

std::vector<int> draw(TestSampler& sampler, const std::vector<float>& logits, int count, const TokenMask& mask = {}) {
  std::vector<int> drawn(logits.size());
  for (int i = 0; i < count; ++i) {
    ++drawn[static_cast<size_t>(sampler.sample(logits, mask, {}, static_cast<uint64_t>(i)).token)];
  }
  return drawn;
}

constexpr int kDraws = 100000;

TEST(ScalarMath, ExponentialAndPowerAreAccurate) {
  for (double x = -700; x < 700; x += 0.37) {
    EXPECT_NEAR(e_to(x) / std::exp(x), 1, 1e-15) << x;
  }
  EXPECT_EQ(e_to(0), 1);
  EXPECT_EQ(e_to(-1e9), 0);
  EXPECT_EQ(e_to(-INFINITY), 0);
  EXPECT_EQ(e_to(710), INFINITY);
  EXPECT_TRUE(std::isnan(e_to(NAN)));
  EXPECT_NEAR(power_of(1.7, 3.3), std::pow(1.7, 3.3), 1e-14);
  for (const float x : {-1.0f, -0.0f, 0.0f, 1.0f, 1e38f, -1e-45f, kMinusInfinity}) {
    EXPECT_EQ(next_above(x), std::nextafter(x, INFINITY)) << x;
  }
}

TEST(Gumbel, FollowsTheDistribution) {
  const std::vector<float> logits = some_logits(150, 6);
  TestSampler sampler(150);
  SamplerParams params = plain();
  params.selection = Selection::kGumbel;
  params.temperature = 0.8f;
  ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
  expect_distribution(softmax(logits, 0.8), draw(sampler, logits, kDraws));
  std::vector<uint64_t> words(TokenMask::word_count(150), 0x123456789abcdef0);
  const TokenMask mask = {words.data(), 150};
  std::vector<float> masked = logits;
  for (size_t i = 0; i < 150; ++i) masked[i] = mask.allows(i) ? logits[i] : kMinusInfinity;
  expect_distribution(softmax(masked, 0.8), draw(sampler, logits, kDraws, mask));
}

// The noise of a token does not depend on the other candidates, so a winner that remains wins again.
TEST(Gumbel, NoiseDoesNotDependOnOtherTokens) {
  constexpr size_t kCount = 3001;
  const std::vector<float> logits = some_logits(kCount, 3);
  TestSampler sampler(kCount);
  SamplerParams params = plain();
  params.selection = Selection::kGumbel;
  ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
  std::mt19937_64 random(8);
  for (uint64_t draw = 0; draw < 300; ++draw) {
    const int32_t winner = sampler.sample(logits, {}, {}, draw).token;
    std::vector<uint64_t> words;
    const TokenMask mask = make_mask(kCount, 0.3, random, words);
    const auto place = static_cast<size_t>(winner);
    words[place / 64] |= uint64_t{1} << (place % 64);
    EXPECT_EQ(sampler.sample(logits, mask, {}, draw).token, winner);
  }
}

TEST(Xtc, AppliesWithItsProbability) {
  const std::vector<float> logits = {3, 2.5f, 2, 0, -1, -2};
  TestSampler sampler(6);
  SamplerParams params = plain();
  params.xtc_probability = 0.3f;
  params.xtc_threshold = 0.15f;
  ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
  const std::vector<double> p = softmax(logits);
  ASSERT_TRUE(p[2] > 0.15 && p[3] < 0.15);
  // Tokens 0 and 1 are removed, and 2 is the least likely of the likely ones.
  std::vector<double> exact(6);
  const double rest = 1 - p[0] - p[1];
  for (size_t i = 0; i < 6; ++i) exact[i] = 0.7 * p[i] + (i >= 2 ? 0.3 * p[i] / rest : 0);
  expect_distribution(exact, draw(sampler, logits, kDraws));
}

// Returns 1 / T for the dynamic temperature.
float inverse_temperature(TestCandidates& bench, const std::vector<float>& logits, float t, float range,
                          float exponent) {
  SamplerParams params = plain();
  params.temperature = t;
  params.temperature_range = range;
  params.temperature_exponent = exponent;
  const Candidates& candidates = bench.begin(logits);
  bench.run(params);
  return candidates.inverse_temperature();
}

TEST(DynamicTemperature, FollowsTheEntropy) {
  std::mt19937_64 random(4);
  for (const size_t count : {2, 10, 1000, 20000}) {
    TestCandidates bench(count);
    for (const LogitKind kind :
         {LogitKind::kNarrow, LogitKind::kPeaked, LogitKind::kFlat, LogitKind::kManyInfinite, LogitKind::kWithNan}) {
      const auto logits = make_logits(kind, count, random);
      const auto p = oracle::probabilities(oracle::begin(logits, {}));
      const auto drawable = std::count_if(logits.begin(), logits.end(), [](float l) { return l > -INFINITY; });
      if (drawable < 2) continue;
      for (const float e : {0.0f, 0.5f, 1.0f, 2.7f}) {
        const auto share = static_cast<double>(oracle::entropy(p)) / std::log(static_cast<double>(drawable));
        const double expected = 0.2 + (2.4 - 0.2) * std::pow(share, static_cast<double>(e));
        EXPECT_NEAR(1 / inverse_temperature(bench, logits, 1.3f, 1.1f, e), expected, 2e-5);
      }
    }
  }
  const std::vector<float> one = {7};
  TestCandidates bench(1);
  EXPECT_EQ(inverse_temperature(bench, one, 1.3f, 1, 1), 1 / 1.3f);
}

TEST(DynamicTemperature, SuppressedTokensDoNotCount) {
  TestCandidates bench(4);
  const std::vector<float> even = {2, -INFINITY, 2, -INFINITY};
  EXPECT_NEAR(1 / inverse_temperature(bench, even, 1, 0.5f, 1), 1.5f, 1e-6);
}

TEST(DynamicTemperature, BeginsAtZero) {
  const std::vector<float> certain = {500, 0, 0};
  TestCandidates bench(3);
  const float inverse = inverse_temperature(bench, certain, 1, 2, 1);
  Candidates& candidates = bench.candidates();
  EXPECT_TRUE(candidates.count() == 1 || inverse > 1e6f);
  EXPECT_EQ(select_greedy(candidates), 0);
}

TEST(Temperature, ZeroAndLessIsTheMostLikely) {
  const std::vector<float> logits = {1, 3, 2, 3};
  TestCandidates bench(4);
  for (const float t : {0.0f, -0.0f, -1.0f}) {
    Candidates& candidates = bench.begin(logits);
    SamplerParams params = plain();
    params.temperature = t;
    bench.run(params);
    EXPECT_EQ(ids_of(candidates), std::vector<int32_t>{1});
  }
}

// A stage after the temperature receives l / T.
TEST(Temperature, IsDoneWhenLogitsChangeAfterIt) {
  const std::vector<float> logits = {1, 3, -2, 0.5f};
  TestCandidates bench(4);
  Candidates& candidates = bench.begin(logits);
  candidates.divide_by(0.5f);
  candidates.change_logit(0, [](float l) { return l + 10; });
  const float expected[] = {12, 6, -4, 1};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(candidates.logit(i), expected[i]);
  EXPECT_EQ(candidates.inverse_temperature(), 1.0f);
  candidates.divide_by(2);
  candidates.divide_by(2);
  candidates.change_logits([](std::span<float> scaled) { EXPECT_EQ(scaled[0], 3.0f); });
  // The smallest temperature keeps the order and makes nothing infinite.
  Candidates& cold = bench.begin(logits);
  cold.divide_by(1e-45f);
  cold.change_logits([](std::span<float> scaled) {
    EXPECT_TRUE(scaled[1] > scaled[0] && scaled[0] > scaled[3] && scaled[3] > scaled[2]);
    EXPECT_LT(scaled[1], INFINITY);
  });
}

TEST(Smoothing, FollowsTheFormula) {
  std::mt19937_64 random(6);
  for (const size_t count : {1, 5, 3000}) {
    TestCandidates bench(count);
    for (const LogitKind kind : {LogitKind::kNarrow, LogitKind::kWide, LogitKind::kManyInfinite}) {
      const auto logits = make_logits(kind, count, random);
      const double max = *std::max_element(logits.begin(), logits.end());
      if (!std::isfinite(max)) continue;
      for (const auto& [f, c] : {std::pair(0.3, 1.0), {1.5, 2.0}, {0.01, 7.5}}) {
        Candidates& candidates = bench.begin(logits);
        candidates.divide_by(0.5f);
        SamplerParams params = plain();
        params.smoothing_factor = static_cast<float>(f);
        params.smoothing_curve = static_cast<float>(c);
        bench.run(params);
        for (size_t i = 0; i < count; ++i) {
          const double d = 2 * (logits[i] - max), k = (3 - c) / 2, s = (c - 1) / 2;
          const double expected = std::isinf(d) ? -INFINITY : 2 * max - k * f * d * d + s * f * d * d * d;
          if (std::isinf(d)) {
            EXPECT_EQ(candidates.logit(i), kMinusInfinity);
          } else {
            EXPECT_NEAR(candidates.logit(i), expected, 1e-6 * (1 + std::fabs(expected)));
          }
        }
      }
    }
  }
}

// The first token, with mu = 2 tau, is drawn from the tokens of at most mu bits, renormalized.
TEST(Mirostat, DrawsFromTheRemainingTokens) {
  const std::vector<float> logits = some_logits(60, 4);
  const std::vector<double> p = softmax(logits);
  SamplerParams params = plain();
  params.mirostat_tau = 2.8f;
  params.mirostat_m = 60;

  // Version 2 keeps tokens by their surprise.
  std::vector<double> exact = p;
  double kept = 0;
  for (double& x : exact) kept += x = -std::log2(x) <= 5.6 ? x : 0;
  for (double& x : exact) x /= kept;
  ASSERT_GT(std::count(exact.begin(), exact.end(), 0.0), 3);
  params.selection = Selection::kMirostatV2;
  TestSampler sampler(logits.size());
  ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
  expect_distribution(exact, draw(sampler, logits, kDraws));

  // Version 1 keeps the k most likely tokens, where k follows from Zipf's exponent s of all of them (Basu et al. 2021).
  std::vector<double> sorted = p;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double products = 0, squares = 0;
  for (size_t i = 0; i + 1 < sorted.size(); ++i) {
    const double t = std::log((static_cast<double>(i) + 2) / (static_cast<double>(i) + 1));
    products += t * std::log(sorted[i] / sorted[i + 1]);
    squares += t * t;
  }
  const double s = products / squares;
  const double k = std::pow((s - 1) * std::exp2(5.6) / (1 - std::pow(60, 1 - s)), 1 / s);
  ASSERT_GT(k, 4);
  ASSERT_LT(k, 55);
  const double floor = sorted[static_cast<size_t>(k) - 1];
  exact = p;
  kept = 0;
  for (double& x : exact) kept += x = x >= floor ? x : 0;
  for (double& x : exact) x /= kept;
  params.selection = Selection::kMirostat;
  ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
  expect_distribution(exact, draw(sampler, logits, kDraws));
}

}  // namespace
}  // namespace sotto
