// Tests bans, biases and forcing, with masks, and combinations that would leave no token.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/unit/sampling/process_fixture.h"

namespace sotto {
namespace {

using Tokens = std::vector<int32_t>;
using K = StageKind;

const std::vector<float> kRising = {0, 1, 2, 3, 4, 5, 6, 7};

SampleInput generated(uint64_t count, uint64_t limit = 0) {
  SampleInput input;
  input.generated_count = count;
  input.token_limit = limit;
  return input;
}

TokenMask mask_of(uint64_t* words, size_t count) { return {words, count}; }

TEST(Bans, AllowedTokensAreSortedAndIntersectedWithTheMask) {
  ProcessFixture bench(8);
  const Tokens allowed = {6, 2, 4, 2, 6};
  SamplerParams p = ProcessFixture::off();
  p.allowed_tokens = allowed;
  ASSERT_EQ(bench.set(p, {K::kAllowed}), Status::kOk);
  const auto copy = bench->params().allowed_tokens;
  EXPECT_EQ(Tokens(copy.begin(), copy.end()), (Tokens{2, 4, 6}));
  const float n = kMinusInfinity;
  EXPECT_EQ(bench.logits(kRising, {}), (std::vector<float>{n, n, 2, n, 4, n, 6, n}));
  uint64_t words = 0b00110101;
  EXPECT_EQ(bench.logits(kRising, {}, mask_of(&words, 8)), (std::vector<float>{n, n, 2, n, 4, n, n, n}));
  words = 0b10000010;
  TokenMask mask = mask_of(&words, 8);
  EXPECT_FALSE(bench->constrain({}, &mask));
  EXPECT_EQ(words, 0b10000010u);  // the mask of the caller has not changed
}

TEST(Bans, ManyAllowedTokensAreIntersectedWithManyMasks) {
  std::mt19937_64 random(5);
  constexpr size_t kCount = 300;
  ProcessFixture bench(kCount);
  for (int i = 0; i < 500; ++i) {
    Tokens allowed(random() % 100);
    for (int32_t& token : allowed) token = static_cast<int32_t>(random() % kCount);
    std::vector<uint64_t> words;
    const TokenMask mask = random() % 4 == 0 ? TokenMask() : make_mask(kCount, 0.3, random, words);
    const auto logits = make_logits(LogitKind::kNarrow, kCount, random);
    SamplerParams p = ProcessFixture::off();
    p.allowed_tokens = allowed;
    ASSERT_EQ(bench.set(p, {K::kAllowed}), Status::kOk);
    const std::set<int32_t> set(allowed.begin(), allowed.end());
    bool any = allowed.empty();
    for (const int32_t token : set) any = any || mask.allows(static_cast<size_t>(token));
    TokenMask limited = mask;
    ASSERT_EQ(bench->constrain({}, &limited), any);
    if (!any) continue;
    const std::vector<float> left = bench.logits(logits, {}, mask);
    for (size_t t = 0; t < kCount; ++t) {
      const bool stays = mask.allows(t) && (allowed.empty() || set.count(static_cast<int32_t>(t)) > 0);
      ASSERT_EQ(left[t], stays ? logits[t] : kMinusInfinity);
    }
  }
}

TEST(Bans, SuppressedEndOfTextNeverEndsTheText) {
  ProcessFixture bench(8, 7);
  SamplerParams p = ProcessFixture::off();
  p.min_new_tokens = 3;
  ASSERT_EQ(bench.set(p, {K::kMinTokens}), Status::kOk);
  EXPECT_EQ(bench.logits(kRising, generated(2))[7], kMinusInfinity);
  EXPECT_EQ(bench.logits(kRising, generated(3))[7], 7);
  p = ProcessFixture::off();
  p.ignore_end = true;
  ASSERT_EQ(bench.set(p, {K::kSuppress}), Status::kOk);
  EXPECT_EQ(bench.logits(kRising, generated(100))[7], kMinusInfinity);
  uint64_t words = 0b10000000;
  TokenMask mask = mask_of(&words, 8);
  EXPECT_FALSE(bench->constrain(generated(100), &mask));
}

TEST(Bans, EndDecayIsAPowerOfTheTokensBeyondTheStart) {
  ProcessFixture bench(8, 7);
  SamplerParams p = ProcessFixture::off();
  p.end_decay_start = 10;
  p.end_decay_factor = 1.5f;
  ASSERT_EQ(bench.set(p, {K::kEndDecay}), Status::kOk);
  EXPECT_EQ(bench.logits(kRising, generated(10))[7], 7);
  EXPECT_FLOAT_EQ(bench.logits(kRising, generated(13))[7], 7 * 1.5f * 1.5f * 1.5f);
  EXPECT_EQ(bench.logits(kRising, generated(100000))[7], std::numeric_limits<float>::max());
  std::vector<float> logits = kRising;
  logits[7] = -2;
  EXPECT_FLOAT_EQ(bench.logits(logits, generated(12))[7], -2 + 2 * (1.5f * 1.5f - 1));
  for (const float special : {0.0f, kMinusInfinity, INFINITY}) {
    logits[7] = special;
    EXPECT_EQ(bench.logits(logits, generated(100000))[7], special);
  }
}

TEST(Forcing, ForcesThePrefixAndTheLastTokenOnly) {
  ProcessFixture bench(8, 7);
  const Tokens prefix = {2, 5, 0};
  SamplerParams p = ProcessFixture::off();
  p.forced_prefix = prefix;
  p.forced_last_token = 1;
  p.temperature = 0;
  ASSERT_EQ(bench.set(p, {K::kForced, K::kTemperature}), Status::kOk);
  const int32_t expected[] = {2, 5, 0, 7, 7, 1, 7};
  for (uint64_t i = 0; i < 7; ++i) {
    EXPECT_EQ(bench.sample(kRising, generated(i, 6)).token, expected[i]) << i;
  }
  EXPECT_EQ(bench.sample(kRising, generated(5)).token, 7);  // the limit is unknown
  EXPECT_EQ(bench.sample(kRising, generated(0, 1)).token, 2);
  uint64_t words = 0b01010000;  // the mask takes precedence
  EXPECT_EQ(bench.sample(kRising, generated(0, 6), mask_of(&words, 8)).token, 6);
  // Even a token of -infinity is forced.
  std::vector<float> logits = kRising;
  logits[2] = kMinusInfinity;
  EXPECT_EQ(bench.sample(logits, generated(0, 6)).token, 2);
}

TEST(Forcing, WinsOverBiasesBeforeAndAfterIt) {
  ProcessFixture bench(8, 7);
  const Tokens prefix = {2};
  const TokenBias bias[] = {{2, kMinusInfinity}};
  SamplerParams p = ProcessFixture::off();
  p.forced_prefix = prefix;
  p.logit_bias = bias;
  for (const auto& stages : {std::vector{K::kForced, K::kBias}, std::vector{K::kBias, K::kForced}}) {
    ASSERT_EQ(bench.set(p, stages), Status::kOk);
    EXPECT_EQ(bench.sample(kRising, generated(0)).token, 2);
    EXPECT_NE(bench.sample(kRising, generated(1)).token, 2);
  }
}

TEST(Forcing, DoesNotForceASuppressedToken) {
  ProcessFixture bench(8, 7);
  const Tokens prefix = {2}, suppressed = {2, 3};
  SamplerParams p = ProcessFixture::off();
  p.forced_prefix = prefix;
  p.suppressed_tokens = suppressed;
  p.temperature = 0;
  ASSERT_EQ(bench->set_params(p, nullptr), Status::kOk);
  EXPECT_EQ(bench.sample(kRising, generated(0)).token, 7);
}

TEST(Bias, AddsUpAndBans) {
  ProcessFixture bench(8);
  const TokenBias bias[] = {{1, 0.5f}, {1, 0.25f}, {3, kMinusInfinity}, {3, 100}};
  SamplerParams p = ProcessFixture::off();
  p.logit_bias = bias;
  ASSERT_EQ(bench.set(p, {K::kBias}), Status::kOk);
  std::vector<float> logits = kRising;
  logits[3] = INFINITY;
  const std::vector<float> left = bench.logits(logits, {});
  EXPECT_EQ(left[1], 1.75f);
  EXPECT_EQ(left[2], 2);
  EXPECT_TRUE(std::isnan(left[3]));  // counts as -infinity
  for (uint64_t draw = 0; draw < 200; ++draw) {
    SampleInput input;
    input.place = draw;
    EXPECT_NE(bench.sample(logits, input).token, 3);
  }
}

// The input and the output of the callback.
struct Written {
  std::vector<float> seen;
  std::vector<float> written;
  static void call(void* self, float* logits, size_t count) {
    auto& written = *static_cast<Written*>(self);
    written.seen.assign(logits, logits + count);
    std::copy(written.written.begin(), written.written.end(), logits);
  }
};

TEST(Callback, SeesTheVocabularyAndMayWriteAnything) {
  ProcessFixture bench(8);
  const float n = kMinusInfinity;
  Written written;
  written.written = {NAN, 9, 8, n, 6, 5, NAN, 3};
  SamplerParams p = ProcessFixture::off();
  p.logits_callback = Written::call;
  p.logits_user_data = &written;
  ASSERT_EQ(bench.set(p, {K::kLogitsCallback}), Status::kOk);
  EXPECT_EQ(bench.logits(kRising, {}), (std::vector<float>{n, 9, 8, n, 6, 5, n, 3}));
  EXPECT_EQ(written.seen, kRising);
  uint64_t words = 0b11100001;  // tokens that the mask forbids stay excluded
  EXPECT_EQ(bench.logits(kRising, {}, mask_of(&words, 8)), (std::vector<float>{n, n, n, n, n, 5, n, 3}));
  EXPECT_EQ(written.seen, (std::vector<float>{0, n, n, n, n, 5, 6, 7}));
  // After the temperature it receives divided logits, and later stages receive its result.
  p.temperature = 2;
  ASSERT_EQ(bench.set(p, {K::kTemperature, K::kLogitsCallback}), Status::kOk);
  EXPECT_EQ(bench.logits(kRising, {})[1], 9);
  EXPECT_EQ(written.seen, (std::vector<float>{0, 0.5f, 1, 1.5f, 2, 2.5f, 3, 3.5f}));
  // If all tokens are banned, the logits are those without a callback.
  written.written.assign(8, NAN);
  p.temperature = 0;
  ASSERT_EQ(bench.set(p, {K::kTemperature, K::kLogitsCallback}), Status::kOk);
  EXPECT_EQ(bench.sample(kRising, {}).token, 7);
}

TEST(Callback, InfinityLeavesOnlyItsTokens) {
  ProcessFixture bench(8);
  const float n = kMinusInfinity;
  Written written;
  written.written = {NAN, INFINITY, 8, n, INFINITY, 5, NAN, 3e38f};
  SamplerParams p = ProcessFixture::off();
  p.logits_callback = Written::call;
  p.logits_user_data = &written;
  ASSERT_EQ(bench.set(p, {K::kLogitsCallback}), Status::kOk);
  EXPECT_EQ(bench.logits(kRising, {}), (std::vector<float>{n, 0, n, n, 0, n, n, n}));
  uint64_t words = 0b11101101;  // a token that the mask forbids cannot have the probability
  EXPECT_EQ(bench.logits(kRising, {}, mask_of(&words, 8)), (std::vector<float>{n, n, 8, n, n, 5, n, 3e38f}));
}

// The tokens that a processor received.
struct Seen {
  Tokens tokens;
  uint32_t sequence = 0;
  static void process(void* self, const int32_t* tokens, size_t count, uint32_t sequence, float* logits, size_t size) {
    auto& seen = *static_cast<Seen*>(self);
    seen.tokens.assign(tokens, tokens + count);
    seen.sequence = sequence;
    logits[size - 1] += 1;
  }
};

TEST(Callback, ProcessorSeesTheTokensInOrder) {
  ProcessFixture bench(8);
  Seen seen;
  Written written;
  written.written = kRising;
  SamplerParams p = ProcessFixture::off();
  p.logits_callback = Written::call;
  p.logits_user_data = &written;
  p.logits_processor = Seen::process;
  p.processor_user_data = &seen;
  p.no_repeat_ngram = 2;  // reads the newest tokens first, before and after the callback
  const Tokens oldest = {1, 2, 3}, older = {4, 5}, newest = {1};
  SampleInput input = input_of(TokenHistory(oldest, older, newest));
  input.sequence = 5;
  for (const bool is_last : {false, true}) {
    const std::vector<StageKind> stages = is_last ? std::vector{K::kNoRepeatNgram, K::kLogitsCallback}
                                                  : std::vector{K::kLogitsCallback, K::kNoRepeatNgram};
    written.written = std::vector<float>(8, 1);
    ASSERT_EQ(bench.set(p, stages), Status::kOk);
    const std::vector<float> logits = bench.logits(kRising, input);
    EXPECT_EQ(seen.tokens, (Tokens{1, 2, 3, 4, 5, 1}));
    EXPECT_EQ(seen.sequence, 5u);
    EXPECT_EQ(logits[7], 2);  // the processor follows the callback
    EXPECT_EQ(logits[2], is_last ? 1 : kMinusInfinity);
  }
}

TEST(Bans, ReweighingAlsoSkipsBansThatLeaveNothing) {
  ProcessFixture bench(8);
  const Tokens all = {0, 1, 2, 3, 4, 5, 6, 7};
  const TokenBias bias[] = {{3, 50}};
  SamplerParams p = ProcessFixture::off();
  p.no_repeat_ngram = 1;
  p.repetition_penalty = 2;
  p.top_k = 2;
  ASSERT_EQ(bench->set_params(p, nullptr), Status::kOk);
  const Candidates& left = bench->reweigh(kRising, {}, input_of({all, {}}));
  ASSERT_EQ(left.count(), 8u);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(left.logit(i), kRising[i] / 2);
  uint64_t words = 0b00001000;
  p.no_repeat_ngram = 0;
  p.logit_bias = bias;
  ASSERT_EQ(bench->set_params(p, nullptr), Status::kOk);
  const Candidates& one = bench->reweigh(kRising, mask_of(&words, 8), {});
  ASSERT_EQ(one.count(), 1u);
  EXPECT_EQ(one.logit(0), 53);
}

TEST(Bans, AllowedTokensHoldWhereRepetitionsAreBanned) {
  ProcessFixture bench(8);
  const Tokens allowed = {2, 5}, history = {2, 5, 2, 5}, suppressed = {5}, both = {2, 5};
  SamplerParams p = ProcessFixture::off();
  p.allowed_tokens = allowed;
  p.no_repeat_ngram = 1;
  ASSERT_EQ(bench->set_params(p, nullptr), Status::kOk);
  for (uint64_t draw = 0; draw < 50; ++draw) {
    SampleInput input = input_of({history, {}});
    input.place = draw;
    const int32_t token = bench.sample(kRising, input).token;
    EXPECT_TRUE(token == 2 || token == 5) << token;
  }
  p.suppressed_tokens = suppressed;
  ASSERT_EQ(bench->set_params(p, nullptr), Status::kOk);
  EXPECT_EQ(bench.sample(kRising, input_of({history, {}})).token, 2);
  p.suppressed_tokens = both;
  ASSERT_EQ(bench->set_params(p, nullptr), Status::kOk);
  TokenMask mask;
  EXPECT_FALSE(bench->constrain(input_of({history, {}}), &mask));
}

TEST(Bans, SuppressedTokensAreNotSelectedIfAllOthersAreImpossible) {
  ProcessFixture bench(8);
  const Tokens suppressed = {0, 5};
  SamplerParams p = ProcessFixture::off();
  p.suppressed_tokens = suppressed;
  ASSERT_EQ(bench->set_params(p, nullptr), Status::kOk);
  std::vector<float> logits(8, kMinusInfinity);
  EXPECT_EQ(bench.sample(logits, {}).token, 1);
  logits[5] = 1;
  EXPECT_EQ(bench.sample(logits, {}).token, 1);
}

bool comes_next(const Tokens& history, std::span<const int32_t> word) {
  const auto before = static_cast<long>(word.size() - 1);
  return history.size() + 1 >= word.size() && std::equal(word.begin(), word.end() - 1, history.end() - before);
}

// Returns the tokens that the mask and the hard bans of `p` leave.
std::set<int32_t> hard_survivors(const SamplerParams& p, size_t vocabulary_size, const TokenMask& mask,
                                 const Tokens& history, uint64_t generated_count, int32_t end) {
  std::set<int32_t> left;
  for (size_t t = 0; t < vocabulary_size; ++t) {
    const auto token = static_cast<int32_t>(t);
    const auto& allowed = p.allowed_tokens;
    const bool is_listed = allowed.empty() || std::count(allowed.begin(), allowed.end(), token) > 0;
    if (mask.allows(t) && is_listed) left.insert(token);
  }
  for (const int32_t t : p.suppressed_tokens) left.erase(t);
  if (generated_count == 0) {
    for (const int32_t t : p.begin_suppressed_tokens) left.erase(t);
  }
  if (p.ignore_end) left.erase(end);
  for (const TokenList& list : p.bad_words) {
    const std::span<const int32_t> word(list.tokens, list.count);
    const bool is_end = word.size() == 1 && word[0] == end;
    if (!is_end && comes_next(history, word)) left.erase(word.back());
  }
  return left;
}

// Returns those of `left` that the logits and the other bans of `p` leave.
std::set<int32_t> survivors(const SamplerParams& p, const std::vector<float>& logits, const Tokens& history,
                            std::set<int32_t> left) {
  std::erase_if(left, [&](int32_t t) { return !(logits[static_cast<size_t>(t)] > kMinusInfinity); });
  for (const TokenBias& bias : p.logit_bias) {
    if (std::isinf(bias.bias)) left.erase(bias.token);
  }
  for (size_t i = 0; i < history.size(); ++i) {
    const bool repeats = p.no_repeat_ngram == 2 && i > 0 && history[i - 1] == history.back();
    if (p.no_repeat_ngram == 1 || repeats) left.erase(history[i]);
  }
  return left;
}

// Random bans, biases and forcing over random masks. The result is always a token that the mask and the hard bans
// allow, and never a banned one while another is left.
TEST(Bans, StayInTheMaskAndTheHardBans) {
  std::mt19937_64 random(6);
  int fallbacks = 0, empty = 0;
  for (int i = 0; i < 3000; ++i) {
    const size_t count = 1 + random() % 100;
    const auto token = [&] { return static_cast<int32_t>(random() % count); };
    const int32_t end = token();
    ProcessFixture bench(count, end);
    const auto list = [&](size_t most) {
      Tokens tokens(random() % (most + 1));
      for (int32_t& t : tokens) t = token();
      return tokens;
    };
    const Tokens suppressed = list(2 * count), begin = list(4), allowed = list(random() % 2 * 9);
    const Tokens prefix = list(random() % 2 * 3), word = {token(), token()};
    const TokenList words[] = {{word.data(), 2}, {suppressed.data(), suppressed.size()}};
    const TokenBias bias[] = {{token(), kMinusInfinity}, {token(), 5}};
    SamplerParams p = ProcessFixture::off();
    p.suppressed_tokens = suppressed;
    p.begin_suppressed_tokens = begin;
    p.allowed_tokens = allowed;
    p.forced_prefix = prefix;
    p.bad_words = std::span(words).first(suppressed.empty() ? 1 : 2);
    p.logit_bias = bias;
    p.no_repeat_ngram = static_cast<uint32_t>(random() % 3);
    p.ignore_end = random() % 2 == 0;
    p.order = static_cast<ChainOrder>(random() % 3);
    p.temperature = random() % 4 == 0 ? 0 : 1;
    p.seed = random();
    Error error;
    ASSERT_EQ(bench->set_params(p, &error), Status::kOk) << error.message;
    std::vector<uint64_t> mask_words;
    const TokenMask mask = make_mask(count, 0.3, random, mask_words);
    const auto kind = static_cast<LogitKind>(random() % static_cast<uint64_t>(LogitKind::kCount));
    const auto logits = make_logits(kind, count, random);
    Tokens history(random() % 30);
    for (int32_t& t : history) t = token();
    SampleInput input = input_of(split_history(history, 3, 9), random() % (history.size() + 1));
    input.token_limit = random() % 10;
    const std::set<int32_t> allows = hard_survivors(p, count, mask, history, input.generated_count, end);
    TokenMask limited = mask;
    ASSERT_EQ(bench->constrain(input, &limited), !allows.empty());
    empty += allows.empty() ? 1 : 0;
    if (allows.empty()) continue;
    const int32_t picked = bench.sample(logits, input, mask).token;
    ASSERT_EQ(allows.count(picked), 1u);
    if (input.generated_count < prefix.size()) continue;
    const std::set<int32_t> left = survivors(p, logits, history, allows);
    if (!left.empty()) {
      ASSERT_EQ(left.count(picked), 1u);
    }
    fallbacks += left.empty() ? 1 : 0;
  }
  EXPECT_GT(fallbacks, 100);
  EXPECT_GT(empty, 100);
}

}  // namespace
}  // namespace sotto
