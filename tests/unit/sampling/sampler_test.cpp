// Tests parameters: defaults, limits, messages, and that the old parameters stay in effect after a rejection. Tests
// memory.
#include "runtime/sampling/sampler.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/sampling/sampling_fixture.h"

namespace sotto {
namespace {

TEST(SetParams, DefaultsAreThoseOfTheHeader) {
  TestSampler sampler(10);
  const SamplerParams& params = sampler->params();
  EXPECT_EQ(params.temperature, 0.8f);
  EXPECT_EQ(params.top_k, 40u);
  EXPECT_EQ(params.top_p, 0.95f);
  EXPECT_EQ(params.min_p, 0.05f);
  EXPECT_EQ(params.repetition_penalty, 1.0f);
  EXPECT_EQ(params.repetition_window, 64u);
  EXPECT_FALSE(params.log_probabilities);
  EXPECT_EQ(params.seed, 0u);
}

TEST(SetParams, AcceptsTheLimits) {
  TestSampler sampler(10);
  const auto accepts = [&](auto member, auto value) {
    SamplerParams params;
    params.*member = value;
    return sampler->set_params(params, nullptr) == Status::kOk && sampler->params().*member == value;
  };
  for (const float t : {0.0f, -0.0f, 1e-45f, 100.0f}) {
    EXPECT_TRUE(accepts(&SamplerParams::temperature, t)) << t;
  }
  for (const float p : {1e-45f, 1.0f}) EXPECT_TRUE(accepts(&SamplerParams::top_p, p)) << p;
  for (const float m : {0.0f, 1.0f}) EXPECT_TRUE(accepts(&SamplerParams::min_p, m)) << m;
  for (const float r : {1e-45f, 0.5f, 100.0f}) {
    EXPECT_TRUE(accepts(&SamplerParams::repetition_penalty, r)) << r;
  }
  for (const uint32_t k : {0u, UINT32_MAX}) {
    EXPECT_TRUE(accepts(&SamplerParams::top_k, k)) << k;
    EXPECT_TRUE(accepts(&SamplerParams::repetition_window, k)) << k;
  }
}

TEST(SetParams, RejectsParametersOutOfRangeByName) {
  struct Refusal {
    float SamplerParams::*member;
    const char* name;
    std::vector<std::pair<float, const char*>> values;
  };
  const float above = std::nextafter(1.0f, 2.0f);
  const Refusal refusals[] = {{&SamplerParams::temperature,
                               "temperature",
                               {{-1.5f, "-1.5"}, {100.5f, "100.5"}, {NAN, "NaN"}, {INFINITY, "infinity"}}},
                              {&SamplerParams::top_p,
                               "top_p",
                               {{0, "0"}, {-0.25f, "-0.25"}, {above, "1"}, {NAN, "NaN"}, {-INFINITY, "-infinity"}}},
                              {&SamplerParams::min_p, "min_p", {{-0.5f, "-0.5"}, {above, "1"}, {NAN, "NaN"}}},
                              {&SamplerParams::repetition_penalty,
                               "repetition_penalty",
                               {{0, "0"}, {-1, "-1"}, {101, "101"}, {NAN, "NaN"}, {INFINITY, "infinity"}}}};
  TestSampler sampler(10);
  SamplerParams old;
  old.temperature = 0.25f;
  old.seed = 99;
  ASSERT_EQ(sampler->set_params(old, nullptr), Status::kOk);
  for (const Refusal& refusal : refusals) {
    for (const auto& [value, text] : refusal.values) {
      SamplerParams params;
      params.*refusal.member = value;
      Error error;
      EXPECT_EQ(sampler->set_params(params, &error), Status::kInvalidArgument);
      EXPECT_EQ(error.status, Status::kInvalidArgument);
      const std::string start = std::string(refusal.name) + " is " + text + "; it must be ";
      EXPECT_EQ(std::string(error.message).substr(0, start.size()), start);
      EXPECT_EQ(sampler->set_params(params, nullptr), Status::kInvalidArgument);
      EXPECT_EQ(sampler->params().temperature, 0.25f);
      EXPECT_EQ(sampler->params().top_k, 40u);
      EXPECT_EQ(sampler->params().seed, 99u);
    }
  }
}

// A rejected call keeps the old chain as well.
TEST(SetParams, RejectedParametersDoNotChangeSampling) {
  TestSampler sampler(3);
  SamplerParams params;
  params.temperature = 0;
  ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
  params.temperature = 100;
  params.top_p = NAN;
  EXPECT_EQ(sampler->set_params(params, nullptr), Status::kInvalidArgument);
  for (uint64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(sampler.sample(std::vector<float>{1, 1.01f, 1}, {}, {}, i).token, 1);
  }
}

TEST(Memory, IsAMultipleOfTheAlignmentAndGrowsLinearly) {
  for (const size_t count : {1, 63, 1000, 50257}) {
    const size_t size = memory_size(context_of(count));
    EXPECT_EQ(size % 64, 0u);
    EXPECT_LE(size, 22 * count + 24000 + 32 * kDefaultHistoryCapacity);
  }
}

}  // namespace
}  // namespace sotto
