// Compares the reference with double precision, within stated bounds. All other instruction sets return the same bits
// as the reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/kernels.h"
#include "kernels/math.h"
#include "tests/kernels/support.h"

namespace sotto::test {
namespace {

const Kernels& reference() { return *find_kernels(Isa::kReference); }

double ulp_of(double x) { return std::ldexp(1.0, std::ilogb(x) - 23); }

// Returns every step-th float from -limit to limit.
std::vector<float> sweep(float limit, uint32_t step) {
  std::vector<float> values;
  for (uint32_t bits = 0; bits <= std::bit_cast<uint32_t>(limit); bits += step) {
    values.push_back(std::bit_cast<float>(bits));
    values.push_back(-std::bit_cast<float>(bits));
  }
  return values;
}

TEST(Accuracy, ExpIsWithinOneUlp) {
  std::vector<float> x = sweep(-kExpMin, 997);
  std::erase_if(x, [](float v) { return v > 0.0f; });
  std::vector<float> y(x.size());
  reference().exp_shifted(x.data(), x.size(), 0.0f, y.data());
  double worst = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(static_cast<double>(x[i]));
    worst = std::max(worst, std::fabs(y[i] - exact) / ulp_of(exact));
  }
  EXPECT_LT(worst, 1.0);
}

TEST(Accuracy, ExpEndsWhereResultsWouldBeDenormal) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float x[] = {0.0f, kExpMin, std::nextafter(kExpMin, -kInfinity), -1000.0f, -3.4e38f, -kInfinity};
  float y[std::size(x)];
  reference().exp_shifted(x, std::size(x), 0.0f, y);
  EXPECT_EQ(y[0], 1.0f);
  EXPECT_GE(y[1], std::numeric_limits<float>::min());
  EXPECT_LT(y[1], 1.00001f * std::numeric_limits<float>::min());
  for (size_t i = 2; i < std::size(x); ++i) EXPECT_EQ(y[i], 0.0f) << x[i];
}

TEST(Accuracy, GeluTanhIsNearDoublePrecision) {
  const std::vector<float> x = sweep(40.0f, 4999);
  std::vector<float> y = x;
  reference().activate(Activation::kGeluTanh, y.data(), y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const double u = std::sqrt(2.0 / M_PI) * (v + 0.044715 * v * v * v);
    const double exact = v / (1.0 + std::exp(-2.0 * u));
    // The argument of exp is rounded, and the error grows with |x| in the left tail.
    const double bound = std::fabs(exact) * (3e-7 + 3e-7 * std::max(0.0, -u)) + 1e-36;
    ASSERT_NEAR(y[i], exact, bound) << "x = " << x[i];
  }
}

TEST(Accuracy, GeluErfIsNearDoublePrecision) {
  const std::vector<float> x = sweep(40.0f, 4999);
  std::vector<float> y = x;
  reference().activate(Activation::kGeluErf, y.data(), y.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    const double exact = 0.5 * v * std::erfc(-v / std::sqrt(2.0));
    const double tail = v < 0.0 ? 1.5e-7 * v * v : 0.0;
    const double bound = std::fabs(exact) * (6e-7 + tail) + 1e-36;
    ASSERT_NEAR(y[i], exact, bound) << "x = " << x[i];
  }
}

TEST(Accuracy, GeluOfHugeNumbersIsTheNumberOrZero) {
  for (const float magnitude : {15.0f, 1e3f, 1e13f, 1e20f, 3.4028235e38f}) {
    float y[] = {magnitude, -magnitude, magnitude, -magnitude};
    reference().activate(Activation::kGeluTanh, y, 2);
    reference().activate(Activation::kGeluErf, y + 2, 2);
    EXPECT_EQ(y[0], magnitude);
    EXPECT_EQ(y[1], 0.0f);
    EXPECT_EQ(y[2], magnitude);
    EXPECT_EQ(y[3], 0.0f);
  }
}

// Returns the largest error of an activation in units in the last place, divided by allowed(x), over all bfloat16 from
// low to high. Below FLT_MIN the unit is the unit of FLT_MIN.
template <typename Exact, typename Allowed>
double worst_error(Activation activation, float low, float high, const Exact& exact, const Allowed& allowed) {
  std::vector<float> x = all_bfloat16();
  std::erase_if(x, [&](float v) { return !(v >= low && v <= high); });
  std::vector<float> y = x;
  reference().activate(activation, y.data(), y.size());
  double worst = 0.0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double value = exact(static_cast<double>(x[i]));
    constexpr double kMin = std::numeric_limits<float>::min();
    const double error = std::fabs(y[i] - value) / ulp_of(std::max(std::fabs(value), kMin));
    worst = std::max(worst, error / allowed(x[i]));
  }
  return worst;
}

