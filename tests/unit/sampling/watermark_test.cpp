// Tests watermarks: they are detected in marked text and in no other text, tournaments and the Gumbel-max trick
// preserve the distribution, and the mask is respected.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <string>
#include <unordered_map>

#include "runtime/sampling/watermark/watermark.h"
#include "runtime/sampling/watermark/watermark_detect.h"
#include "tests/support/files.h"
#include "tests/unit/sampling/process_fixture.h"

namespace sotto {
namespace {

using Tokens = std::vector<int32_t>;
using Scheme = WatermarkScheme;
constexpr Scheme kSchemes[] = {Scheme::kLeftHash, Scheme::kSelfHash, Scheme::kTournament, Scheme::kGumbel};
constexpr const char* kNames[] = {"left hash", "self hash", "tournament", "gumbel"};
constexpr size_t kVocabulary = 1000;

WatermarkParams params_of(Scheme scheme, uint32_t width = 0, uint64_t key = 15485863) {
  WatermarkParams params;
  params.scheme = scheme;
  params.context_width = width;
  params.key = key;
  return params;
}

WatermarkResult detect(const WatermarkParams& params, const Tokens& tokens, size_t vocabulary = kVocabulary) {
  WatermarkResult result;
  EXPECT_EQ(detect_watermark(params, tokens, vocabulary, &result, nullptr), Status::kOk);
  return result;
}

// An artificial language: logits that depend on the last two tokens, with about 4 nats of entropy.
std::vector<float> language(const Tokens& text) {
  const size_t n = text.size();
  std::mt19937 random(static_cast<uint32_t>(text[n - 1] * 1009 + text[n - 2]));
  std::vector<float> logits(kVocabulary);
  for (float& l : logits) l = static_cast<float>(random() % 1000) * 0.012f;
  return logits;
}

// Returns `count` tokens generated after a prompt of 20.
Tokens write(ProcessFixture& bench, size_t count, uint64_t seed) {
  SamplerParams p = bench->params();
  p.seed = seed;
  EXPECT_EQ(bench->set_params(p, nullptr), Status::kOk);
  Tokens text;
  std::mt19937_64 random(seed);
  for (int i = 0; i < 20; ++i) text.push_back(static_cast<int32_t>(random() % kVocabulary));
  for (size_t i = 0; i < count; ++i) {
    SampleInput input = input_of(split_history(text, i % 7, i), i);
    input.place = text.size();
    text.push_back(bench.sample(language(text), input).token);
  }
  return {text.begin() + 20, text.end()};
}

SamplerParams marking(const WatermarkParams& watermark) {
  SamplerParams p = ProcessFixture::off();
  p.watermark = watermark;
  return p;
}

TEST(Watermark, MarkedTextIsFoundAndUnmarkedIsNot) {
  ProcessFixture bench(kVocabulary);
  for (size_t s = 0; s < 4; ++s) {
    for (const uint32_t width : {0u, 1u, 2u, 6u}) {
      const WatermarkParams params = params_of(kSchemes[s], width);
      ASSERT_EQ(bench.set(marking(params), {StageKind::kWatermark}), Status::kOk);
      double least = 1e9;
      for (uint64_t text = 0; text < 4; ++text) {
        const Tokens tokens = write(bench, 200, text);
        const WatermarkResult result = detect(params, tokens);
        EXPECT_TRUE(result.is_marked);
        EXPECT_EQ(result.p_value, normal_tail(result.z));
        EXPECT_GE(result.token_count, width == 1 ? 130u : 180u);
        least = std::min(least, result.z);
        // Another key must not find it.
        EXPECT_LT(std::fabs(detect(params_of(kSchemes[s], width, 5), tokens).z), 4.5);
      }
      std::printf("%s, width %u: least z of 4 texts of 200 tokens %.1f\n", kNames[s], width, least);
      EXPECT_GT(least, 5);
    }
  }
  ASSERT_EQ(bench.set(ProcessFixture::off(), {StageKind::kTopK}), Status::kOk);
  const Tokens unmarked = write(bench, 200, 1);
  for (const Scheme scheme : kSchemes) {
    EXPECT_FALSE(detect(params_of(scheme), unmarked).is_marked);
  }
}

// Returns the words of the corpora as tokens, in order.
Tokens corpus(size_t* vocabulary) {
  Tokens tokens;
  std::unordered_map<std::string, int32_t> ids;
  for (const char* name : {"wikitext-2/valid.txt", "tinyshakespeare.txt"}) {
    std::ifstream file(test::shared_data() / "corpora" / name);
    for (std::string word; file >> word;) {
      tokens.push_back(ids.emplace(word, static_cast<int32_t>(ids.size())).first->second);
    }
  }
  *vocabulary = ids.size();
  return tokens;
}

void expect_false_positives(const char* what, const Tokens& words, size_t vocabulary) {
  constexpr size_t kTexts = 10000, kLength = 200;
  for (size_t s = 0; s < 4; ++s) {
    size_t marked = 0, above_two = 0;
    double sum = 0, squares = 0;
    for (size_t i = 0; i < kTexts; ++i) {
      const size_t start = i * 37 % (words.size() - kLength);
      const Tokens text(words.begin() + static_cast<long>(start), words.begin() + static_cast<long>(start + kLength));
      const WatermarkResult r = detect(params_of(kSchemes[s], 0, i * 7919 + 1), text, vocabulary);
      marked += r.is_marked ? 1 : 0;
      above_two += r.p_value < 0.05 ? 1 : 0;
      sum += r.z;
      squares += r.z * r.z;
    }
    const double mean = sum / kTexts, deviation = std::sqrt(squares / kTexts - mean * mean);
    std::printf("%s, %s: %zu of %zu marked, %zu with p below 0.05, z %.3f +- %.3f\n", what, kNames[s], marked, kTexts,
                above_two, mean, deviation);
    // A normal z would give 13.5. The binomial distribution of a green list is skewed to the right.
    EXPECT_LE(marked, 35u);
    EXPECT_NEAR(static_cast<double>(above_two), 500, 120);
    EXPECT_NEAR(mean, 0, 0.05);
    EXPECT_NEAR(deviation, 1, 0.04);
  }
}

TEST(Watermark, FalsePositivesInACorpusAreRare) {
  SOTTO_REQUIRE_DATA("corpora/wikitext-2/valid.txt");
  SOTTO_REQUIRE_DATA("corpora/tinyshakespeare.txt");
  size_t vocabulary = 0;
  const Tokens words = corpus(&vocabulary);
  expect_false_positives("corpus", words, vocabulary);
}

TEST(Watermark, FalsePositivesInRandomTextAreRare) {
  std::mt19937_64 random(9);
  Tokens words(400000);
  for (int32_t& token : words) token = static_cast<int32_t>(random() % 50257);
  expect_false_positives("random", words, 50257);
}

// Over random keys, the token is distributed as without a watermark.
TEST(Watermark, TournamentAndGumbelKeepTheDistribution) {
  constexpr size_t kCount = 12;
  constexpr int kDraws = 100000;
  std::mt19937_64 random(10);
  std::normal_distribution<float> normal;
  for (int trial = 0; trial < 3; ++trial) {
    std::vector<float> logits(kCount);
    for (float& l : logits) l = normal(random);
    logits[5] = kMinusInfinity;
    double total = 0;
    for (const float l : logits) total += std::exp(static_cast<double>(l));
    TestCandidates bench(kCount);
    std::vector<double> counts[2] = {std::vector<double>(kCount), std::vector<double>(kCount)};
    for (int draw = 0; draw < kDraws; ++draw) {
      const uint64_t seed = random(), bits = random();
      const int32_t tournament = select_tournament(bench.begin(logits), bench.scratch(), seed, 30, bits);
      const int32_t gumbel = select_gumbel_watermark(bench.begin(logits), seed);
      ++counts[0][static_cast<size_t>(tournament)];
      ++counts[1][static_cast<size_t>(gumbel)];
    }
    for (const auto& count : counts) {
      double chi_square = 0;
      EXPECT_EQ(count[5], 0);
      for (size_t t = 0; t < kCount; ++t) {
        if (t == 5) continue;
        const double expected = kDraws * std::exp(static_cast<double>(logits[t])) / total;
        chi_square += (count[t] - expected) * (count[t] - expected) / expected;
      }
      EXPECT_LT(chi_square, 29.6);  // with 10 degrees of freedom, exceeded once in 1,000
    }
  }
}

// Returns the first of the last layers that are played in one pass: ten at most, all in one half of the word, and no
// more than the number of tokens allows.
uint32_t last_layers(size_t count, uint32_t layers) {
  uint32_t most = 10;
  while (most > 1 && size_t{1} << most > count) --most;
  uint32_t layer = layers > 32 ? 32 : 0;
  while (layer + most < layers) layer += most;
  return layer;
}

// Plays round by round over the whole distribution, without patterns. The patterns of the last layers order the draw.
size_t tournament_oracle(const std::vector<float>& logits, uint64_t seed, uint32_t layers, uint64_t random) {
  std::vector<long double> p(logits.size());
  const float max = *std::max_element(logits.begin(), logits.end());
  for (size_t t = 0; t < p.size(); ++t) p[t] = std::exp(static_cast<long double>(logits[t]) - max);
  const auto g = [&](size_t t, uint32_t layer) { return split_mix(seed, t) >> layer & 1; };
  for (uint32_t layer = 0; layer < layers; ++layer) {
    long double total = 0, ones = 0;
    for (size_t t = 0; t < p.size(); ++t) {
      total += p[t];
      if (g(t, layer) == 1) ones += p[t];
    }
    const long double q = ones / total;
    for (size_t t = 0; t < p.size(); ++t) p[t] *= 1 + static_cast<long double>(g(t, layer)) - q;
  }
  const uint32_t first = last_layers(logits.size(), layers);
  const auto pattern = [&](size_t t) { return split_mix(seed, t) << (64 - layers) >> (64 - layers + first); };
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return pattern(a) < pattern(b); });
  long double total = 0, sum = 0;
  for (const long double x : p) total += x;
  for (const size_t t : order) {
    sum += p[t];
    if (sum > static_cast<long double>(random) * 0x1p-64L * total) return t;
  }
  return order.back();
}

