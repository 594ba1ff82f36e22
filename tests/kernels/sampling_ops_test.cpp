// The ops that look at a whole vocabulary, of every instruction set against the reference, bit for
// bit.
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/math.h"
#include "tests/kernels/ops_fixture.h"

namespace sotto::test {
namespace {

class SamplingOps : public OpsTest {};

// Logits as a sampler may meet them: what is not finite, ties of the largest.
std::vector<float> hostile_logits(Numbers numbers, size_t n, std::mt19937_64& random) {
  std::vector<float> values = make_floats(numbers, n, random);
  for (float& x : values) {
    const auto dice = random() % 32;
    if (dice == 0) x = std::numeric_limits<float>::quiet_NaN();
    if (dice < 4 && dice > 0) x = -std::numeric_limits<float>::infinity();
    if (dice == 4) x = values[0];
  }
  return values;
}

TEST_P(SamplingOps, ExpWeights) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    std::vector<float> values = hostile_logits(numbers, n, random_);
    if (random_() % 8 == 0) values[random_() % n] = kInfinity;
    const GuardedArray<float> x(values, placement), y(n, placement);
    const float max = reference_->max(x.data(), n);
    for (const float scale : {1.0f, 0.01f, 3.0f, 1e30f, std::numeric_limits<float>::max()}) {
      std::vector<float> expected(n);
      const uint64_t sum = reference_->exp_weights(x.data(), n, max, scale, expected.data());
      kernels_->exp_shares(x.data(), n, max, scale, y.data());
      EXPECT_EQ(difference(expected, y.values()), "");
      EXPECT_EQ(kernels_->exp_weights(x.data(), n, max, scale, y.data()), sum);
      EXPECT_EQ(difference(expected, y.values()), "");
    }
    EXPECT_TRUE(x.intact() && y.intact());
    kernels_->exp_weights(x.data(), n, max, 1.0f, x.data());
    std::vector<float> expected(n);
    reference_->exp_weights(values.data(), n, max, 1.0f, expected.data());
    EXPECT_EQ(difference(expected, x.values()), "");
  });
}

TEST_P(SamplingOps, WeightsAreExactSums) {
  const std::vector<float> x = {0, -1, -27.7f, -28.5f, -40, -kExpMax, 0};
  std::vector<float> y(x.size());
  uint64_t sum = 0;
  const uint64_t total = kernels_->exp_weights(x.data(), x.size(), 0, 1, y.data());
  for (const float share : y) sum += static_cast<uint64_t>(std::nearbyint(share * 0x1p40));
  EXPECT_EQ(total, sum);
  EXPECT_EQ(weight_of(1), uint64_t{1} << 40);
  EXPECT_EQ(weight_of(0x1p-40f), 1u);
  EXPECT_EQ(weight_of(0x1p-42f), 0u);
}

TEST_P(SamplingOps, KeepFrom) {
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    const std::vector<float> keys = hostile_logits(numbers, n, random_);
    const std::vector<float> values = make_floats(numbers, n, random_);
    std::vector<int32_t> ids(n);
    for (int32_t& id : ids) id = static_cast<int32_t>(random_());
    const GuardedArray<float> x(values, placement), kept_x(n, placement);
    const GuardedArray<int32_t> kept_ids(n, placement), own_ids(ids, placement);
    for (const bool counted : {false, true}) {
      const float floor = random_() % 8 == 0 ? -std::numeric_limits<float>::infinity() : keys[random_() % n];
      std::vector<float> expected_x(n);
      std::vector<int32_t> expected_ids(n);
      const size_t kept = reference_->keep_from(keys.data(), floor, values.data(), counted ? nullptr : ids.data(), 1000,
                                                n, expected_x.data(), expected_ids.data());
      const auto same = [&](const GuardedArray<float>& got_x, const GuardedArray<int32_t>& got) {
        for (size_t i = 0; i < kept; ++i) {
          EXPECT_TRUE(same_bits(got_x.data()[i], expected_x[i])) << i;
          EXPECT_EQ(got.data()[i], expected_ids[i]) << i;
        }
        EXPECT_TRUE(got_x.intact() && got.intact());
      };
      EXPECT_EQ(kernels_->keep_from(keys.data(), floor, x.data(), counted ? nullptr : ids.data(), 1000, n,
                                    kept_x.data(), kept_ids.data()),
                kept);
      same(kept_x, kept_ids);
      EXPECT_EQ(difference(values, x.values()), "");
      if (counted) continue;
      const GuardedArray<float> in_place(values, placement);
      const GuardedArray<int32_t> ids_in_place(ids, placement);
      EXPECT_EQ(kernels_->keep_from(keys.data(), floor, in_place.data(), ids_in_place.data(), 0, n, in_place.data(),
                                    ids_in_place.data()),
                kept);
      same(in_place, ids_in_place);
    }
  });
}

