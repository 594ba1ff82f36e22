// Compares the hashes of watermarks with a second implementation of their specification, and tests the tail of the
// normal distribution.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/sampling/watermark/watermark.h"
#include "runtime/sampling/watermark/watermark_detect.h"
#include "tests/unit/sampling/process_fixture.h"

namespace sotto {
namespace {

using Tokens = std::vector<int32_t>;

// Follows the specification in watermark.h, one token at a time.
namespace described {

uint64_t mix(uint64_t seed, uint64_t index) {
  uint64_t state = seed;
  for (uint64_t i = 0; i <= index; ++i) state += 0x9e3779b97f4a7c15;
  state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9;
  state = (state ^ (state >> 27)) * 0x94d049bb133111eb;
  return state ^ (state >> 31);
}

bool is_green_left(uint64_t seed, double gamma, uint64_t token) {
  uint64_t number = 0;
  for (uint64_t j = 0; j < 24; ++j) {
    const uint64_t bit = mix(seed, 24 * (token / 64) + j) >> (token % 64) & 1;
    number |= bit << (23 - j);
  }
  return static_cast<double>(number) < std::floor(gamma * 0x1p24 + 0.5);
}

uint32_t word(uint32_t a, uint32_t b, uint32_t d, uint64_t key, size_t which) {
  return philox4x32_10({a, b, 0, d}, {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)})[which];
}

uint32_t mix32(uint32_t h) {
  h ^= h >> 16;
  h *= 0x21f0aaad;
  h ^= h >> 15;
  h *= 0xd35a2d97;
  h ^= h >> 15;
  return h;
}

bool is_green_self(uint64_t key, double gamma, const Tokens& context, int32_t token) {
  const uint32_t b = mix32(static_cast<uint32_t>(token) ^ word(0, 0, 2, key, 1));
  auto least = static_cast<int32_t>(b ^ word(0, 0, 2, key, 0));
  for (const int32_t t : context) {
    const uint32_t a = word(static_cast<uint32_t>(t), 1, 2, key, 0);
    least = std::min(least, static_cast<int32_t>(a ^ b));
  }
  const uint32_t hashed = mix32(static_cast<uint32_t>(least) ^ word(0, 0, 2, key, 2)) >> 8;
  return static_cast<double>(hashed) < std::floor(gamma * 0x1p24 + 0.5);
}

}  // namespace described

WatermarkParams params_of(WatermarkScheme scheme, uint32_t width, float gamma = 0.25f) {
  WatermarkParams params;
  params.scheme = scheme;
  params.context_width = width;
  params.gamma = gamma;
  return params;
}

// The same tokens get delta in the whole vocabulary, in a part of it, and under a mask.
TEST(GreenList, FollowsItsSpecification) {
  std::mt19937_64 random(1);
  for (const float gamma : {0.25f, 0.5f, 0.3f, 0.75f, 1e-6f, 0.99f}) {
    for (const WatermarkScheme scheme : {WatermarkScheme::kLeftHash, WatermarkScheme::kSelfHash}) {
      for (const uint32_t width : {0u, 1u, 3u, 16u}) {
        const size_t count = 60 + random() % 2000;
        ProcessFixture bench(count);
        SamplerParams p = ProcessFixture::off();
        p.watermark = params_of(scheme, width, gamma);
        p.watermark.key = random();
        ASSERT_EQ(bench.set(p, {StageKind::kWatermark}), Status::kOk);
        Tokens history(20);
        for (int32_t& token : history) token = static_cast<int32_t>(random() % count);
        const size_t size = context_size(p.watermark);
        const Tokens context(history.end() - static_cast<long>(size), history.end());
        const uint64_t seed = context_seed(p.watermark, context);
        std::vector<uint64_t> words;
        const TokenMask masks[] = {TokenMask(), make_mask(count, 0.4, random, words)};
        for (const TokenMask& mask : masks) {
          const SampleInput input = input_of(split_history(history, 18, 19));
          const std::vector<float> logits = bench.logits(std::vector<float>(count), input, mask);
          for (size_t t = 0; t < count; ++t) {
            const bool green = scheme == WatermarkScheme::kLeftHash
                                   ? described::is_green_left(seed, gamma, t)
                                   : described::is_green_self(p.watermark.key, gamma, context, static_cast<int32_t>(t));
            ASSERT_EQ(logits[t], !mask.allows(t) ? kMinusInfinity : green ? 2.0f : 0.0f);
          }
        }
      }
    }
  }
}

// Detectors elsewhere depend on these values.
TEST(GreenList, StaysTheSameAcrossVersions) {
  const Tokens context = {50256, 0, 1, 198};
  const auto left = params_of(WatermarkScheme::kLeftHash, 4);
  EXPECT_EQ(context_seed(left, context), UINT64_C(0x2515638d2d6f05fa));
  EXPECT_EQ(green_word(1, green_threshold(0.25f), 3), UINT64_C(0x0614e2a110c22088));
  const SelfHash self(params_of(WatermarkScheme::kSelfHash, 4), std::span(context).first(3));
  const uint32_t hashes[] = {1967776, 10083331, 9117695, 1963261};
  for (int32_t i = 0; i < 4; ++i) EXPECT_EQ(self.hash(1000 + i), hashes[i]);
  EXPECT_EQ(uniform_of(2, 6), 0x1.ffcfecc9p-1);
  EXPECT_EQ(uniform_of(2, 7), 0x1.87e504f5p-1);
}

TEST(GreenList, HoldsTheFractionInEachContext) {
  for (const float gamma : {0.1f, 0.25f, 0.5f}) {
    const uint32_t threshold = green_threshold(gamma);
    EXPECT_NEAR(green_fraction(threshold), gamma, 1e-7);
    double sum = 0, squares = 0;
    constexpr int kContexts = 2000, kBlocks = 16;
    for (int32_t c = 0; c < kContexts; ++c) {
      const uint64_t seed = context_seed(params_of(WatermarkScheme::kLeftHash, 1), {&c, 1});
      int green = 0;
      for (uint64_t block = 0; block < kBlocks; ++block) {
        green += std::popcount(green_word(seed, threshold, block));
      }
      sum += green;
      squares += static_cast<double>(green) * green;
    }
    const double n = kBlocks * 64, g = static_cast<double>(gamma);
    const double mean = sum / kContexts, variance = squares / kContexts - mean * mean;
    EXPECT_NEAR(mean, n * g, 4 * std::sqrt(n * g * (1 - g) / kContexts));
    EXPECT_NEAR(variance / (n * g * (1 - g)), 1, 0.15);
  }
}

TEST(NormalTail, AgreesWithTheErrorFunction) {
  EXPECT_EQ(normal_tail(0), 0.5);
  for (double z = -9; z < 36; z += 0.0137) {
    const double expected = std::erfc(z / std::sqrt(2.0)) / 2;
    ASSERT_NEAR(normal_tail(z) / expected, 1, 5e-13) << z;
  }
  EXPECT_EQ(normal_tail(40), 0);
  EXPECT_EQ(normal_tail(INFINITY), 0);
  EXPECT_EQ(normal_tail(-INFINITY), 1);
  EXPECT_EQ(normal_tail(NAN), 1);
  EXPECT_NEAR(normal_tail(3), 1.3498980316300946e-3, 1e-16);
}

}  // namespace
}  // namespace sotto