TEST(Watermark, TournamentByPatternsEqualsTheTournament) {
  std::mt19937_64 random(11);
  int same = 0, all = 0;
  for (int i = 0; i < 3000; ++i, ++all) {
    const size_t count = 1 + random() % (i % 10 == 0 ? 3000 : 60);
    const auto layers = 1 + static_cast<uint32_t>(random() % 64);
    const auto logits = make_logits(LogitKind::kNarrow, count, random);
    const uint64_t seed = random(), bits = random();
    TestCandidates bench(count);
    const int32_t selected = select_tournament(bench.begin(logits), bench.scratch(), seed, layers, bits);
    same += static_cast<size_t>(selected) == tournament_oracle(logits, seed, layers, bits) ? 1 : 0;
  }
  EXPECT_GE(same, all - 2);  // a draw may be at a border
}

TEST(Watermark, GumbelSelectsTheEarliestArrival) {
  std::mt19937_64 random(12);
  for (int i = 0; i < 1000; ++i) {
    const size_t count = 1 + random() % 2000;
    const auto logits = make_logits(LogitKind::kWide, count, random);
    const uint64_t seed = random();
    TestCandidates bench(count);
    Candidates& candidates = bench.begin(logits);
    const auto selected = static_cast<size_t>(select_gumbel_watermark(candidates, seed));
    const double max = static_cast<double>(*std::max_element(logits.begin(), logits.end()));
    const auto time = [&](size_t t) {
      return -std::log(uniform_of(seed, static_cast<int32_t>(t))) / std::exp(static_cast<double>(logits[t]) - max);
    };
    for (size_t t = 0; t < count; ++t) ASSERT_GE(time(t), time(selected) * (1 - 1e-4));
  }
}