TEST_P(SamplingOps, Split) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    const std::vector<float> keys = hostile_logits(numbers, n, random_);
    std::vector<float> shares(n);
    for (float& share : shares) share = static_cast<float>(random_() % 1000) * 0x1p-10f;
    const GuardedArray<float> x(keys, placement), values(shares, placement);
    const GuardedArray<int32_t> between(n, placement);
    for (const double base : {kWeightBase, 0x1p16}) {
      const float floor = random_() % 4 == 0 ? -kInfinity : keys[random_() % n];
      const float ceiling = random_() % 4 == 0   ? kInfinity
                            : random_() % 4 == 0 ? std::numeric_limits<float>::quiet_NaN()
                                                 : keys[random_() % n];
      std::vector<int32_t> expected(n);
      const Split split = reference_->split(keys.data(), floor, ceiling, shares.data(), base, 7, n, expected.data());
      const Split got = kernels_->split(x.data(), floor, ceiling, values.data(), base, 7, n, between.data());
      EXPECT_EQ(got.sum, split.sum);
      ASSERT_EQ(got.collected, split.collected);
      for (size_t i = 0; i < split.collected; ++i) {
        EXPECT_EQ(between.data()[i], expected[i]) << i;
      }
    }
    EXPECT_TRUE(x.intact() && values.intact() && between.intact());
  });
}

TEST_P(SamplingOps, SplitOfAFew) {
  const std::vector<float> x = {3, 1, 2, -1, 2, 0};
  const std::vector<float> values = {1, 0.5f, 0.25f, 1, 1, 0};
  int32_t between[6];
  const Split split = kernels_->split(x.data(), 0, 2, values.data(), kWeightBase, 0, 6, between);
  EXPECT_EQ(split.sum, weight_of(1) + weight_of(0.25f) + weight_of(1));
  ASSERT_EQ(split.collected, 2u);
  EXPECT_EQ(between[0], 1);
  EXPECT_EQ(between[1], 5);
}

// Shares that belong to logits: 1 for the largest, 0 for what is not a number.
std::vector<float> shares_of(const std::vector<float>& logits, float max, std::mt19937_64& random) {
  std::vector<float> shares(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    const float share = random() % 4 == 0 ? 0.0f : static_cast<float>(1 + random() % 1000) * 1e-3f;
    shares[i] = logits[i] >= max ? 1.0f : std::isfinite(logits[i]) ? share : 0.0f;
  }
  return shares;
}

TEST_P(SamplingOps, SumGaps) {
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    const std::vector<float> values = hostile_logits(numbers, n, random_);
    const GuardedArray<float> x(values, placement);
    const float max = reference_->max(x.data(), n);
    const GuardedArray<float> y(shares_of(values, max, random_), placement);
    for (const float scale : {1.0f, 0.01f, 3.0f}) {
      const double expected = reference_->sum_gaps(x.data(), y.data(), n, max, scale);
      const double sum = kernels_->sum_gaps(x.data(), y.data(), n, max, scale);
      EXPECT_EQ(std::bit_cast<uint64_t>(sum), std::bit_cast<uint64_t>(expected));
    }
  });
}

