// Compares every stage and the whole chain with the oracle, over many kinds of logits.
#include <gtest/gtest.h>

#include "runtime/base/random.h"
#include "runtime/sampling/stages/selection.h"
#include "tests/unit/sampling/oracle.h"
#include "tests/unit/sampling/sampling_fixture.h"

namespace sotto {
namespace {

struct Case {
  std::vector<float> logits;
  std::vector<uint64_t> mask_words;
  TokenMask mask;
  std::vector<int32_t> history;
  size_t split = 0;  // where the ring wraps around
  SamplerParams params;

  TokenHistory token_history() const {
    const std::span<const int32_t> all = history;
    return {all.first(split), all.subspan(split)};
  }
  std::vector<bool> allowed() const {
    std::vector<bool> bits(logits.size());
    for (size_t i = 0; i < bits.size(); ++i) bits[i] = mask.allows(i);
    return bits;
  }
};

template <typename T>
T one_of(std::initializer_list<T> values, std::mt19937_64& random) {
  return values.begin()[random() % values.size()];
}

Case make_case(size_t count, std::mt19937_64& random) {
  Case c;
  const auto kinds = static_cast<uint64_t>(LogitKind::kCount);
  c.logits = make_logits(static_cast<LogitKind>(random() % kinds), count, random);
  if (random() % 2 == 0) {
    const double share = one_of({0.001, 0.1, 0.5, 0.99}, random);
    c.mask = make_mask(count, share, random, c.mask_words);
  }
  c.history.resize(random() % 100);
  const size_t distinct = random() % 2 == 0 ? std::min<size_t>(count, 5) : count;
  for (int32_t& token : c.history) token = static_cast<int32_t>(random() % distinct);
  c.split = random() % (c.history.size() + 1);
  c.params.temperature = one_of({0.0f, 1e-40f, 1e-3f, 0.5f, 0.8f, 1.0f, 2.0f, 100.0f}, random);
  c.params.top_k = one_of({0u, 1u, 2u, 40u, 300u, 5000u, 4000000000u}, random);
  c.params.top_p = one_of({1e-6f, 0.1f, 0.5f, 0.9f, 0.95f, 0.999f, 1.0f, 1.0f}, random);
  c.params.min_p = one_of({0.0f, 0.0f, 1e-30f, 0.001f, 0.05f, 0.5f, 1.0f}, random);
  c.params.repetition_penalty = one_of({1.0f, 1.0f, 0.5f, 1.3f, 100.0f}, random);
  c.params.repetition_window = one_of({0u, 1u, 7u, 64u, 4294967295u}, random);
  c.params.seed = random();
  return c;
}

// Runs the stages one by one, compares each with the oracle on the same input, and returns the token.
void check(const Case& c, uint64_t draw, TestCandidates& bench, TestSampler& sampler) {
  const SamplerParams& params = c.params;
  Candidates& candidates = bench.begin(c.logits, c.mask);
  oracle::Set set = oracle::begin(c.logits, c.allowed());
  ASSERT_EQ(ids_of(candidates), set.ids);

  SamplerParams one = plain();
  one.repetition_window = params.repetition_window;
  one.repetition_penalty = params.repetition_penalty;
  bench.run(one, {}, c.token_history());
  set = oracle::penalize(set, c.history, params.repetition_window, params.repetition_penalty);
  const size_t greedy = oracle::sorted(set)[0];
  ASSERT_EQ(select_greedy(candidates), set.ids[greedy]);

  (one = plain()).top_k = params.top_k;
  bench.run(one);
  ASSERT_TRUE(oracle::accepts_top_k(set, params.top_k, ids_of(candidates)));
  set = oracle::restrict_to(set, ids_of(candidates));
  (one = plain()).top_p = params.top_p;
  bench.run(one);
  ASSERT_TRUE(oracle::accepts_top_p(set, params.top_p, ids_of(candidates)));
  set = oracle::restrict_to(set, ids_of(candidates));
  (one = plain()).min_p = params.min_p;
  bench.run(one);
  ASSERT_TRUE(oracle::accepts_min_p(set, params.min_p, ids_of(candidates)));
  set = oracle::restrict_to(set, ids_of(candidates));

  int32_t token = set.ids[oracle::sorted(set)[0]];
  if (params.temperature > 0) {
    candidates.divide_by(params.temperature);
    const uint64_t random = random_bits(params.seed, draw);
    token = select_multinomial(candidates, random);
    const long double uniform = static_cast<long double>(random) * 0x1p-64L;
    ASSERT_TRUE(oracle::accepts_draw(set, params.temperature, uniform, token)) << token;
  }

  ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
  const std::vector<float> before = c.logits;
  const SampledToken sampled = sampler.sample(c.logits, c.mask, c.token_history(), draw);
  EXPECT_EQ(sampled.token, token);
  EXPECT_TRUE(std::isnan(sampled.sampled_log_probability));
  EXPECT_TRUE(c.mask.allows(static_cast<size_t>(sampled.token)));
  EXPECT_EQ(std::memcmp(before.data(), c.logits.data(), before.size() * sizeof(float)), 0);
}

class Differential : public testing::TestWithParam<size_t> {};

TEST_P(Differential, AgreesWithTheOracle) {
  const size_t count = GetParam();
  const size_t cases = std::max<size_t>(60, 400000 / (count + 300));
  std::mt19937_64 random(count);
  TestCandidates bench(count);
  TestSampler sampler(count);
  for (size_t i = 0; i < cases && !HasFailure(); ++i) {
    const Case c = make_case(count, random);
    SCOPED_TRACE(testing::Message() << "case " << i << ": T " << c.params.temperature << ", k " << c.params.top_k
                                    << ", p " << c.params.top_p << ", m " << c.params.min_p << ", r "
                                    << c.params.repetition_penalty << ", window " << c.params.repetition_window);
    check(c, i, bench, sampler);
  }
}

INSTANTIATE_TEST_SUITE_P(VocabularySizes, Differential,
                         testing::Values(1, 2, 3, 5, 17, 63, 64, 65, 127, 128, 129, 257, 1000, 1024, 1025, 8191, 20000,
                                         50257));

}  // namespace
}  // namespace sotto