// A loop would repeat itself forever if its contexts were marked again.
TEST(Watermark, RepeatedContextsAreDrawnAtRandom) {
  for (const Scheme scheme : {Scheme::kTournament, Scheme::kGumbel}) {
    ProcessFixture bench(50);
    ASSERT_EQ(bench.set(marking(params_of(scheme, 2)), {StageKind::kWatermark}), Status::kOk);
    const std::vector<float> flat(50);
    const Tokens loop = {1, 2, 3, 1, 2, 3, 1, 2}, fresh = {1, 2, 3, 4, 5, 6, 7, 8};
    const auto distinct = [&](const Tokens& history, uint64_t generated) {
      std::vector<int> seen(50);
      for (uint64_t draw = 0; draw < 300; ++draw) {
        SampleInput input = input_of(split_history(history, 2, 5), generated);
        input.place = draw;
        seen[static_cast<size_t>(bench.sample(flat, input).token)] = 1;
      }
      return std::count(seen.begin(), seen.end(), 1);
    };
    EXPECT_GT(distinct(loop, 6), 40);
    EXPECT_GT(distinct(loop, 3), 40);  // the context at which generation began counts as well
    EXPECT_LT(distinct(loop, 2), 20);  // contexts before that belong to the prompt
    EXPECT_LT(distinct(fresh, 8), 20);
    EXPECT_GT(distinct(Tokens{1}, 0), 40);  // the context is too short
    if (scheme == Scheme::kGumbel) {
      EXPECT_EQ(distinct(fresh, 8), 1);
    }
  }
}