TEST_P(SamplingOps, SumGapsOfAFew) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float x[] = {3, 1, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 2, 0, 0, 0, -1};
  const float y[] = {1, 0.5f, 0, 0, 0.25f, 0, 0, 0, 0.125f};
  EXPECT_EQ(kernels_->sum_gaps(x, y, 9, 3, 2), 0.5 * 4 + 0.25 * 2 + 0.125 * 8);
}

TEST_P(SamplingOps, SumBends) {
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    const std::vector<float> values = make_floats(numbers, n + 2, random_);
    const GuardedArray<float> p(values, placement);
    const double expected = reference_->sum_bends(values.data(), n);
    EXPECT_EQ(std::bit_cast<uint64_t>(kernels_->sum_bends(p.data(), n)), std::bit_cast<uint64_t>(expected));
  });
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    const std::vector<float> values = make_floats(numbers, 2 * n + 2, random_);
    const GuardedArray<float> p(values, placement);
    double sums[2];
    kernels_->sum_bends_twice(p.data(), n, sums);
    for (const size_t k : {size_t{0}, size_t{1}}) {
      const double expected = reference_->sum_bends(values.data() + k * n, n);
      EXPECT_EQ(std::bit_cast<uint64_t>(sums[k]), std::bit_cast<uint64_t>(expected));
    }
  });
  const float p[] = {1, 0.5f, 0.25f, 0.25f};
  EXPECT_EQ(kernels_->sum_bends(p, 2), 0.25 + 0.25);
}

TEST_P(SamplingOps, Surprises) {
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    std::vector<float> values = hostile_logits(numbers, n, random_);
    const float max = reference_->max(values.data(), n);
    for (float& l : values) l = l > max - 9 ? l : -std::numeric_limits<float>::infinity();
    const GuardedArray<float> x(values, placement), y(n, placement);
    const GuardedArray<float> shares(shares_of(values, max, random_), placement);
    for (const float offset : {0.0f, 0.7f, 15.0f}) {
      std::vector<float> expected(n);
      const uint64_t sum =
          reference_->surprises(x.data(), shares.data(), n, max, 0.5f, offset, 0x1p16, expected.data());
      EXPECT_EQ(kernels_->surprises(x.data(), shares.data(), n, max, 0.5f, offset, 0x1p16, y.data()), sum);
      EXPECT_EQ(difference(expected, y.values()), "");
    }
    EXPECT_TRUE(x.intact() && shares.intact() && y.intact());
  });
}

TEST_P(SamplingOps, Nearness) {
  constexpr float kMax = std::numeric_limits<float>::max();
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    const std::vector<float> values = hostile_logits(numbers, n, random_);
    const GuardedArray<float> x(values, placement), y(n, placement);
    const float max = reference_->max(x.data(), n);
    for (const float scale : {1.0f, 0.01f, 1e30f, kMax}) {
      for (const float center : {0.0f, 2.5f, -1e-3f, std::numeric_limits<float>::infinity()}) {
        std::vector<float> expected(n);
        reference_->nearness(values.data(), n, max, scale, center, expected.data());
        kernels_->nearness(x.data(), n, max, scale, center, y.data());
        EXPECT_EQ(difference(expected, y.values()), "");
        for (const float near : expected) EXPECT_LE(near, 0);
      }
    }
    EXPECT_TRUE(x.intact() && y.intact());
  });
}

TEST_P(SamplingOps, NearnessOfAFew) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float x[] = {3, 1, -2, -kInfinity, std::numeric_limits<float>::quiet_NaN()};
  float y[5];
  kernels_->nearness(x, 5, 3, 0.5f, 1, y);
  const std::vector<float> expected = {-1, -0.0f, -1.5f, -kInfinity, -kInfinity};
  EXPECT_EQ(difference(expected, std::vector<float>(y, y + 5)), "");
}

