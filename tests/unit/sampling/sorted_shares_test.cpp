// Shares sorted by slices against shares sorted by digits, of which the results must be the same.
#include "runtime/sampling/stages/sorted_shares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "tests/unit/sampling/workbench.h"

namespace sotto {
namespace {

std::vector<float> normal_logits(size_t count, float sigma, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal(0, sigma);
  std::vector<float> logits(count);
  for (float& logit : logits) logit = normal(random);
  return logits;
}

// False if the slices do not suit.
bool compare(const std::vector<float>& logits) {
  TestCandidates by_slices(logits.size()), by_digits(logits.size());
  Candidates& c = by_slices.begin(logits);
  Candidates& d = by_digits.begin(logits);
  const size_t count = logits.size();
  SliceSort slices(c, {c.shares(), count}, c.scratch());
  if (!slices.sort()) return false;
  DigitSort digits(d, {d.shares(), count});
  std::vector<float> sorted(c.shares(), c.shares() + count);
  std::sort(sorted.begin(), sorted.end(), std::greater<float>());
  size_t first = 0;
  for (size_t block = 0; block < slices.block_count(); ++block) {
    const size_t size = slices.block_size(block);
    const size_t bends = std::min(size, count - 2 - std::min(first, count - 2));
    EXPECT_EQ(slices.sum_of_bends(block), c.kernels().sum_bends(sorted.data() + first, bends)) << block;
    first += size;
  }
  for (; first < count - 2; ++first) EXPECT_EQ(sorted[first], 0) << first;
  double sum = 0;
  for (size_t block = 0; block < digits.block_count(); ++block) {
    const size_t begin = block * digits.block_size(block);
    const size_t bends = std::min(digits.block_size(block), count - 2 - begin);
    EXPECT_EQ(digits.sum_of_bends(block), c.kernels().sum_bends(sorted.data() + begin, bends));
    sum += digits.sum_of_bends(block);
  }
  double slices_sum = 0;
  for (size_t block = 0; block < slices.block_count(); ++block) {
    slices_sum += slices.sum_of_bends(block);
  }
  EXPECT_EQ(slices_sum, sum);
  for (size_t rank = 0; rank < count; rank += rank < 2000 ? 251 : 1009) {
    const size_t asked = std::min(kBendBlock + 3, count - rank);
    const float* got = slices.from(rank);
    EXPECT_TRUE(std::equal(got, got + asked, sorted.begin() + static_cast<ptrdiff_t>(rank))) << rank;
    EXPECT_TRUE(std::equal(got, got + asked, digits.from(rank))) << rank;
  }
  return true;
}

TEST(SortedShares, AreTheSameByEitherWay) {
  for (const size_t count : {16384u, 20000u, 50257u, 128000u, 262144u}) {
    for (const float sigma : {0.01f, 0.3f, 1.0f, 3.0f, 8.0f}) {
      SCOPED_TRACE(testing::Message() << count << " of " << sigma);
      EXPECT_TRUE(compare(normal_logits(count, sigma, count)));
    }
  }
}

TEST(SortedShares, OfAnEvenRange) {
  std::vector<float> logits = normal_logits(50257, 1, 1);
  for (float& logit : logits) logit = std::remainder(logit, 0.5f);
  EXPECT_TRUE(compare(logits));
}

TEST(SortedShares, MayBeZeroOrFarAway) {
  std::vector<float> logits = normal_logits(50257, 1, 2);
  for (size_t i = 0; i < logits.size(); i += 97) logits[i] = -INFINITY;
  for (size_t i = 1; i < logits.size(); i += 5003) logits[i] = -40;
  EXPECT_TRUE(compare(logits));
}

// More equal shares than a column has room for.
TEST(SortedShares, MayBeEqualInPlaces) {
  std::vector<float> logits = normal_logits(50257, 1, 3);
  for (size_t i = 0; i < logits.size(); i += 400) logits[i] = 0.25f;
  EXPECT_TRUE(compare(logits));
}

TEST(SortedShares, AreLeftToDigitsWhereSlicesDoNotSuit) {
  std::vector<float> logits = normal_logits(50257, 1, 4);
  EXPECT_FALSE(compare(std::vector<float>(logits.begin(), logits.begin() + 16383)));
  std::vector<float> rounded = logits;
  for (float& logit : rounded) logit = std::round(logit * 16) / 16;
  EXPECT_FALSE(compare(rounded));
  for (size_t i = 0; i < logits.size(); i += 10) logits[i] = -INFINITY;
  EXPECT_FALSE(compare(logits));
  EXPECT_FALSE(compare(std::vector<float>(50257)));
}

}  // namespace
}  // namespace sotto