TEST(Watermark, NeverSelectsForbiddenOrImpossibleTokens) {
  std::mt19937_64 random(13);
  for (int i = 0; i < 3000; ++i) {
    const size_t count = 1 + random() % 200;
    ProcessFixture bench(count);
    SamplerParams p = ProcessFixture::off();
    p.watermark = params_of(kSchemes[random() % 4], static_cast<uint32_t>(random() % 3), random());
    p.watermark.delta = 100;
    p.watermark.tournament_layers = 1 + static_cast<uint32_t>(random() % 64);
    p.top_k = random() % 2 == 0 ? 0 : 10;
    p.temperature = random() % 8 == 0 ? 0.0f : random() % 2 == 0 ? 1.0f : 1e-6f;
    p.order = static_cast<ChainOrder>(random() % 3);
    if (replaces_selection(p.watermark.scheme) && p.temperature == 0) {
      ASSERT_EQ(bench->set_params(p, nullptr), Status::kInvalidArgument);
      p.temperature = 1e-6f;
    }
    ASSERT_EQ(bench->set_params(p, nullptr), Status::kOk);
    std::vector<uint64_t> words;
    const TokenMask mask = random() % 3 == 0 ? TokenMask() : make_mask(count, 0.2, random, words);
    const auto kind = static_cast<LogitKind>(random() % static_cast<uint64_t>(LogitKind::kCount));
    const auto logits = make_logits(kind, count, random);
    Tokens history(random() % 10);
    for (int32_t& token : history) token = static_cast<int32_t>(random() % count);
    SampleInput input = input_of(split_history(history, 1, 4));
    input.place = random();
    const auto token = static_cast<size_t>(bench.sample(logits, input, mask).token);
    ASSERT_TRUE(token < count && mask.allows(token));
    const auto possible = [&](size_t t) { return mask.allows(t) && logits[t] > kMinusInfinity; };
    bool any = false;
    for (size_t t = 0; t < count; ++t) any = any || possible(t);
    ASSERT_TRUE(!any || possible(token));
  }
}