TEST_P(SamplingOps, SumFinite) {
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    std::vector<float> values = hostile_logits(numbers, n, random_);
    if (random_() % 8 == 0) values[random_() % n] = std::numeric_limits<float>::infinity();
    const GuardedArray<float> x(values, placement);
    for (const double shift : {0.0, -0.3, 1e30}) {
      for (const bool squares : {false, true}) {
        const FiniteSum expected = reference_->sum_finite(values.data(), n, shift, squares);
        const FiniteSum got = kernels_->sum_finite(x.data(), n, shift, squares);
        EXPECT_EQ(std::bit_cast<uint64_t>(got.sum), std::bit_cast<uint64_t>(expected.sum));
        EXPECT_EQ(got.count, expected.count);
      }
    }
  });
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float x[] = {3, -kInfinity, 1, std::numeric_limits<float>::quiet_NaN(), kInfinity, -1};
  EXPECT_EQ(kernels_->sum_finite(x, 6, 2, false).sum, 1 - 1 - 3);
  EXPECT_EQ(kernels_->sum_finite(x, 6, 2, true).sum, 1 + 1 + 9);
  EXPECT_EQ(kernels_->sum_finite(x, 6, 2, true).count, 3u);
}

TEST_P(SamplingOps, Smooth) {
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    const std::vector<float> values = hostile_logits(numbers, n, random_);
    const GuardedArray<float> x(values, placement);
    std::vector<float> expected = values;
    const float max = reference_->max(values.data(), n);
    reference_->smooth(expected.data(), n, max, -0.3, 0.05);
    kernels_->smooth(x.data(), n, max, -0.3, 0.05);
    EXPECT_EQ(difference(expected, x.values()), "");
    EXPECT_TRUE(x.intact());
  });
  float x[] = {3, 1, std::numeric_limits<float>::quiet_NaN()};
  kernels_->smooth(x, 3, 3, -0.5, 0.25);
  EXPECT_EQ(
      difference({3, 3 + 4 * (-0.5f - 0.5f), -std::numeric_limits<float>::infinity()}, std::vector<float>(x, x + 3)),
      "");
}

TEST_P(SamplingOps, Aim) {
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    const std::vector<float> values = hostile_logits(numbers, n, random_);
    const float max = reference_->max(values.data(), n);
    const std::vector<float> shares = shares_of(values, max, random_);
    const GuardedArray<float> given(shares, placement), p(n, placement), x(values, placement);
    std::vector<float> expected_p(n), expected = values;
    reference_->aim(shares.data(), n, 0.01f, 0.3f, expected_p.data(), expected.data());
    kernels_->aim(given.data(), n, 0.01f, 0.3f, p.data(), x.data());
    EXPECT_EQ(difference(expected_p, p.values()), "");
    EXPECT_EQ(difference(expected, x.values()), "");
    EXPECT_TRUE(given.intact() && p.intact() && x.intact());
  });
  const float shares[] = {1, 0.5f, 0.25f};
  float p[3], x[] = {0, 1, -std::numeric_limits<float>::infinity()};
  kernels_->aim(shares, 3, 0.5f, 0.5f, p, x);
  EXPECT_EQ(difference({0.5f, 0.25f, 0.125f}, std::vector<float>(p, p + 3)), "");
  const float d = 0.25f * (1 / 0.3f);
  EXPECT_EQ(difference({5, 5 - 10 * (d * d) / (1 + d), x[2]}, std::vector<float>(x, x + 3)), "");
}

