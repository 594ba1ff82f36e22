// Every instruction set against the reference, bit for bit, in arrays that end at an
// inaccessible page.
#include <cmath>
#include <limits>

#include "kernels/math.h"
#include "tests/kernels/isa_test.h"

namespace sotto::test {
namespace {

constexpr Placement kPlacements[] = {Placement::kBeforeGuard, Placement::kAfterGuard};

class Ops : public IsaTest {
 protected:
  // Runs body(numbers, n, placement) over finite numbers of every kind.
  template <typename Body>
  void for_each_case(Body&& body) {
    const uint64_t seed = test_seed();
    random_.seed(seed);
    for (const Numbers numbers : kFiniteNumbers) {
      for (const size_t n : edge_lengths()) {
        for (const Placement placement : kPlacements) {
          SCOPED_TRACE(testing::Message() << "seed " << seed << ", numbers "
                                          << static_cast<int>(numbers) << ", n " << n);
          body(numbers, n, placement);
          if (HasFailure()) return;
        }
      }
    }
  }

  // Runs op(kernels, data) on guarded copies of x and compares what became of it.
  template <typename Op>
  void expect_same_in_place(const std::vector<float>& x, Placement placement, Op&& op) {
    std::vector<float> expected = x;
    op(*reference_, expected.data());
    const GuardedArray<float> actual(x, placement);
    op(*kernels_, actual.data());
    EXPECT_EQ(difference(expected, actual.values()), "");
    EXPECT_TRUE(actual.intact());
  }

  Random random_;
};

TEST_P(Ops, LayerNorm) {
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    const GuardedArray<float> gain(make_floats(Numbers::kActivations, n, random_), placement);
    const GuardedArray<float> bias(make_floats(Numbers::kActivations, n, random_), placement);
    const GuardedArray<float> x(make_floats(numbers, n, random_), placement);
    std::vector<float> expected(n);
    reference_->layer_norm(x.data(), gain.data(), bias.data(), 1e-5f, n, expected.data());
    const GuardedArray<float> y(n, placement);
    kernels_->layer_norm(x.data(), gain.data(), bias.data(), 1e-5f, n, y.data());
    EXPECT_EQ(difference(expected, y.values()), "");
    EXPECT_TRUE(y.intact());
    kernels_->layer_norm(x.data(), gain.data(), bias.data(), 1e-5f, n, x.data());
    EXPECT_EQ(difference(expected, x.values()), "") << "in place";
  });
}

TEST_P(Ops, QuantizeRow) {
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    for (const Numbers kind : {numbers, Numbers::kHostile}) {
      const GuardedArray<float> x(make_floats(kind, n, random_), placement);
      std::vector<int8_t> expected(n);
      RowQuantization expected_quantization{};
      reference_->quantize_row(x.data(), n, expected.data(), &expected_quantization);
      const GuardedArray<int8_t> q(n, placement);
      RowQuantization quantization{};
      kernels_->quantize_row(x.data(), n, q.data(), &quantization);
      EXPECT_EQ(difference(expected, q.values()), "");
      EXPECT_TRUE(q.intact());
      EXPECT_EQ(quantization.zero_point, expected_quantization.zero_point);
      EXPECT_TRUE(same_bits(quantization.scale, expected_quantization.scale));
    }
  });
}

TEST_P(Ops, QuantizeSymmetric) {
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    const GuardedArray<float> x(make_floats(numbers, n, random_), placement);
    std::vector<int8_t> expected(n);
    const float expected_scale = reference_->quantize_symmetric(x.data(), n, expected.data());
    const GuardedArray<int8_t> q(n, placement);
    const float scale = kernels_->quantize_symmetric(x.data(), n, q.data());
    EXPECT_EQ(difference(expected, q.values()), "");
    EXPECT_TRUE(q.intact());
    EXPECT_TRUE(same_bits(scale, expected_scale));
  });
}

