// Tests the arithmetic that all searches share.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/search/search_run.h"
#include "tests/unit/search/search_fixture.h"

namespace sotto {
namespace {

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
