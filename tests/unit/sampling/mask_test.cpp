// Tests that a token outside the mask is never selected, for any parameters and logits.
#include <gtest/gtest.h>

#include "tests/unit/sampling/sampling_fixture.h"

namespace sotto {
namespace {

TEST(Mask, NoForbiddenTokenIsEverEmitted) {
  std::mt19937_64 random(2024);
  std::uniform_real_distribution<float> unit(0.0f, 1.0f);
  const auto kinds = static_cast<int>(LogitKind::kCount);
  for (const size_t count : {1, 2, 63, 64, 65, 300, 2000, 50257}) {
    TestSampler sampler(count);
    const int rounds = count > 10000 ? 60 : 1500;
    for (int round = 0; round < rounds; ++round) {
      const auto logits = make_logits(static_cast<LogitKind>(round % kinds), count, random);
      const double shares[] = {0, 0.01, 0.3, 0.9};
      std::vector<uint64_t> words;
      const TokenMask mask = make_mask(count, shares[random() % 4], random, words);
      SamplerParams params;
      params.temperature = random() % 4 == 0 ? 0 : 3 * unit(random);
      params.top_k = random() % 3 == 0 ? 0 : static_cast<uint32_t>(random() % 100);
      params.top_p = 1 - unit(random) * 0.999f;
      params.min_p = random() % 2 == 0 ? 0 : unit(random);
      params.repetition_penalty = 0.5f + unit(random);
      params.seed = random();
      ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
      std::vector<int32_t> history(random() % 200);
      for (int32_t& token : history) token = static_cast<int32_t>(random() % count);
      for (uint64_t draw = 0; draw < 3; ++draw) {
        const int32_t token = sampler.sample(logits, mask, {history, history}, draw).token;
        ASSERT_GE(token, 0);
        ASSERT_LT(static_cast<size_t>(token), count);
        ASSERT_TRUE(mask.allows(static_cast<size_t>(token))) << count << " " << round;
      }
    }
  }
}

TEST(Mask, OneAllowedTokenIsTaken) {
  constexpr size_t kCount = 1000;
  TestSampler sampler(kCount);
  std::vector<float> logits(kCount, 50.0f);
  for (size_t only = 0; only < kCount; only += 37) {
    std::vector<uint64_t> words(TokenMask::word_count(kCount));
    words[only / 64] = uint64_t{1} << (only % 64);
    logits[only] = -1000.0f;
    EXPECT_EQ(sampler.sample(logits, {words.data(), kCount}, {}, only).token, only);
  }
}

}  // namespace
}  // namespace sotto