TEST_P(Ops, GeluTanh) {
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    expect_same_in_place(make_floats(numbers, n, random_), placement,
                         [n](const Kernels& kernels, float* x) { kernels.gelu_tanh(x, n); });
  });
}

TEST_P(Ops, GeluErf) {
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    expect_same_in_place(make_floats(numbers, n, random_), placement,
                         [n](const Kernels& kernels, float* x) { kernels.gelu_erf(x, n); });
  });
}

TEST_P(Ops, Add) {
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    const GuardedArray<float> x(make_floats(numbers, n, random_), placement);
    expect_same_in_place(
        make_floats(numbers, n, random_), placement,
        [&](const Kernels& kernels, float* y) { kernels.add(x.data(), n, y); });
  });
}

TEST_P(Ops, Embed) {
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    const GuardedArray<int8_t> q(make_int8(n, random_), placement);
    const GuardedArray<float> position(make_floats(numbers, n, random_), placement);
    const float scale = make_floats(numbers, 1, random_)[0];
    std::vector<float> zeros(n);
    expect_same_in_place(zeros, placement, [&](const Kernels& kernels, float* y) {
      kernels.embed(q.data(), scale, position.data(), n, y);
    });
  });
}

TEST_P(Ops, MaxAndArgmax) {
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    for (const Numbers kind : {numbers, Numbers::kHostile}) {
      const GuardedArray<float> x(make_floats(kind, n, random_), placement);
      EXPECT_TRUE(same_bits(kernels_->max(x.data(), n), reference_->max(x.data(), n)));
      EXPECT_EQ(kernels_->argmax(x.data(), n), reference_->argmax(x.data(), n));
    }
  });
}

TEST_P(Ops, ArgmaxOfAWholeVocabularyIsTheFirstOfTies) {
  constexpr size_t kCount = 50257;
  const uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  random_.seed(seed);
  for (int round = 0; round < 50; ++round) {
    std::vector<float> x(kCount, -1.0f);
    const size_t first = random_() % kCount;
    x[first] = 2.0f;
    x[first + random_() % (kCount - first)] = 2.0f;
    EXPECT_EQ(kernels_->argmax(x.data(), kCount), first);
    EXPECT_EQ(kernels_->max(x.data(), kCount), 2.0f);
  }
}

TEST_P(Ops, MaxAndArgmaxWithoutNumbers) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const size_t n : {1, 15, 16, 17, 64, 100, 5000}) {
    std::vector<float> x(n, kNan);
    EXPECT_EQ(kernels_->max(x.data(), n), -kInfinity);
    EXPECT_EQ(kernels_->argmax(x.data(), n), 0u);
    x[n / 2] = -kInfinity;
    EXPECT_EQ(kernels_->argmax(x.data(), n), n / 2);
    x[n - 1] = -0.0f;
    EXPECT_EQ(kernels_->argmax(x.data(), n), n - 1);
    EXPECT_TRUE(same_bits(kernels_->max(x.data(), n), 0.0f)) << "of -0";
  }
}

TEST_P(Ops, ExpShifted) {
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    std::vector<float> values = make_floats(numbers, n, random_);
    for (float& x : values) {
      if (random_() % 16 == 0) x = -std::numeric_limits<float>::infinity();
    }
    values[random_() % n] = 1.0f;
    const GuardedArray<float> x(values, placement);
    const float max = reference_->max(x.data(), n);
    std::vector<float> expected(n);
    const float expected_sum = reference_->exp_shifted(x.data(), n, max, expected.data());
    EXPECT_TRUE(same_bits(kernels_->exp_shifted(x.data(), n, max, nullptr), expected_sum));
    EXPECT_EQ(difference(values, x.values()), "") << "the input was written to";
    EXPECT_TRUE(same_bits(kernels_->exp_shifted(x.data(), n, max, x.data()), expected_sum));
    EXPECT_EQ(difference(expected, x.values()), "");
    EXPECT_TRUE(x.intact());
  });
}

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

