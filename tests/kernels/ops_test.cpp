// Compares every instruction set with the reference, bit for bit, in arrays that end at an inaccessible page.
#include <cmath>
#include <limits>

#include "kernels/math.h"
#include "tests/kernels/ops_fixture.h"

namespace sotto::test {
namespace {

class Ops : public OpsTest {};

TEST_P(Ops, LayerNormEqualsReference) {
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

TEST_P(Ops, QuantizeRowEqualsReference) {
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

TEST_P(Ops, QuantizeSymmetricEqualsReference) {
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

TEST_P(Ops, ActivationsEqualReference) {
  for (const Activation activation : kActivations) {
    SCOPED_TRACE(testing::Message() << "activation " << static_cast<int>(activation));
    const auto compare = [&](const std::vector<float>& x, Placement placement) {
      expect_same_in_place(x, placement,
                           [&](const Kernels& kernels, float* data) { kernels.activate(activation, data, x.size()); });
    };
    for_each_case(
        [&](Numbers numbers, size_t n, Placement placement) { compare(make_floats(numbers, n, random_), placement); });
    compare(all_bfloat16(), Placement::kBeforeGuard);
  }
}

TEST_P(Ops, AddEqualsReference) {
  for_each_case([&](Numbers numbers, size_t n, Placement placement) {
    const GuardedArray<float> x(make_floats(numbers, n, random_), placement);
    expect_same_in_place(make_floats(numbers, n, random_), placement,
                         [&](const Kernels& kernels, float* y) { kernels.add(x.data(), n, y); });
  });
}

TEST_P(Ops, EmbedEqualsReference) {
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

TEST_P(Ops, MaxAndArgmaxEqualReference) {
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

TEST_P(Ops, MaxAndArgmaxIgnoreNan) {
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

TEST_P(Ops, ExpShiftedEqualsReference) {
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

// Numbers around both ends of the range of exp, in every lane.
TEST_P(Ops, ExpAtTheEndsOfItsRange) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float ends[] = {kExpMin, std::nextafter(kExpMin, 0.0f), std::nextafter(kExpMin, -kInfinity), -0.0f, 0.0f};
  for (size_t first = 0; first < std::size(ends); ++first) {
    std::vector<float> x(37), expected(37);
    for (size_t i = 0; i < x.size(); ++i) x[i] = ends[(first + i) % std::size(ends)];
    reference_->exp_shifted(x.data(), x.size(), 0.0f, expected.data());
    std::vector<float> y(x.size());
    kernels_->exp_shifted(x.data(), x.size(), 0.0f, y.data());
    EXPECT_EQ(difference(expected, y), "");
  }
}

// The range -8.4 ... -12 crosses the point where the exponential in GELU becomes infinite.
TEST_P(Ops, GeluEqualsReferenceWhereItsExpOverflows) {
  std::vector<float> x;
  for (float v = -8.0f; v > -12.0f; v = std::nextafter(v * 1.00001f, -13.0f)) x.push_back(v);
  std::vector<float> expected = x;
  reference_->activate(Activation::kGeluTanh, expected.data(), expected.size());
  kernels_->activate(Activation::kGeluTanh, x.data(), x.size());
  EXPECT_EQ(difference(expected, x), "");
}

SOTTO_INSTANTIATE_ISAS(Ops);

}  // namespace
}  // namespace sotto::test
