// Tests the arithmetic that all searches share.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "runtime/search/search_run.h"
#include "tests/unit/search/search_fixture.h"

namespace sotto {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(LogSoftmax, IsTheDefinition) {
  std::mt19937 random(1);
  for (const float spread : {0.01f, 1.0f, 30.0f, 1000.0f}) {
    std::vector<float> logits(5000);
    std::normal_distribution<float> normal(-60, spread);
    for (float& l : logits) l = normal(random);
    logits[7] = kNan;
    logits[9] = -kInfinity;
    double max = -kInfinity, sum = 0;
    for (const float l : logits) max = l > max ? l : max;
    for (const float l : logits) sum += l == l ? std::exp(l - max) : 0;
    std::vector<float> result = logits;
    log_softmax(reference_kernels(), result);
    for (int32_t i = 0; i < 5000; ++i) {
      const auto at = static_cast<size_t>(i);
      if (i == 7 || i == 9) {
        EXPECT_EQ(result[at], -kInfinity);
        EXPECT_EQ(log_probability_of(reference_kernels(), logits, i), -kInfinity);
        continue;
      }
      const double expected = logits[at] - max - std::log(sum);
      EXPECT_NEAR(result[at], expected, 1e-6 * (1 + std::fabs(expected)));
      if (i % 16 != 0) continue;  // each result covers all of them
      EXPECT_NEAR(log_probability_of(reference_kernels(), logits, i), expected, 1e-6);
    }
  }
}

TEST(LogSoftmax, SharesProbabilityIfNoLogitIsFinite) {
  std::vector<float> logits = {1, kInfinity, kNan, kInfinity, -kInfinity};
  EXPECT_NEAR(log_probability_of(reference_kernels(), logits, 3), -std::log(2.0), 1e-9);
  EXPECT_EQ(log_probability_of(reference_kernels(), logits, 0), -kInfinity);
  log_softmax(reference_kernels(), logits);
  EXPECT_NEAR(logits[1], -std::log(2.0), 1e-6);
  EXPECT_EQ(logits[1], logits[3]);
  for (const size_t i : {0, 2, 4}) EXPECT_EQ(logits[i], -kInfinity);
  std::vector<float> nothing = {-kInfinity, kNan, -kInfinity};
  EXPECT_NEAR(log_probability_of(reference_kernels(), nothing, 1), -std::log(3.0), 1e-9);
  log_softmax(reference_kernels(), nothing);
  for (const float l : nothing) EXPECT_NEAR(l, -std::log(3.0), 1e-6);
}

TEST(LengthScore, FollowsBothNorms) {
  SearchParams params;
  for (const float alpha : {-10.0f, -1.0f, 0.0f, 0.3f, 1.0f, 2.0f, 10.0f}) {
    params.length_penalty = alpha;
    for (const uint32_t length : {1u, 2u, 17u, 1024u}) {
      params.length_norm = LengthNorm::kPower;
      const double power = -12.5 / std::pow(length, static_cast<double>(alpha));
      EXPECT_NEAR(length_score(params, -12.5, length), power, 1e-12 * std::fabs(power));
      params.length_norm = LengthNorm::kGnmt;
      const double gnmt = -12.5 / std::pow((5.0 + length) / 6, static_cast<double>(alpha));
      EXPECT_NEAR(length_score(params, -12.5, length), gnmt, 1e-12 * std::fabs(gnmt));
    }
  }
  EXPECT_EQ(length_score(params, -3, 0), -3);
}

// Banks that have candidates get the same number of beams, and the fullest banks get the remainder.
TEST(AllocateBanks, DistributesBeamsOverBanks) {
  const auto counts = [](std::vector<uint32_t> banks, size_t wanted) {
    std::vector<BeamCandidate> candidates;
    for (size_t i = 0; i < banks.size(); ++i) {
      BeamCandidate candidate;
      candidate.key = -static_cast<double>(i);
      candidate.bank = banks[i];
      candidates.push_back(candidate);
    }
    const size_t count = allocate_banks(candidates, wanted);
    EXPECT_EQ(count, std::min(wanted, banks.size()));
    std::vector<int> result(4);
    for (size_t i = 0; i < count; ++i) {
      ++result[candidates[i].bank];
      if (i > 0) {
        EXPECT_TRUE(is_better(candidates[i - 1], candidates[i]));
      }
    }
    return result;
  };
  EXPECT_EQ(counts({0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2}, 6), (std::vector<int>{2, 2, 2, 0}));
  EXPECT_EQ(counts({0, 0, 0, 0, 0, 0, 1, 1, 1, 3, 3}, 5), (std::vector<int>{1, 2, 0, 2}));
  EXPECT_EQ(counts({0, 0, 0, 0, 0, 0, 0, 1}, 4), (std::vector<int>{3, 1, 0, 0}));
  EXPECT_EQ(counts({0, 1, 2, 3, 0, 0, 0}, 2), (std::vector<int>{0, 0, 1, 1}));
  EXPECT_EQ(counts({0, 1, 2}, 5), (std::vector<int>{1, 1, 1, 0}));
}

}  // namespace
}  // namespace sotto
