// Compares every truncation with its oracle, over many kinds of logits, sizes, settings and masks.
#include <gtest/gtest.h>

#include "tests/unit/sampling/sampling_fixture.h"
#include "tests/unit/sampling/truncation_oracle.h"

namespace sotto {
namespace {

using oracle::Mode;

double make_setting(Mode mode, size_t count, std::mt19937_64& random) {
  constexpr double kShares[] = {1e-6, 0.01, 0.3, 0.5, 0.9, 0.95, 0.999};
  constexpr double kFloors[] = {1e-9, 1e-4, 3e-4, 0.01, 0.1, 0.5, 0.999};
  constexpr double kSpreads[] = {0.01, 0.5, 1, 2, 3.5, 100};
  const auto ranks =
      std::to_array<double>({1, 2, 40, 300, 1000, 20000, 4e9, static_cast<double>(1 + random() % count)});
  switch (mode) {
    case Mode::kTopK:
      return ranks[random() % ranks.size()];
    case Mode::kTopNSigma:
      return static_cast<float>(kSpreads[random() % std::size(kSpreads)]);
    case Mode::kMinP:
    case Mode::kTopA:
    case Mode::kEpsilon:
    case Mode::kEta:
      return static_cast<float>(kFloors[random() % std::size(kFloors)]);
    case Mode::kXtc:
      return static_cast<float>(random() % 4 == 0 ? 0 : 0.5 / (1 + random() % 100));
    default:
      return static_cast<float>(kShares[random() % std::size(kShares)]);
  }
}

class Truncations : public testing::TestWithParam<std::tuple<int, size_t>> {};

TEST_P(Truncations, AgreeWithTheOracle) {
  const auto mode = static_cast<Mode>(std::get<0>(GetParam()));
  const size_t count = std::get<1>(GetParam());
  const int cases = count > 10000 ? 24 : count > 2000 ? 60 : 250;
  std::mt19937_64 random(count * 31 + static_cast<size_t>(mode));
  TestCandidates bench(count);
  constexpr float kTemperatures[] = {1, 1, 1, 0.7f, 0.05f, 3};
  for (int i = 0; i < cases && !HasFailure(); ++i) {
    const auto kind = static_cast<LogitKind>(i % static_cast<int>(LogitKind::kCount));
    const std::vector<float> logits = make_logits(kind, count, random);
    std::vector<uint64_t> words;
    TokenMask mask;
    if (random() % 3 == 0) mask = make_mask(count, random() % 2 == 0 ? 0.1 : 0.95, random, words);
    std::vector<bool> allowed(count);
    for (size_t token = 0; token < count; ++token) allowed[token] = mask.allows(token);
    const double setting = make_setting(mode, count, random);
    const uint32_t min_keep = random() % 3 == 0 ? 1 + static_cast<uint32_t>(random() % 40) : 1;
    const float t = kTemperatures[random() % std::size(kTemperatures)];
    Candidates& candidates = bench.begin(logits, mask);
    if (t != 1) candidates.divide_by(t);
    bench.run(oracle::params_of(mode, setting, min_keep));
    EXPECT_EQ(oracle::judge(mode, oracle::begin(logits, allowed), t, setting, min_keep, ids_of(candidates)), "")
        << "case " << i << ", kind " << static_cast<int>(kind) << ", setting " << setting << ", min_keep " << min_keep
        << ", T " << t << ", kept " << candidates.count();
    // Remaining tokens keep their logits.
    for (size_t k = 0; k < candidates.count(); ++k) {
      const float given = logits[static_cast<size_t>(candidates.id(k))];
      ASSERT_TRUE(candidates.logit(k) == given || std::isnan(given));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, Truncations,
                         testing::Combine(testing::Range(0, static_cast<int>(Mode::kCount)),
                                          testing::Values(1, 2, 3, 17, 129, 1000, 1025, 6000, 50257)),
                         [](const auto& entry) {
                           return std::string(oracle::mode_name(static_cast<Mode>(std::get<0>(entry.param)))) + "_" +
                                  std::to_string(std::get<1>(entry.param));
                         });

// An evenly spaced sample of these logits misses or meets all likely tokens, so it does not show where the border is.
TEST(Border, IsFoundWhereASampleMisleads) {
  constexpr size_t kCount = 20000;
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  TestCandidates bench(kCount);
  for (const Mode mode : {Mode::kTopP, Mode::kTypical, Mode::kTopH}) {
    for (size_t phase = 0; phase < 4; ++phase) {
      std::vector<float> logits(kCount);
      for (size_t i = 0; i < kCount; ++i) logits[i] = normal(random) + (i % 4 == phase ? 3 : 0);
      for (const double setting : {0.3, 0.5, 0.75, 0.95}) {
        Candidates& candidates = bench.begin(logits);
        bench.run(oracle::params_of(mode, setting));
        EXPECT_EQ(oracle::judge(mode, oracle::begin(logits, std::vector<bool>(kCount, true)), 1,
                                static_cast<float>(setting), 1, ids_of(candidates)),
                  "")
            << oracle::mode_name(mode) << ", phase " << phase << ", setting " << setting;
      }
    }
  }
}

// With 1,000 equal logits, the number of tokens that remain shows p.
TEST(TopP, DecaysToTopPMin) {
  const std::vector<float> logits(1000, 1.0f);
  TestCandidates bench(1000);
  const auto kept = [&](float top_p, float decay, float min_p, uint32_t step) {
    SamplerParams params = plain();
    params.top_p = top_p;
    params.top_p_decay = decay;
    params.top_p_min = min_p;
    Candidates& candidates = bench.begin(logits);
    bench.run(params, {.top_p_step = step});
    return candidates.count();
  };
  EXPECT_EQ(kept(0.9f, 1, 0, 1000), 900u);
  EXPECT_EQ(kept(0.9f, 0.5f, 0, 0), 900u);
  EXPECT_EQ(kept(0.9f, 0.5f, 0, 3), 113u);     // 0.9 / 8 = 0.1125
  EXPECT_EQ(kept(0.9f, 0.5f, 0.3f, 3), 301u);  // 0.3f is greater than 0.3
  EXPECT_EQ(kept(1, 0.999f, 0, 777), static_cast<size_t>(std::ceil(1000 * std::pow(0.999, 777))));
  EXPECT_EQ(kept(1, 0.5f, 0, UINT32_MAX), 1u);
}

// The sampler counts the tokens and starts again after the reset token.
TEST(TopP, DecaysFromTokenToToken) {
  const std::vector<float> logits = {0, 0, 0, 0, 0, 0, 0, 0};
  TestSampler sampler(8);
  SamplerParams params;
  params.temperature = 1;
  params.top_k = 0;
  params.min_p = 0;
  params.top_p = 1;
  params.top_p_decay = 0.5f;
  params.top_p_reset_token = 0;
  ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
  SamplerState state = sampler->initial_state();
  uint32_t step = 0;
  int resets = 0;
  for (uint64_t draw = 0; draw < 200; ++draw) {
    EXPECT_EQ(state.top_p_step, step);
    SampleInput input;
    input.place = draw;
    const Candidates& candidates = sampler->apply(logits, {}, input, state);
    EXPECT_EQ(candidates.count(), std::max(1u, 8u >> std::min(step, 3u)));
    const int32_t token = sampler->sample(logits, {}, input, &state).token;
    EXPECT_LT(token, static_cast<int32_t>(std::max(1u, 8u >> std::min(step, 3u))));
    step = token == 0 ? 0 : step + 1;
    resets += token == 0 ? 1 : 0;
  }
  EXPECT_GT(resets, 10);
}

}  // namespace
}  // namespace sotto
