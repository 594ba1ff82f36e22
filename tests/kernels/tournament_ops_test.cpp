// The ops of the tournament watermark, of every instruction set against the reference, bit for bit.
#include <algorithm>

#include "tests/kernels/ops_fixture.h"

namespace sotto::test {
namespace {

class TournamentOps : public OpsTest {};

// Random words, and parts and bits of them to look at.
struct BitCase {
  BitCase(size_t n, std::mt19937_64& random)
      : words(n),
        parts(n),
        bits(static_cast<uint32_t>(1 + random() % 10)),
        shift(static_cast<uint32_t>(random() % (33 - bits))) {
    for (uint32_t& word : words) word = static_cast<uint32_t>(random());
    for (float& x : parts) x = static_cast<float>(random() % 1000) * 0x1p-20f;
  }

  std::vector<uint32_t> words;
  std::vector<float> parts;
  uint32_t bits;
  uint32_t shift;
};

std::vector<int32_t> random_ids(size_t n, std::mt19937_64& random) {
  std::vector<int32_t> ids(n);
  for (int32_t& id : ids) id = static_cast<int32_t>(random());
  return ids;
}

std::vector<float> random_factors(std::mt19937_64& random) {
  std::vector<float> factors(64);
  for (float& x : factors) x = static_cast<float>(random() % 1000) * 0x1p-9f;
  return factors;
}

TEST_P(TournamentOps, MixAndAdd) {
  for_each_case([&](Numbers, size_t n, Placement placement) {
    const BitCase c(n, random_);
    const GuardedArray<int32_t> ids(random_ids(n, random_), placement);
    const GuardedArray<float> p(c.parts, placement);
    const GuardedArray<uint32_t> words(n, placement);
    const uint64_t seed = random_();
    for (const int32_t* from : {static_cast<const int32_t*>(ids.data()), static_cast<const int32_t*>(nullptr)}) {
      const bool high = random_() % 2 == 0;
      std::vector<uint32_t> expected(n);
      std::vector<float> expected_sums(size_t{1} << c.bits, 0.25f);
      const GuardedArray<float> sums(expected_sums, placement);
      reference_->mix_and_add(seed, high, from, 7, c.bits, p.data(), n, expected.data(), expected_sums.data());
      kernels_->mix_and_add(seed, high, from, 7, c.bits, p.data(), n, words.data(), sums.data());
      EXPECT_EQ(words.values(), expected);
      EXPECT_EQ(difference(expected_sums, sums.values()), "");
      EXPECT_TRUE(sums.intact() && words.intact());
      reference_->mix_words(seed, high, from, 7, n, expected.data());
      EXPECT_EQ(words.values(), expected);
    }
  });
}

TEST_P(TournamentOps, ScaleByBits) {
  for_each_case([&](Numbers, size_t n, Placement placement) {
    const BitCase c(n, random_);
    const GuardedArray<uint32_t> words(c.words, placement);
    const GuardedArray<float> factors(random_factors(random_), placement);
    expect_same_in_place(c.parts, placement, [&](const Kernels& kernels, float* p) {
      kernels.scale_by_bits(words.data(), c.shift, c.bits, factors.data(), factors.data() + 32, 0x1p-12f, n, p, p);
      for (size_t i = 0; i < n; ++i) EXPECT_TRUE(p[i] == 0 || p[i] >= 0x1p-12f);
    });
  });
}

TEST_P(TournamentOps, ScaleAndAdd) {
  for_each_case([&](Numbers, size_t n, Placement placement) {
    const BitCase c(n, random_);
    if (c.shift + c.bits == 32) return;
    const auto next_bits = static_cast<uint32_t>(1 + random_() % std::min(uint32_t{10}, 32 - c.shift - c.bits));
    const GuardedArray<uint32_t> words(c.words, placement);
    const GuardedArray<float> factors(random_factors(random_), placement);
    std::vector<float> expected(n), expected_sums(size_t{1} << next_bits, 0.25f);
    reference_->scale_and_add(c.words.data(), c.shift, c.bits, factors.data(), factors.data() + 32, 0x1p-12f, next_bits,
                              n, c.parts.data(), expected.data(), expected_sums.data());
    for (const bool in_place : {false, true}) {
      const GuardedArray<float> sums(std::vector<float>(expected_sums.size(), 0.25f), placement);
      const GuardedArray<float> p(c.parts, placement), other(n, placement);
      const GuardedArray<float>& y = in_place ? p : other;
      kernels_->scale_and_add(words.data(), c.shift, c.bits, factors.data(), factors.data() + 32, 0x1p-12f, next_bits,
                              n, p.data(), y.data(), sums.data());
      EXPECT_EQ(difference(expected, y.values()), "");
      EXPECT_EQ(difference(expected_sums, sums.values()), "");
      EXPECT_TRUE(sums.intact() && p.intact() && other.intact());
    }
  });
}

TEST_P(TournamentOps, ScaleAndAddOfAFew) {
  const uint32_t words[] = {0b101, 0b010, 0b111, 0b001};
  const float p[] = {1, 2, 3, 4};
  std::vector<float> low(32), high(32, 1.0f);
  low[0] = 0.5f;
  low[1] = 2;
  float y[4], sums[4] = {};
  kernels_->scale_and_add(words, 0, 1, low.data(), high.data(), 2, 2, 4, p, y, sums);
  EXPECT_EQ(std::vector<float>(y, y + 4), (std::vector<float>{2, 0, 6, 8}));
  EXPECT_EQ(std::vector<float>(sums, sums + 4), (std::vector<float>{8, 0, 2, 6}));
}

TEST_P(TournamentOps, CollectByBits) {
  for_each_case([&](Numbers, size_t n, Placement placement) {
    const BitCase c(n, random_);
    const GuardedArray<uint32_t> words(c.words, placement);
    const GuardedArray<int32_t> collected(n, placement);
    const uint32_t pattern = c.words[random_() % n] >> c.shift & ((1u << c.bits) - 1);
    std::vector<int32_t> expected(n);
    const size_t count = reference_->collect_by_bits(c.words.data(), c.shift, c.bits, pattern, 5, n, expected.data());
    EXPECT_GT(count, 0u);
    ASSERT_EQ(kernels_->collect_by_bits(words.data(), c.shift, c.bits, pattern, 5, n, collected.data()), count);
    for (size_t i = 0; i < count; ++i) EXPECT_EQ(collected.data()[i], expected[i]) << i;
    EXPECT_TRUE(words.intact() && collected.intact());
  });
}

SOTTO_INSTANTIATE_ISAS(TournamentOps);

}  // namespace
}  // namespace sotto::test
