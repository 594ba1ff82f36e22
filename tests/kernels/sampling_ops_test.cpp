// Compares the sampling ops of every instruction set with the reference, bit for bit.
#include <cmath>
#include <limits>

#include "kernels/math.h"
#include "tests/kernels/ops_fixture.h"

namespace sotto::test {
namespace {

class SamplingOps : public OpsTest {};

// Logits with values that are not finite, and ties of the largest.
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

TEST_P(SamplingOps, ExpWeightsEqualReference) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    std::vector<float> values = hostile_logits(numbers, n, random_);
    if (random_() % 8 == 0) values[random_() % n] = kInfinity;
    const GuardedArray<float> x(values, placement), y(n, placement);
    const float max = reference_->max(x.data(), n);
    for (const float scale : {1.0f, 0.01f, 3.0f, 1e30f, std::numeric_limits<float>::max()}) {
      std::vector<float> expected(n);
      const uint64_t sum = reference_->exp_weights(x.data(), n, max, scale, expected.data());
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

TEST_P(SamplingOps, SumsOfWeightsAreExact) {
  const std::vector<float> x = {0, -1, -27.7f, -28.5f, -40, -kExpMax, 0};
  std::vector<float> y(x.size());
  uint64_t sum = 0;
  const uint64_t total = kernels_->exp_weights(x.data(), x.size(), 0, 1, y.data());
  for (const float weight : y) sum += static_cast<uint64_t>(std::nearbyint(weight * 0x1p40));
  EXPECT_EQ(total, sum);
  EXPECT_EQ(to_fixed(1), uint64_t{1} << 40);
  EXPECT_EQ(to_fixed(0x1p-40f), 1u);
  EXPECT_EQ(to_fixed(0x1p-42f), 0u);
}

TEST_P(SamplingOps, KeepFromEqualsReference) {
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

TEST_P(SamplingOps, SumAndCollectEqualsReference) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    const std::vector<float> keys = hostile_logits(numbers, n, random_);
    std::vector<float> weights(n);
    for (float& weight : weights) weight = static_cast<float>(random_() % 1000) * 0x1p-10f;
    const GuardedArray<float> x(keys, placement), values(weights, placement);
    const GuardedArray<int32_t> between(n, placement);
    const float floor = random_() % 4 == 0 ? -kInfinity : keys[random_() % n];
    const float ceiling = random_() % 4 == 0   ? kInfinity
                          : random_() % 4 == 0 ? std::numeric_limits<float>::quiet_NaN()
                                               : keys[random_() % n];
    std::vector<int32_t> expected(n);
    const CollectedSum found =
        reference_->sum_and_collect(keys.data(), floor, ceiling, weights.data(), 7, n, expected.data());
    const CollectedSum got = kernels_->sum_and_collect(x.data(), floor, ceiling, values.data(), 7, n, between.data());
    EXPECT_EQ(got.sum, found.sum);
    ASSERT_EQ(got.collected, found.collected);
    for (size_t i = 0; i < found.collected; ++i) {
      EXPECT_EQ(between.data()[i], expected[i]) << i;
    }
    EXPECT_TRUE(x.intact() && values.intact() && between.intact());
  });
}

TEST_P(SamplingOps, SumAndCollectOfAFewEqualsReference) {
  const std::vector<float> x = {3, 1, 2, -1, 2, 0};
  const std::vector<float> values = {1, 0.5f, 0.25f, 1, 1, 0};
  int32_t between[6];
  const CollectedSum found = kernels_->sum_and_collect(x.data(), 0, 2, values.data(), 0, 6, between);
  EXPECT_EQ(found.sum, to_fixed(1) + to_fixed(0.25f) + to_fixed(1));
  ASSERT_EQ(found.collected, 2u);
  EXPECT_EQ(between[0], 1);
  EXPECT_EQ(between[1], 5);
}

SOTTO_INSTANTIATE_ISAS(SamplingOps);

}  // namespace
}  // namespace sotto::test