// The tokens must be the same on every instruction set and platform.
TEST(Watermark, WithPenaltiesSelectsTheSameTokensEverywhere) {
  constexpr size_t kCount = 700;
  for (const Isa isa : {Isa::kReference, Isa::kAvx2, Isa::kAvx512, Isa::kNeon, Isa::kAuto}) {
    const Kernels* kernels = find_kernels(isa);
    if (kernels == nullptr) continue;
    ProcessFixture bench(kCount, 7, {}, 256, kernels);
    std::mt19937_64 random(15);
    std::vector<float> logits(kCount);
    for (float& l : logits) l = static_cast<float>(random() % 20000) * 0x1p-11f;
    uint64_t hash = 0;
    for (const Scheme scheme :
         {Scheme::kNone, Scheme::kLeftHash, Scheme::kSelfHash, Scheme::kTournament, Scheme::kGumbel}) {
      SamplerParams p = ProcessFixture::off();
      p.watermark = params_of(scheme);
      p.repetition_penalty = 1.3f;
      p.penalty_slope = 0.7f;
      p.frequency_penalty = 0.1f;
      p.guard_window = 100;
      p.dry_multiplier = 0.7f;
      p.end_decay_factor = 1.01f;
      ASSERT_EQ(bench->set_params(p, nullptr), Status::kOk);
      Tokens text = {1, 2, 3, 4, 5};
      for (uint64_t i = 0; i < 200; ++i) {
        SampleInput input = input_of(split_history(text, 2, i), i);
        input.place = i;
        text.push_back(bench.sample(logits, input).token);
        hash = split_mix(hash, static_cast<uint64_t>(text.back()));
      }
    }
    EXPECT_EQ(hash, UINT64_C(7162940033867008189)) << isa_name(isa);
  }
}

TEST(Detector, CountsRepetitionsOnce) {
  const Tokens loop = [] {
    Tokens tokens;
    for (int i = 0; i < 300; ++i) tokens.push_back(i % 3);
    return tokens;
  }();
  EXPECT_EQ(detect(params_of(Scheme::kLeftHash), loop).token_count, 3u);
  EXPECT_EQ(detect(params_of(Scheme::kLeftHash, 4), loop).token_count, 3u);
  EXPECT_EQ(detect(params_of(Scheme::kTournament), loop).token_count, 3u);
  EXPECT_EQ(detect(params_of(Scheme::kGumbel), loop).token_count, 3u);
  EXPECT_LE(detect(params_of(Scheme::kSelfHash), loop).token_count, 3u);
  // The bits of the filter run out, and the count stays exact.
  std::mt19937_64 random(14);
  Tokens text(30000);
  for (int32_t& token : text) token = static_cast<int32_t>(random() % 150);
  std::vector<bool> seen(150 * 150);
  size_t pairs = 0;
  for (size_t i = 1; i < text.size(); ++i) {
    const auto pair = static_cast<size_t>(text[i - 1] * 150 + text[i]);
    pairs += seen[pair] ? 0 : 1;
    seen[pair] = true;
  }
  EXPECT_EQ(detect(params_of(Scheme::kLeftHash), text).token_count, pairs);
  EXPECT_EQ(detect(params_of(Scheme::kGumbel, 1), text).token_count, 150u);
}

TEST(Detector, RejectsImpossibleArguments) {
  WatermarkResult result;
  Error error;
  const auto refuse = [&](const WatermarkParams& params, const Tokens& tokens, const char* text) {
    EXPECT_EQ(detect_watermark(params, tokens, 10, &result, &error), Status::kInvalidArgument);
    EXPECT_EQ(std::string(error.message), text);
  };
  refuse(params_of(Scheme::kNone), {1, 2}, "watermark.scheme is NONE; it must be the scheme to detect");
  refuse(params_of(Scheme::kGumbel), {1, 10}, "tokens[1] is 10; it must be a token id from 0 to 9");
  refuse(params_of(Scheme::kGumbel), {-1}, "tokens[0] is -1; it must be a token id from 0 to 9");
  refuse(params_of(Scheme::kGumbel, 99), {1}, "watermark.context_width is 99; it must be from 0 to 16");
  for (const Scheme scheme : kSchemes) {
    for (const Tokens& few : {Tokens{}, Tokens{1}, Tokens{1, 2, 3}}) {
      const WatermarkResult none = detect(params_of(scheme, 5), few, 10);
      EXPECT_EQ(none.token_count, 0u);
      EXPECT_EQ(none.p_value, 1);
      EXPECT_FALSE(none.is_marked);
    }
  }
}

}  // namespace
}  // namespace sotto
