// Tests draws: their distribution, their determinism, ties, hostile logits, and log probabilities.
#include <gtest/gtest.h>

#include "runtime/base/random.h"
#include "runtime/base/xxhash64.h"
#include "tests/unit/sampling/oracle.h"
#include "tests/unit/sampling/sampling_fixture.h"
#include "tests/unit/sampling/truncation_oracle.h"

namespace sotto {
namespace {

// Returns logits drawn without the standard library's distributions, which differ between libraries.
std::vector<float> portable_logits(size_t count, uint64_t seed) {
  std::vector<float> logits(count);
  for (size_t i = 0; i < count; ++i) {
    const uint64_t bits = random_bits(seed, i);
    logits[i] =
        static_cast<float>(static_cast<int>(bits & 0xffff) + static_cast<int>(bits >> 16 & 0xffff)) * 0x1p-12f - 20.0f;
  }
  return logits;
}

struct Distribution {
  const char* name;
  SamplerParams params;
  bool masked;
};

std::vector<Distribution> distributions() {
  std::vector<Distribution> all = {{"plain", plain(), false}, {"masked", plain(), true}};
  SamplerParams params = plain();
  params.temperature = 0.7f;
  params.top_k = 20;
  params.top_p = 0.9f;
  params.min_p = 0.02f;
  params.repetition_penalty = 1.2f;
  all.push_back({"chain", params, false});
  params = plain();
  params.temperature = 2.5f;
  params.top_p = 0.97f;
  all.push_back({"hot", params, true});
  return all;
}

TEST(Draw, FollowsTheDistribution) {
  constexpr size_t kCount = 200;
  constexpr int kDraws = 100000;
  std::vector<float> logits = portable_logits(kCount, 11);
  for (float& l : logits) l *= 0.3f;
  const std::vector<int32_t> history = {3, 1, 4, 1, 5, 9, 2, 6};
  for (const Distribution& d : distributions()) {
    std::vector<uint64_t> words(TokenMask::word_count(kCount), 0x5a5af0f012345678);
    const TokenMask mask = d.masked ? TokenMask{words.data(), kCount} : TokenMask();
    std::vector<bool> allowed(kCount);
    for (size_t i = 0; i < kCount; ++i) allowed[i] = mask.allows(i);
    // The oracle's exact distribution.
    oracle::Set set = oracle::begin(logits, allowed);
    set = oracle::penalize(set, history, 64, d.params.repetition_penalty);
    const auto truncate = [&set](auto accepts, auto setting) {
      const auto order = oracle::sorted(set);
      std::vector<int32_t> kept;
      for (const size_t place : order) {
        kept.insert(std::upper_bound(kept.begin(), kept.end(), set.ids[place]), set.ids[place]);
        if (accepts(set, setting, kept)) break;
      }
      set = oracle::restrict_to(set, kept);
    };
    truncate(oracle::accepts_top_k, d.params.top_k);
    truncate(oracle::accepts_top_p, d.params.top_p);
    truncate(oracle::accepts_min_p, d.params.min_p);
    const auto exact = oracle::probabilities(set, d.params.temperature);

    TestSampler sampler(kCount);
    ASSERT_EQ(sampler->set_params(d.params, nullptr), Status::kOk);
    std::vector<int> drawn(kCount);
    for (int i = 0; i < kDraws; ++i) {
      ++drawn[static_cast<size_t>(sampler.sample(logits, mask, {{}, history}, i).token)];
    }
    // Cells with fewer than five expected draws are joined to one.
    double chi_square = 0, rare_expected = 0, rare_drawn = 0, cells = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      const double expected = static_cast<double>(exact[i]) * kDraws;
      const double count = std::exchange(drawn[static_cast<size_t>(set.ids[i])], 0);
      if (expected < 5) {
        rare_expected += expected;
        rare_drawn += count;
      } else {
        chi_square += (count - expected) * (count - expected) / expected;
        ++cells;
      }
    }
    if (rare_expected > 5) {
      chi_square += (rare_drawn - rare_expected) * (rare_drawn - rare_expected) / rare_expected;
      ++cells;
    }
    ASSERT_GT(cells, 5) << d.name;
    EXPECT_LT(chi_square, chi_square_bound(cells - 1)) << d.name << ", cells " << cells;
    for (size_t i = 0; i < kCount; ++i) EXPECT_EQ(drawn[i], 0) << d.name << " token " << i;
  }
}

// With equal logits, token i covers the sums [i, i + 1) * 2^kFixedBits, exactly.
TEST(Draw, BordersBetweenTokensAreExact) {
  constexpr size_t kCount = 2 * TokenWeights::kChunk + 100;
  const std::vector<float> logits(kCount, -3.5f);
  TestCandidates bench(kCount);
  Candidates& candidates = bench.begin(logits);
  ASSERT_EQ(candidates.total_fixed(), uint64_t{kCount} << kFixedBits);
  for (int32_t i = 1; i < static_cast<int32_t>(kCount); ++i) {
    // The smallest random number that reaches i / kCount of 2^64.
    const auto n = static_cast<uint64_t>(i);
    const uint64_t border = n * (UINT64_MAX / kCount) + (n * (UINT64_MAX % kCount + 1) + kCount - 1) / kCount;
    ASSERT_EQ(candidates.draw(border), i);
    ASSERT_EQ(candidates.draw(border - 1), i - 1);
  }
}

// Kernels that count the calls that drop tokens.
int drop_count = 0;

const Kernels* counting_kernels() {
  static const Kernels counting = [] {
    Kernels kernels = *find_kernels(Isa::kAuto);
    kernels.keep_from = [](const float* key, float floor, const float* x, const int32_t* ids, int32_t first_id,
                           size_t n, float* kept_x, int32_t* kept_ids) {
      ++drop_count;
      return find_kernels(Isa::kAuto)->keep_from(key, floor, x, ids, first_id, n, kept_x, kept_ids);
    };
    return kernels;
  }();
  return &counting;
}

// No result depends on whether the truncation has been applied or only recorded.
TEST(Draw, ConsidersOnlyTokensThatATruncationKeeps) {
  constexpr size_t kCount = 12 * TokenWeights::kChunk + 100;
  using oracle::Mode;
  const std::pair<Mode, double> truncations[] = {{Mode::kTopP, 0.95}, {Mode::kTopP, 0.3},     {Mode::kTopH, 0.6},
                                                 {Mode::kTopA, 40},   {Mode::kTailFree, 0.9}, {Mode::kTypical, 0.5},
                                                 {Mode::kTopK, 5000}};
  std::mt19937_64 random(7);
  std::normal_distribution<float> normal;
  TestCandidates eager_bench(kCount), lazy_bench(kCount, counting_kernels());
  int recorded_count = 0;
  for (const float step : {0.0f, 0.01f, 1.0f, 100.0f}) {  // steps of the logits; above 1 all are equal
    std::vector<float> logits(kCount);
    for (float& l : logits) l = step > 0 ? std::round(normal(random) / step) * step : normal(random);
    for (const auto& [mode, setting] : truncations) {
      const SamplerParams params = oracle::params_of(mode, setting);
      for (int i = 0; i < 20; ++i) {
        const uint64_t bits = i == 0 ? 0 : i == 1 ? UINT64_MAX : random();
        Candidates& eager = eager_bench.begin(logits);
        if (mode == Mode::kTopK) eager.weights();
        eager_bench.run(params);
        const std::vector<int32_t> kept = ids_of(eager);
        const int32_t expected = eager.draw(bits);
        Candidates& lazy = lazy_bench.begin(logits);
        if (mode == Mode::kTopK) lazy.weights();
        lazy_bench.run_stages(params);
        drop_count = 0;
        ASSERT_EQ(lazy.draw(bits), expected);
        const bool has_dropped = drop_count > 0;
        ASSERT_EQ(lazy.log_probability(expected), eager.log_probability(expected));
        const auto other = static_cast<int32_t>(random() % kCount);
        ASSERT_EQ(lazy.log_probability(other), eager.log_probability(other));
        ASSERT_EQ(lazy.positive_weight_count(), eager.positive_weight_count());
        ASSERT_EQ(lazy.draw(~bits), eager.draw(~bits));
        lazy.apply_truncation();
        ASSERT_EQ(ids_of(lazy), kept);
        recorded_count += !has_dropped && drop_count > 0 ? 1 : 0;
        ASSERT_EQ(lazy.total_fixed(), eager.total_fixed());
        ASSERT_EQ(lazy.draw(bits), expected);
      }
    }
  }
  EXPECT_GT(recorded_count, 100);
}

TEST(Draw, SuccessiveDrawsAreIndependent) {
  const std::vector<float> logits(4, 1.0f);
  TestSampler sampler(4);
  ASSERT_EQ(sampler->set_params(plain(), nullptr), Status::kOk);
  constexpr int kPairs = 100000;
  int pairs[4][4] = {};
  int32_t previous = sampler.sample(logits, {}, {}, 0).token;
  for (int i = 1; i <= kPairs; ++i) {
    const int32_t token = sampler.sample(logits, {}, {}, i).token;
    ++pairs[previous][token];
    previous = token;
  }
  double chi_square = 0;
  for (const auto& row : pairs) {
    for (const int count : row) chi_square += std::pow(count - kPairs / 16.0, 2) / (kPairs / 16.0);
  }
  EXPECT_LT(chi_square, chi_square_bound(15));
}

TEST(Draw, DependsOnSeedAndNumberOnly) {
  const std::vector<float> logits = portable_logits(5000, 3);
  TestSampler first(5000), second(5000);
  SamplerParams params = plain();
  params.temperature = 5;
  std::vector<int32_t> tokens;
  for (const uint64_t seed : {0u, 1u}) {
    params.seed = seed;
    ASSERT_EQ(first->set_params(params, nullptr), Status::kOk);
    ASSERT_EQ(second->set_params(params, nullptr), Status::kOk);
    std::vector<int32_t> forward(50);
    for (size_t i = 0; i < 50; ++i) forward[i] = first.sample(logits, {}, {}, i).token;
    for (size_t i = 50; i-- > 0;) {
      EXPECT_EQ(second.sample(logits, {}, {}, i).token, forward[i]);
    }
    EXPECT_NE(forward, tokens);
    EXPECT_NE(forward, std::vector<int32_t>(50, forward[0]));
    tokens = forward;
  }
}

// Returns the settings of the golden run: every stage by itself, and all together.
std::vector<SamplerParams> golden_params() {
  std::vector<SamplerParams> all = {SamplerParams(), plain(), plain(), plain(), plain(), plain()};
  all[2].top_p = 0.9f;
  all[3].min_p = 0.01f;
  all[4].top_k = 1000;
  all[4].repetition_penalty = 1.3f;
  all[5].temperature = 0;
  all[5].repetition_penalty = 1.5f;
  for (SamplerParams& params : all) params.log_probabilities = true;
  return all;
}

TEST(Draw, SameBitsOnEveryInstructionSet) {
  int tables = 0;
  for (int32_t isa = 1; isa <= 7; ++isa) {
    const Kernels* kernels = find_kernels(static_cast<Isa>(isa));
    if (kernels == nullptr) continue;
    ++tables;
    std::vector<uint32_t> record;
    for (const size_t count : {7, 1000, 50257}) {
      TestSampler sampler(count, kernels);
      const std::vector<float> logits = portable_logits(count, count);
      const std::vector<int32_t> history = {0, 5, 3, 0};
      for (const SamplerParams& params : golden_params()) {
        ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
        for (uint64_t draw = 0; draw < 40; ++draw) {
          const SampledToken sampled = sampler.sample(logits, {}, {{}, history}, draw);
          record.push_back(static_cast<uint32_t>(sampled.token));
          record.push_back(std::bit_cast<uint32_t>(raw_log_probability(logits, sampled.token, kernels)));
        }
      }
    }
    EXPECT_EQ(xxhash64(record.data(), record.size() * sizeof record[0]), 0x83c7d5113da50ab8u) << isa_name(kernels->isa);
  }
  EXPECT_GE(tables, 1);
}

TEST(Greedy, TiesGoToTheLowestId) {
  std::mt19937_64 random(5);
  SamplerParams params;
  params.temperature = 0;
  for (const size_t count : {1, 2, 16, 17, 100, 4097}) {
    TestSampler sampler(count);
    ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
    for (int i = 0; i < 200; ++i) {
      const auto logits = make_logits(i % 2 == 0 ? LogitKind::kTied : LogitKind::kFlat, count, random);
      const auto best = std::max_element(logits.begin(), logits.end());
      EXPECT_EQ(sampler.sample(logits, {}, {}, 0).token, best - logits.begin());
    }
  }
}

// At the border of a truncation, tokens with equal logits are kept by ascending id.
TEST(Truncation, TiesAtTheBorderKeepTheLowestIds) {
  const std::vector<float> logits = {1, 2, 1, 2, 1, 1};
  TestSampler sampler(6);
  const auto support = [&](const SamplerParams& params) {
    EXPECT_EQ(sampler->set_params(params, nullptr), Status::kOk);
    std::vector<bool> seen(6);
    for (uint64_t i = 0; i < 500; ++i) {
      seen[static_cast<size_t>(sampler.sample(logits, {}, {}, i).token)] = true;
    }
    return seen;
  };
  SamplerParams params = plain();
  params.top_k = 4;
  EXPECT_EQ(support(params), (std::vector<bool>{true, true, true, true, false, false}));
  params.top_k = 1;
  EXPECT_EQ(support(params), (std::vector<bool>{false, true, false, false, false, false}));
  params = plain();
  params.top_p = 0.6f;  // 2e / (2e^2 + 4e) of the mass are 0.288 and 0.288, then 0.106 each
  EXPECT_EQ(support(params), (std::vector<bool>{true, true, false, true, false, false}));
}

TEST(Hostile, NothingFiniteGivesTheLowestAllowedToken) {
  for (const float worthless : {NAN, kMinusInfinity}) {
    for (const size_t count : {1, 5, 129, 3000}) {
      std::vector<float> logits(count, worthless);
      if (count > 2) logits[count / 2] = kMinusInfinity;
      std::vector<uint64_t> words(TokenMask::word_count(count), 0);
      const size_t lowest = count * 2 / 3;
      for (size_t i = lowest; i < count; ++i) words[i / 64] |= uint64_t{1} << (i % 64);
      TestSampler sampler(count);
      for (SamplerParams params : golden_params()) {
        params.repetition_penalty = 1;
        ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
        const SampledToken any = sampler.sample(logits, {}, {}, 0);
        EXPECT_EQ(any.token, 0);
        EXPECT_EQ(raw_log_probability(logits, any.token), kMinusInfinity);
        EXPECT_EQ(sampler.sample(logits, {words.data(), count}, {}, 0).token, lowest);
      }
    }
  }
}

TEST(Hostile, TokensOutsideTheVocabularyAreNotPenalized) {
  const std::vector<float> logits = {1, 2, 3};
  const std::vector<int32_t> history = {-1, 3, INT32_MAX, INT32_MIN, 2};
  TestSampler sampler(3);
  SamplerParams params;
  params.temperature = 0;
  params.repetition_penalty = 2;
  ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
  EXPECT_EQ(sampler.sample(logits, {}, {history, {}}, 0).token, 1);
}

TEST(LogProbability, IsThatOfTheRawLogits) {
  std::mt19937_64 random(9);
  for (const size_t count : {1, 2, 50, 1025, 50257}) {
    TestSampler sampler(count);
    SamplerParams params;
    params.log_probabilities = true;
    params.repetition_penalty = 1.5f;
    ASSERT_EQ(sampler->set_params(params, nullptr), Status::kOk);
    for (const LogitKind kind :
         {LogitKind::kNarrow, LogitKind::kWide, LogitKind::kPeaked, LogitKind::kTied, LogitKind::kWithNan}) {
      const std::vector<float> logits = make_logits(kind, count, random);
      std::vector<uint64_t> words;
      const TokenMask mask = make_mask(count, 0.5, random, words);
      const oracle::Set set = oracle::begin(logits, {});
      const auto exact = oracle::probabilities(set);
      const std::vector<int32_t> history = {0};
      const SampledToken sampled = sampler.sample(logits, mask, {history, {}}, 1);
      if (exact.empty()) continue;
      const auto expected = std::log(exact[static_cast<size_t>(sampled.token)]);
      EXPECT_NEAR(raw_log_probability(logits, sampled.token), static_cast<double>(expected),
                  1e-6 * std::max(1.0, std::fabs(static_cast<double>(expected))));
    }
  }
}

}  // namespace
}  // namespace sotto
