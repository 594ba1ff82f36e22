// Compares greedy choices with the candidates that the whole chain leaves.
#include <gtest/gtest.h>

#include "runtime/sampling/chain.h"
#include "tests/unit/sampling/sampling_fixture.h"

namespace sotto {
namespace {

constexpr TokenBias kBiases[] = {{3, 4.0f}, {7, -3.0f}};

SamplerParams random_params(std::mt19937_64& random) {
  const auto coin = [&](int of) { return random() % static_cast<uint64_t>(of) == 0; };
  SamplerParams p = plain();
  p.order = static_cast<ChainOrder>(random() % 3);
  p.seed = random();
  p.temperature = coin(2) ? 1.0f : 0.3f;
  if (coin(2)) p.top_k = 1 + static_cast<uint32_t>(random() % 6);
  if (coin(3)) p.top_p = 0.6f;
  if (coin(3)) p.min_p = 0.2f;
  if (coin(3)) p.typical_p = 0.2f;
  if (coin(3)) p.top_n_sigma = 1;
  if (coin(3)) p.xtc_probability = 1;
  if (coin(4)) p.smoothing_factor = 0.7f, p.smoothing_curve = 8;
  if (coin(3)) p.temperature_range = 0.2f;
  if (coin(3)) p.logit_bias = kBiases;
  if (coin(2)) {
    p.watermark.scheme = WatermarkScheme::kLeftHash;
    p.watermark.delta = 20;
    p.watermark.key = random();
  }
  return p;
}

TEST(Greedy, TakesTheLikeliestThatTheChainLeaves) {
  std::mt19937_64 random(1);
  const std::vector<int32_t> history = {1, 5, 2, 8, 3};
  TestSampler sampler(40);
  size_t others = 0;  // choices that differ from the model's most likely token
  for (int i = 0; i < 20000; ++i) {
    SamplerParams p = random_params(random);
    const std::vector<float> logits = make_logits(LogitKind::kWide, 40, random);
    SampleInput input;
    input.history = TokenHistory(history, {}, {});
    input.place = static_cast<uint64_t>(i);
    ASSERT_EQ(sampler->set_params(p, nullptr), Status::kOk);
    SamplerState state = sampler->initial_state();
    const Candidates& left = sampler->apply(logits, {}, input, state);
    const int32_t expected = left.id(left.ranking().argmax());
    p.selection = Selection::kGreedy;
    ASSERT_EQ(sampler->set_params(p, nullptr), Status::kOk);
    ASSERT_EQ(sampler->sample(logits, {}, input, &state).token, expected) << i;
    const std::vector<int32_t> only = {expected};
    ASSERT_EQ(ids_of(sampler->apply(logits, {}, input, state)), only) << i;
    const auto most = std::max_element(logits.begin(), logits.end()) - logits.begin();
    others += most != expected ? 1 : 0;
  }
  EXPECT_GT(others, 2000u);
}

// The other stages work as with T = 1.
TEST(Greedy, TemperatureZeroTakesTheLikeliestThatTheOthersLeave) {
  std::mt19937_64 random(2);
  TestSampler sampler(40);
  for (int i = 0; i < 2000; ++i) {
    SamplerParams p = random_params(random);
    p.temperature_range = 0;
    const std::vector<float> logits = make_logits(LogitKind::kWide, 40, random);
    p.temperature = 1;
    p.selection = Selection::kGreedy;
    ASSERT_EQ(sampler->set_params(p, nullptr), Status::kOk);
    const int32_t expected = sampler.sample(logits, {}, {}, 7).token;
    p.temperature = 0;
    p.selection = Selection::kMultinomial;
    ASSERT_EQ(sampler->set_params(p, nullptr), Status::kOk);
    ASSERT_EQ(sampler.sample(logits, {}, {}, 7).token, expected) << i;
  }
}

TEST(Greedy, TemperatureZeroIsDynamicWithARange) {
  TestSampler sampler(4);
  SamplerParams p = plain();
  p.temperature = 0;
  p.temperature_range = 1;
  ASSERT_EQ(sampler->set_params(p, nullptr), Status::kOk);
  const std::vector<float> even = {1, 1, 1, 1};
  std::vector<int> counts(4);
  for (uint64_t draw = 0; draw < 400; ++draw) {
    ++counts[static_cast<size_t>(sampler.sample(even, {}, {}, draw).token)];
  }
  EXPECT_GT(*std::min_element(counts.begin(), counts.end()), 50);
}

}  // namespace
}  // namespace sotto