TEST_P(Ops, ExpWeights) {
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

TEST_P(Ops, WeightsAreExactSums) {
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

TEST_P(Ops, KeepFrom) {
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    const std::vector<float> keys = hostile_logits(numbers, n, random_);
    const std::vector<float> values = make_floats(numbers, n, random_);
    std::vector<int32_t> ids(n);
    for (int32_t& id : ids) id = static_cast<int32_t>(random_());
    const GuardedArray<float> x(values, placement), kept_x(n, placement);
    const GuardedArray<int32_t> kept_ids(n, placement), own_ids(ids, placement);
    for (const bool counted : {false, true}) {
      const float floor = random_() % 8 == 0 ? -std::numeric_limits<float>::infinity()
                                             : keys[random_() % n];
      std::vector<float> expected_x(n);
      std::vector<int32_t> expected_ids(n);
      const size_t kept =
          reference_->keep_from(keys.data(), floor, values.data(), counted ? nullptr : ids.data(),
                                1000, n, expected_x.data(), expected_ids.data());
      const auto same = [&](const GuardedArray<float>& got_x, const GuardedArray<int32_t>& got) {
        for (size_t i = 0; i < kept; ++i) {
          EXPECT_TRUE(same_bits(got_x.data()[i], expected_x[i])) << i;
          EXPECT_EQ(got.data()[i], expected_ids[i]) << i;
        }
        EXPECT_TRUE(got_x.intact() && got.intact());
      };
      EXPECT_EQ(kernels_->keep_from(keys.data(), floor, x.data(), counted ? nullptr : ids.data(),
                                    1000, n, kept_x.data(), kept_ids.data()),
                kept);
      same(kept_x, kept_ids);
      EXPECT_EQ(difference(values, x.values()), "");
      if (counted) continue;
      const GuardedArray<float> in_place(values, placement);
      const GuardedArray<int32_t> ids_in_place(ids, placement);
      EXPECT_EQ(kernels_->keep_from(keys.data(), floor, in_place.data(), ids_in_place.data(), 0, n,
                                    in_place.data(), ids_in_place.data()),
                kept);
      same(in_place, ids_in_place);
    }
  });
}

TEST_P(Ops, Split) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    const std::vector<float> keys = hostile_logits(numbers, n, random_);
    std::vector<float> shares(n);
    for (float& share : shares) share = static_cast<float>(random_() % 1000) * 0x1p-10f;
    const GuardedArray<float> x(keys, placement), values(shares, placement);
    const GuardedArray<int32_t> between(n, placement);
    for (const double base : {kWeightBase, 0x1p16}) {
      const float floor = random_() % 4 == 0 ? -kInfinity : keys[random_() % n];
      const float ceiling = random_() % 4 == 0 ? kInfinity : keys[random_() % n];
      std::vector<int32_t> expected(n);
      const Split split = reference_->split(keys.data(), floor, ceiling, shares.data(), base, n,
                                            expected.data());
      const Split got = kernels_->split(x.data(), floor, ceiling, values.data(), base, n,
                                        between.data());
      EXPECT_EQ(got.sum, split.sum);
      ASSERT_EQ(got.collected, split.collected);
      for (size_t i = 0; i < split.collected; ++i) {
        EXPECT_EQ(between.data()[i], expected[i]) << i;
      }
    }
    EXPECT_TRUE(x.intact() && values.intact() && between.intact());
  });
}

TEST_P(Ops, SplitOfAFew) {
  const std::vector<float> x = {3, 1, 2, -1, 2, 0};
  const std::vector<float> values = {1, 0.5f, 0.25f, 1, 1, 0};
  int32_t between[6];
  const Split split = kernels_->split(x.data(), 0, 2, values.data(), kWeightBase, 6, between);
  EXPECT_EQ(split.sum, weight_of(1) + weight_of(0.25f) + weight_of(1));
  ASSERT_EQ(split.collected, 2u);
  EXPECT_EQ(between[0], 1);
  EXPECT_EQ(between[1], 5);
}