constexpr float kLargest = std::numeric_limits<float>::max();

TEST(Accuracy, SiluIsWithinTwoUlps) {
  const auto silu = [](double x) { return x / (1.0 + std::exp(-x)); };
  EXPECT_LT(worst_error(Activation::kSilu, -kExpMax, kLargest, silu, [](float) { return 2.0; }), 1.0);
}

TEST(Accuracy, QuickGeluIsNearDoublePrecision) {
  const auto quick_gelu = [](double x) { return x / (1.0 + std::exp(-1.702 * x)); };
  // The argument of exp and the factor 1.702 are rounded, so the error grows with |x| in the left tail.
  const auto allowed = [](float x) { return 2.0 + 2.0 * std::max(0.0f, -x); };
  EXPECT_LT(worst_error(Activation::kQuickGelu, -51.0f, kLargest, quick_gelu, allowed), 1.0);
}

TEST(Accuracy, SigmoidsOfHugeNumbersAreZero) {
  for (const Activation activation : {Activation::kSilu, Activation::kQuickGelu}) {
    for (const float x : {-89.0f, -1e3f, -1e20f, -kLargest}) {
      float y = x;
      reference().activate(activation, &y, 1);
      EXPECT_EQ(y, 0.0f) << x;
    }
  }
}

TEST(Accuracy, TanhIsWithinTwoUlps) {
  const auto tanh = [](double x) { return std::tanh(x); };
  EXPECT_LT(worst_error(Activation::kTanh, -kLargest, kLargest, tanh, [](float) { return 2.0; }), 1.0);
}

TEST(Accuracy, ReluIsCorrectlyRounded) {
  const auto relu = [](double x) { return std::max(x, 0.0); };
  const auto squared_relu = [relu](double x) { return relu(x) * relu(x); };
  const auto half = [](float) { return 0.5000001; };
  EXPECT_EQ(worst_error(Activation::kRelu, -kLargest, kLargest, relu, half), 0.0);
  EXPECT_LT(worst_error(Activation::kSquaredRelu, -kLargest, 1.8e19f, squared_relu, half), 1.0);
}

TEST(Accuracy, ActivationsOfNanAreNan) {
  for (const Activation activation : kActivations) {
    float y = std::numeric_limits<float>::quiet_NaN();
    reference().activate(activation, &y, 1);
    EXPECT_TRUE(std::isnan(y)) << static_cast<int>(activation);
  }
}

TEST(Accuracy, LayerNormIsNearDoublePrecision) {
  Random random(1);
  for (const size_t n : {1, 5, 16, 33, 768, 3072}) {
    const std::vector<float> x = make_floats(Numbers::kActivations, n, random);
    const std::vector<float> gain = make_floats(Numbers::kActivations, n, random);
    const std::vector<float> bias = make_floats(Numbers::kActivations, n, random);
    std::vector<float> y(n);
    reference().layer_norm(x.data(), gain.data(), bias.data(), 1e-5f, n, y.data());
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(n);
    double variance = 0.0;
    for (const float v : x) variance += (v - mean) * (v - mean) / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) {
      const double exact = (x[i] - mean) / std::sqrt(variance + 1e-5) * gain[i] + bias[i];
      ASSERT_NEAR(y[i], exact, 4e-6 * (1.0 + std::fabs(exact))) << i << " of " << n;
    }
  }
}

TEST(Accuracy, LayerNormOfAConstantIsTheBias) {
  const std::vector<float> x(48, 3.0f), gain(48, 2.0f), bias(48, -0.25f);
  std::vector<float> y(48);
  reference().layer_norm(x.data(), gain.data(), bias.data(), 1e-5f, 48, y.data());
  EXPECT_EQ(y, bias);
}

TEST(Accuracy, QuantizedRowsAreWithinHalfAStep) {
  Random random(2);
  for (const size_t n : {1, 2, 17, 768}) {
    for (int round = 0; round < 50; ++round) {
      std::vector<float> x = make_floats(Numbers::kActivations, n, random);
      if (round % 3 == 0) {
        for (float& v : x) v = std::fabs(v);
      }
      std::vector<int8_t> q(n);
      RowQuantization quantization{};
      reference().quantize_row(x.data(), n, q.data(), &quantization);
      for (size_t i = 0; i < n; ++i) {
        const float back = static_cast<float>(q[i] - quantization.zero_point) * quantization.scale;
        // Rounding the zero point may move an end of the range by one more step.
        ASSERT_NEAR(back, x[i], quantization.scale * 1.001f);
      }
    }
  }
}