TEST_P(SamplingOps, CollectBelow) {
  for_each_case([&](Numbers, size_t n, Placement placement) {
    std::vector<uint32_t> all_words(n);
    for (uint32_t& word : all_words) {
      word = static_cast<uint32_t>(random_()) >> random_() % 20;
    }
    std::vector<float> shares(n);
    for (float& share : shares) {
      share = random_() % 8 == 0 ? 0.0f : static_cast<float>(random_() % 1024) * 0x1p-10f;
    }
    const GuardedArray<uint32_t> words(all_words, placement);
    const GuardedArray<float> y(shares, placement);
    const GuardedArray<int32_t> below(n, placement);
    for (const float factor : {std::numeric_limits<float>::infinity(), 0.5f, 1e-3f, 0.0f}) {
      std::vector<int32_t> expected(n);
      const size_t count = reference_->collect_below(all_words.data(), shares.data(), factor, 5, n, expected.data());
      ASSERT_EQ(kernels_->collect_below(words.data(), y.data(), factor, 5, n, below.data()), count);
      for (size_t i = 0; i < count; ++i) EXPECT_EQ(below.data()[i], expected[i]) << i;
    }
    EXPECT_TRUE(words.intact() && y.intact() && below.intact());
  });
}

TEST_P(SamplingOps, CollectBelowOfAFew) {
  const uint32_t words[] = {0x80000000, 0x800000ff, 0x80000100, 0, 0xffffffff};
  const float y[] = {1, 1, 1, 0, 2};
  int32_t below[5];
  ASSERT_EQ(kernels_->collect_below(words, y, 0.5f, 10, 5, below), 4u);
  EXPECT_EQ(std::vector<int32_t>(below, below + 4), (std::vector<int32_t>{10, 11, 13, 14}));
}

TEST_P(SamplingOps, MinHash) {
  for_each_case([&](Numbers, size_t n, Placement placement) {
    std::vector<int32_t> ids(n), anchors(1 + random_() % 16);
    for (int32_t& id : ids) id = static_cast<int32_t>(random_());
    for (int32_t& anchor : anchors) anchor = static_cast<int32_t>(random_());
    const MinHash hash = {anchors.data(), anchors.size(), static_cast<uint32_t>(random_()),
                          static_cast<uint32_t>(random_())};
    const GuardedArray<int32_t> own_ids(ids, placement), hashes(n, placement);
    for (const bool counted : {false, true}) {
      std::vector<int32_t> expected(n);
      reference_->min_hash(hash, counted ? nullptr : ids.data(), 7, n, expected.data());
      kernels_->min_hash(hash, counted ? nullptr : own_ids.data(), 7, n, hashes.data());
      EXPECT_EQ(expected, hashes.values());
      EXPECT_TRUE(hashes.intact());
    }
  });
}

TEST_P(SamplingOps, MixWords) {
  for_each_case([&](Numbers, size_t n, Placement placement) {
    std::vector<int32_t> ids(n);
    for (int32_t& id : ids) id = static_cast<int32_t>(random_());
    const GuardedArray<int32_t> own_ids(ids, placement);
    const GuardedArray<uint32_t> words(n, placement);
    const uint64_t seed = random_();
    for (const bool high : {false, true}) {
      for (const int32_t* from : {static_cast<const int32_t*>(own_ids.data()), static_cast<const int32_t*>(nullptr)}) {
        std::vector<uint32_t> expected(n);
        reference_->mix_words(seed, high, from, 7, n, expected.data());
        kernels_->mix_words(seed, high, from, 7, n, words.data());
        EXPECT_EQ(expected, words.values());
        const uint64_t index = from == nullptr ? n + 6 : static_cast<uint32_t>(ids[n - 1]);
        const uint64_t last = mix64(seed, index);
        EXPECT_EQ(expected[n - 1], static_cast<uint32_t>(high ? last >> 32 : last));
      }
    }
    EXPECT_TRUE(words.intact());
  });
}

SOTTO_INSTANTIATE_ISAS(SamplingOps);

}  // namespace
}  // namespace sotto::test
