// Tests the log softmax of logits and the list of the most likely tokens.
#include "runtime/sampling/log_probabilities.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/dispatch/tables.h"

namespace sotto {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const Kernels& reference_kernels() { return *find_kernels(Isa::kReference); }

TEST(LogProbabilities, IsTheDefinition) {
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
    const LogProbabilities model(reference_kernels(), logits);
    double entropy = 0;
    for (const float l : logits) {
      const double ln_p = l - max - std::log(sum);
      if (ln_p > -700) entropy -= std::exp(ln_p) * ln_p;
    }
    EXPECT_NEAR(model.entropy(reference_kernels()), entropy, 1e-6 * (1 + entropy));
    std::vector<float> result = logits;
    model.apply(result);
    for (int32_t i = 0; i < 5000; ++i) {
      const auto at = static_cast<size_t>(i);
      if (i == 7 || i == 9) {
        EXPECT_EQ(result[at], -kInfinity);
        EXPECT_EQ(model.of(i), -kInfinity);
        continue;
      }
      const double expected = logits[at] - max - std::log(sum);
      EXPECT_NEAR(result[at], expected, 1e-6 * (1 + std::fabs(expected)));
      EXPECT_NEAR(model.of(i), expected, 1e-6);
      EXPECT_EQ(result[at], static_cast<float>(model.of(i)));
    }
  }
}

TEST(LogProbabilities, SharesProbabilityIfNoLogitIsFinite) {
  std::vector<float> logits = {1, kInfinity, kNan, kInfinity, -kInfinity};
  const LogProbabilities model(reference_kernels(), logits);
  EXPECT_NEAR(model.of(3), -std::log(2.0), 1e-9);
  EXPECT_EQ(model.of(0), -kInfinity);
  EXPECT_NEAR(model.entropy(reference_kernels()), std::log(2.0), 1e-9);
  model.apply(logits);
  EXPECT_NEAR(logits[1], -std::log(2.0), 1e-6);
  EXPECT_EQ(logits[1], logits[3]);
  for (const size_t i : {0, 2, 4}) EXPECT_EQ(logits[i], -kInfinity);
  std::vector<float> nothing = {-kInfinity, kNan, -kInfinity};
  EXPECT_NEAR(LogProbabilities(reference_kernels(), nothing).of(1), -std::log(3.0), 1e-9);
  EXPECT_NEAR(LogProbabilities(reference_kernels(), nothing).entropy(reference_kernels()), std::log(3.0), 1e-9);
  LogProbabilities(reference_kernels(), nothing).apply(nothing);
  for (const float l : nothing) EXPECT_NEAR(l, -std::log(3.0), 1e-6);
}

TEST(LogProbabilities, EntropyHasTheSameBitsOnEveryInstructionSet) {
  std::mt19937 random(2);
  for (const size_t count : {1, 15, 1025, 50257}) {
    std::vector<float> logits(count);
    std::normal_distribution<float> normal(0, 4);
    for (float& l : logits) l = normal(random);
    if (count > 10) logits[5] = -kInfinity;
    const double expected = LogProbabilities(reference_kernels(), logits).entropy(reference_kernels());
    EXPECT_GE(expected, 0);
    for (int isa = 0; isa < 16; ++isa) {
      const Kernels* kernels = find_kernels(static_cast<Isa>(isa));
      if (kernels == nullptr) continue;
      EXPECT_EQ(LogProbabilities(*kernels, logits).entropy(*kernels), expected) << isa;
    }
  }
}

TEST(LogProbabilities, HandleRowsWithoutFiniteLogits) {
  const Kernels& kernels = reference_kernels();
  const float row[] = {1, 3, 3, -kInfinity, 2, kNan};
  Alternative alternatives[SamplerParams::kMaxAlternativeCount];
  const LogProbabilities model(kernels, {row, 5});
  ASSERT_EQ(model.find_likeliest(alternatives), 5u);
  const int32_t order[] = {1, 2, 4, 0, 3};
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(alternatives[i].token, order[i]);
  EXPECT_EQ(alternatives[4].log_probability, -kInfinity);
  EXPECT_NEAR(std::exp(model.of(1)) * 2 + std::exp(model.of(4)) + std::exp(model.of(0)), 1, 1e-7);
  EXPECT_EQ(LogProbabilities(kernels, row).find_likeliest({alternatives, 0}), 0u);
  EXPECT_EQ(LogProbabilities(kernels, row).find_likeliest({alternatives, 2}), 2u);
  EXPECT_EQ(LogProbabilities(kernels, row).find_likeliest(alternatives), 5u);  // NaN is excluded
}

}  // namespace
}  // namespace sotto