TEST(Accuracy, QuantizedRowsOfOneSignUseTheWholeRange) {
  const float x[] = {0.0f, 1.0f, 2.0f, 255.0f};
  int8_t q[4];
  RowQuantization quantization{};
  reference().quantize_row(x, 4, q, &quantization);
  EXPECT_EQ(quantization.zero_point, -128);
  EXPECT_EQ(quantization.scale, 1.0f);
  EXPECT_EQ(std::vector<int8_t>(q, q + 4), (std::vector<int8_t>{-128, -127, -126, 127}));

  const float negative[] = {-255.0f, -1.0f, -0.5f, -1.5f};  // ties to even
  reference().quantize_row(negative, 4, q, &quantization);
  EXPECT_EQ(quantization.zero_point, 127);
  EXPECT_EQ(std::vector<int8_t>(q, q + 4), (std::vector<int8_t>{-128, 126, 127, 125}));

  const float zeros[] = {0.0f, -0.0f, 0.0f, 0.0f};
  reference().quantize_row(zeros, 4, q, &quantization);
  EXPECT_EQ(quantization.scale, 1.0f);
  EXPECT_EQ(std::vector<int8_t>(q, q + 4), std::vector<int8_t>(4, -128));
}

TEST(Accuracy, QuantizedHeadsAreWithinHalfAStep) {
  Random random(3);
  const std::vector<float> x = make_floats(Numbers::kActivations, 64, random);
  std::vector<int8_t> q(64);
  const float scale = reference().quantize_symmetric(x.data(), 64, q.data());
  for (size_t i = 0; i < 64; ++i) ASSERT_NEAR(q[i] * scale, x[i], scale * 0.5001f);
  const std::vector<float> zeros(64, -0.0f);
  EXPECT_EQ(reference().quantize_symmetric(zeros.data(), 64, q.data()), 0.0f);
  EXPECT_EQ(q, std::vector<int8_t>(64, 0));
}

TEST(Accuracy, AttentionIsNearDoublePrecision) {
  Random random(4);
  constexpr size_t kHead = 64;
  constexpr size_t kSlots = 300;
  const std::vector<float> query = make_floats(Numbers::kActivations, kHead, random);
  const std::vector<int8_t> keys = make_int8(kSlots * kHead, random);
  const std::vector<int8_t> values = make_int8(kSlots * kHead, random);
  const std::vector<float> key_scales(kSlots, 0.01f);
  const std::vector<float> value_scales(kSlots, 0.02f);
  std::vector<float> scores(kSlots), output(kHead);
  const SlotSpan spans[] = {{0, 4}, {150, 150}, {4, 146}};
  reference().attention({query.data(), keys.data(), key_scales.data(), values.data(), value_scales.data(), kHead, kHead,
                         0.125f, spans, 3, scores.data(), output.data()});

  std::vector<int8_t> q(kHead);
  const double query_scale = reference().quantize_symmetric(query.data(), kHead, q.data());
  std::vector<double> mixed(kHead);
  double sum = 0.0;
  for (size_t slot = 0; slot < kSlots; ++slot) {
    double dot = 0.0;
    for (size_t d = 0; d < kHead; ++d) dot += q[d] * keys[slot * kHead + d];
    const double p = std::exp(dot * query_scale * 0.01 * 0.125);
    sum += p;
    for (size_t d = 0; d < kHead; ++d) mixed[d] += p * values[slot * kHead + d] * 0.02;
  }
  for (size_t d = 0; d < kHead; ++d) ASSERT_NEAR(output[d], mixed[d] / sum, 1e-5);
}

// These sums depend on the order of the lanes and of the tree.
TEST(Accuracy, SumsFollowTheSixteenLanes) {
  Random random(5);
  const std::vector<float> x = make_floats(Numbers::kActivations, 1000, random);
  std::vector<float> y(x.size());
  const float max = reference().max(x.data(), x.size());
  const float sum = reference().exp_shifted(x.data(), x.size(), max, y.data());
  float lanes[16] = {};
  for (size_t i = 0; i < y.size(); ++i) lanes[i % 16] += y[i];
  const auto pair = [&](int j) { return lanes[j] + lanes[j + 8]; };
  const auto quad = [&](int j) { return pair(j) + pair(j + 4); };
  EXPECT_EQ(sum, (quad(0) + quad(2)) + (quad(1) + quad(3)));
}

}  // namespace
}  // namespace sotto::test