TEST_P(Ops, Nearness) {
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

TEST_P(Ops, NearnessOfAFew) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float x[] = {3, 1, -2, -kInfinity, std::numeric_limits<float>::quiet_NaN()};
  float y[5];
  kernels_->nearness(x, 5, 3, 0.5f, 1, y);
  const std::vector<float> expected = {-1, -0.0f, -1.5f, -kInfinity, -kInfinity};
  EXPECT_EQ(difference(expected, std::vector<float>(y, y + 5)), "");
}

TEST_P(Ops, MinHash) {
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

TEST_P(Ops, MixWords) {
  for_each_case([&](Numbers, size_t n, Placement placement) {
    std::vector<int32_t> ids(n);
    for (int32_t& id : ids) id = static_cast<int32_t>(random_());
    const GuardedArray<int32_t> own_ids(ids, placement);
    const GuardedArray<uint32_t> words(n, placement);
    const uint64_t seed = random_();
    for (const bool high : {false, true}) {
      for (const int32_t* from : {static_cast<const int32_t*>(own_ids.data()),
                                  static_cast<const int32_t*>(nullptr)}) {
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

TEST_P(Ops, ScaleByBits) {
  for_each_case([&](Numbers, size_t n, Placement placement) {
    std::vector<uint32_t> bits_of_each(n);
    for (uint32_t& word : bits_of_each) word = static_cast<uint32_t>(random_());
    const auto bits = static_cast<uint32_t>(1 + random_() % 10);
    const auto shift = static_cast<uint32_t>(random_() % (33 - bits));
    std::vector<float> table(size_t{1} << bits), parts(n);
    for (float& x : table) x = static_cast<float>(random_() % 1000) * 0x1p-9f;
    for (float& x : parts) x = static_cast<float>(random_() % 1000) * 0x1p-20f;
    const GuardedArray<uint32_t> words(bits_of_each, placement);
    const GuardedArray<float> factors(table, placement);
    expect_same_in_place(parts, placement, [&](const Kernels& kernels, float* p) {
      kernels.scale_by_bits(words.data(), shift, bits, factors.data(), 0x1p-12f, n, p);
      for (size_t i = 0; i < n; ++i) EXPECT_TRUE(p[i] == 0 || p[i] >= 0x1p-12f);
    });
  });
}

// Around the ends of exp's range, in every lane.
TEST_P(Ops, ExpAtTheEndsOfItsRange) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float ends[] = {kExpMin, std::nextafter(kExpMin, 0.0f),
                        std::nextafter(kExpMin, -kInfinity), -0.0f, 0.0f};
  for (size_t first = 0; first < std::size(ends); ++first) {
    std::vector<float> x(37), expected(37);
    for (size_t i = 0; i < x.size(); ++i) x[i] = ends[(first + i) % std::size(ends)];
    reference_->exp_shifted(x.data(), x.size(), 0.0f, expected.data());
    std::vector<float> y(x.size());
    kernels_->exp_shifted(x.data(), x.size(), 0.0f, y.data());
    EXPECT_EQ(difference(expected, y), "");
  }
}

// The infinity beyond which gelu's exp ends: -8.4 ... -12 crosses it.
TEST_P(Ops, GeluWhereItsExpEnds) {
  std::vector<float> x;
  for (float v = -8.0f; v > -12.0f; v = std::nextafter(v * 1.00001f, -13.0f)) x.push_back(v);
  std::vector<float> expected = x;
  reference_->gelu_tanh(expected.data(), expected.size());
  kernels_->gelu_tanh(x.data(), x.size());
  EXPECT_EQ(difference(expected, x), "");
}

SOTTO_INSTANTIATE_ISAS(Ops);

}  // namespace
}  // namespace sotto::test
