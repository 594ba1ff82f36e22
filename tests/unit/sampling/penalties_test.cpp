// Compares repetition penalties, n-grams and DRY with straightforward implementations of their definitions, over
// histories in three pieces.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "runtime/sampling/past_tokens.h"
#include "tests/unit/sampling/process_fixture.h"

namespace sotto {
namespace {

using Tokens = std::vector<int32_t>;
using K = StageKind;

struct Text {
  Tokens tokens;
  SampleInput input;
  size_t generated;
};

// Returns a text with few distinct tokens and repeated sections.
Text make_text(std::mt19937_64& random, size_t vocabulary) {
  Text text;
  const size_t count = random() % 120, distinct = 1 + random() % vocabulary;
  while (text.tokens.size() < count) {
    if (text.tokens.size() > 4 && random() % 4 == 0) {
      const size_t from = random() % text.tokens.size(), length = random() % 20;
      for (size_t i = 0; i < length; ++i) text.tokens.push_back(text.tokens[from + i]);
    } else {
      text.tokens.push_back(static_cast<int32_t>(random() % distinct));
    }
  }
  text.generated = random() % (text.tokens.size() + 1);
  return text;
}

void cut(Text& text, std::mt19937_64& random) {
  const size_t first = random() % (text.tokens.size() + 1);
  const size_t second = first + random() % (text.tokens.size() - first + 1);
  text.input = input_of(split_history(text.tokens, first, second), text.generated);
}

// Returns the index of the oldest token in a window.
size_t reach(const Text& text, size_t window, bool with_prompt) {
  const size_t most = with_prompt ? text.tokens.size() : text.generated;
  return text.tokens.size() - std::min(window, most);
}

Tokens seen_of(const Text& text, size_t window, bool with_prompt) {
  const size_t first = reach(text, window, with_prompt);
  return {text.tokens.begin() + static_cast<long>(first), text.tokens.end()};
}

std::vector<float> penalized(std::vector<float> logits, const Text& text, const SamplerParams& p) {
  const size_t first = reach(text, p.repetition_window, p.penalize_prompt);
  const size_t size = text.tokens.size();
  const double range = static_cast<double>(p.repetition_window == kWholeWindow ? size - first : p.repetition_window);
  for (const int32_t token : std::set<int32_t>(text.tokens.begin() + static_cast<long>(first), text.tokens.end())) {
    double newest = 0, sum = 0;
    for (size_t i = first; i < size; ++i) {
      if (text.tokens[i] != token) continue;
      // KoboldAI's slope bends the position of a token in the range -1 ... 1.
      const double slope = static_cast<double>(p.penalty_slope);
      const double place = range - static_cast<double>(size - i);
      const double x = range > 1 ? place / (range - 1) * 2 - 1 : 1;
      const double bent = slope * x / (1 - std::fabs(x) + std::fabs(x) * slope);
      newest = slope == 0 || range < 2 ? 1 : (bent + 1) / 2;
      sum += newest;
    }
    float& logit = logits[static_cast<size_t>(token)];
    const double r = 1 + newest * (static_cast<double>(p.repetition_penalty) - 1);
    double l = static_cast<double>(logit);
    l = l > 0 ? l / r : l * r;
    l -= sum * static_cast<double>(p.frequency_penalty);
    logit = static_cast<float>(l - newest * static_cast<double>(p.presence_penalty));
  }
  return logits;
}

void expect_near(const std::vector<float>& actual, const std::vector<float>& expected) {
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isinf(expected[i])) {
      ASSERT_EQ(actual[i], expected[i]) << "token " << i;
    } else {
      ASSERT_NEAR(actual[i], expected[i], 1e-5 + 2e-6 * std::fabs(expected[i])) << "token " << i;
    }
  }
}

std::vector<float> random_logits(size_t count, std::mt19937_64& random) {
  std::normal_distribution<float> normal;
  std::vector<float> logits(count);
  for (float& l : logits) l = random() % 10 == 0 ? kMinusInfinity : 4 * normal(random);
  logits[0] = 1;
  return logits;
}

TEST(Penalties, AgreeWithTheirDefinition) {
  std::mt19937_64 random(1);
  ProcessFixture bench(40);
  const auto one_of = [&](std::initializer_list<float> values) { return values.begin()[random() % values.size()]; };
  for (int i = 0; i < 4000 && !HasFatalFailure(); ++i) {
    Text text = make_text(random, 40);
    cut(text, random);
    SamplerParams p = ProcessFixture::off();
    p.repetition_penalty = one_of({0.5f, 1, 1.2f, 3});
    p.frequency_penalty = one_of({0, 0.3f, -0.2f});
    p.presence_penalty = one_of({0, 0.7f, -0.1f});
    constexpr uint32_t kWindows[] = {0, 1, 2, 17, 64, kWholeWindow};
    p.repetition_window = kWindows[random() % 6];
    p.penalty_slope = one_of({0, 0, 0.3f, 1, 2.5f, 10});
    p.penalize_prompt = random() % 3 != 0;
    ASSERT_EQ(bench.set(p, {K::kFrequency, K::kRepetition, K::kPresence}), Status::kOk);
    ASSERT_EQ(bench.set(p, {K::kRepetition, K::kFrequency, K::kPresence}), Status::kOk);
    const std::vector<float> logits = random_logits(40, random);
    expect_near(bench.logits(logits, text.input), penalized(logits, text, p));
  }
}

// Tests the oldest token of the window, where a slope close to 0 bends most.
TEST(Penalties, StayFiniteWithTheLeastSlopes) {
  ProcessFixture bench(4);
  std::mt19937_64 random(3);
  Text text;
  text.tokens = {1, 2, 0};
  cut(text, random);
  for (const float slope : {1e-3f, 1e-8f, 1e-30f}) {
    SamplerParams p = ProcessFixture::off();
    p.repetition_penalty = 1.3f;
    p.presence_penalty = 1;
    p.repetition_window = kWholeWindow;
    p.penalty_slope = slope;
    ASSERT_EQ(bench.set(p, {K::kRepetition, K::kPresence}), Status::kOk);
    const std::vector<float> logits = {1, -2, 3, 0.5f};
    expect_near(bench.logits(logits, text.input), penalized(logits, text, p));
  }
}

TEST(Ngrams, AreBannedAfterTheirFirstOccurrence) {
  std::mt19937_64 random(2);
  ProcessFixture bench(30);
  for (int i = 0; i < 4000 && !HasFatalFailure(); ++i) {
    Text text = make_text(random, 30);
    cut(text, random);
    SamplerParams p = ProcessFixture::off();
    p.no_repeat_ngram = 1 + static_cast<uint32_t>(random() % 6);
    p.penalize_prompt = random() % 3 != 0;
    ASSERT_EQ(bench.set(p, {K::kNoRepeatNgram}), Status::kOk);
    std::vector<float> expected(30, 0.0f);
    const Tokens seen = seen_of(text, kWholeWindow, p.penalize_prompt);
    const size_t n = p.no_repeat_ngram;
    for (size_t start = 0; start + n <= seen.size(); ++start) {
      if (std::equal(seen.end() - static_cast<long>(n - 1), seen.end(), seen.begin() + static_cast<long>(start))) {
        expected[static_cast<size_t>(seen[start + n - 1])] = kMinusInfinity;
      }
    }
    if (std::count(expected.begin(), expected.end(), 0.0f) == 0) expected.assign(30, 0.0f);
    expect_near(bench.logits(std::vector<float>(30, 0.0f), text.input), expected);
  }
}

// Finds for each token the longest suffix of the text, without breakers, after which it has occurred before.
std::vector<float> dry_oracle(std::vector<float> logits, const Tokens& seen, const std::set<int32_t>& breakers,
                              const SamplerParams& p) {
  const size_t n = seen.size();
  std::vector<long> longest(logits.size(), -1);
  for (size_t next = 1; next < n; ++next) {  // seen[next] followed the text that ends before it
    size_t length = 0;
    while (length < next && seen[next - 1 - length] == seen[n - 1 - length] &&
           breakers.count(seen[n - 1 - length]) == 0) {
      ++length;
    }
    long& most = longest[static_cast<size_t>(seen[next])];
    most = std::max(most, static_cast<long>(length));
  }
  for (size_t token = 0; token < logits.size(); ++token) {
    const long excess = longest[token] - static_cast<long>(p.dry_allowed_length);
    const bool breaks = breakers.count(static_cast<int32_t>(token)) > 0;
    if (longest[token] < 0 || excess < 0 || breaks) continue;
    const double penalty =
        static_cast<double>(p.dry_multiplier) * std::pow(static_cast<double>(p.dry_base), static_cast<double>(excess));
    logits[token] -= static_cast<float>(std::min(penalty, 3.4028234e38));
  }
  return logits;
}

TEST(Dry, AgreesWithItsDefinition) {
  std::mt19937_64 random(3);
  std::vector<std::string> texts;
  for (int i = 0; i < 30; ++i) texts.push_back(std::string("word") + static_cast<char>('A' + i));
  texts[3] = "end.\n";
  texts[7] = "\n";
  texts[11] = "\": ";
  texts[12] = "";
  ProcessFixture bench(30, kNoTokenId, texts);
  const TextView all[] = {{"\n", 1}, {"\": ", 3}, {":x", 2}};
  int changed = 0;
  for (int i = 0; i < 6000 && !HasFatalFailure(); ++i) {
    Text text = make_text(random, 30);
    cut(text, random);
    SamplerParams p = ProcessFixture::off();
    p.dry_multiplier = random() % 2 == 0 ? 0.8f : 5;
    p.dry_base = random() % 2 == 0 ? 1.75f : 1;
    p.dry_allowed_length = static_cast<uint32_t>(random() % 5);
    p.dry_window = random() % 2 == 0 ? kWholeWindow : static_cast<uint32_t>(random() % 60);
    p.penalize_prompt = random() % 3 != 0;
    const bool with_breakers = random() % 2 == 0;
    std::set<int32_t> breakers;
    if (with_breakers) {
      p.dry_breakers = all;
      breakers = {3, 7, 11};
    }
    const Tokens more = {static_cast<int32_t>(random() % 30)};
    if (random() % 4 == 0) {
      p.dry_breaker_tokens = more;
      breakers.insert(more[0]);
    }
    ASSERT_EQ(bench.set(p, {K::kDry}), Status::kOk);
    const Tokens seen = seen_of(text, p.dry_window, p.penalize_prompt);
    const std::vector<float> logits = random_logits(30, random);
    const std::vector<float> expected = dry_oracle(logits, seen, breakers, p);
    changed += expected != logits ? 1 : 0;
    expect_near(bench.logits(logits, text.input), expected);
  }
  EXPECT_GT(changed, 2000);
}

// In a long loop base^n exceeds any float, so the token is practically banned.
TEST(Dry, StaysFiniteInALongLoop) {
  ProcessFixture bench(8);
  SamplerParams p = ProcessFixture::off();
  p.dry_multiplier = 100;
  p.dry_base = 10;
  ASSERT_EQ(bench.set(p, {K::kDry}), Status::kOk);
  const Tokens loop(5000, 3);
  const std::vector<float> ones(8, 1.0f), logits = bench.logits(ones, input_of({loop, {}}));
  EXPECT_EQ(logits[3], -std::numeric_limits<float>::max());
  EXPECT_EQ(logits[2], 1);
  EXPECT_NE(bench.sample(ones, input_of({loop, {}})).token, 3);
}

float severity_of(const Tokens& tokens, size_t window) { return repetitiveness(split_history(tokens, 5, 11), window); }

TEST(Severity, GrowsFromVariedTextToALoop) {
  Tokens varied(64), phrases, loop(64, 7);
  for (int32_t i = 0; i < 64; ++i) varied[static_cast<size_t>(i)] = i;
  for (int32_t i = 0; i < 64; ++i) phrases.push_back(i % 16);
  EXPECT_EQ(severity_of(varied, 64), 0.0f);
  EXPECT_EQ(severity_of(Tokens(7, 1), 64), 0.0f);  // too short for a measurement
  EXPECT_GT(severity_of(loop, 64), 0.95f);
  EXPECT_LE(severity_of(loop, 64), 1.0f);
  // 16 of 64 tokens and pairs are distinct, and 48 tokens occur twice.
  EXPECT_NEAR(severity_of(phrases, 64), (0.5 + (1 - 16.0 / 63) + 1) / 3, 1e-6);
  // Only the window counts, and at most SamplerParams::kMaxGuardWindow tokens.
  Tokens late = varied;
  late.insert(late.end(), loop.begin(), loop.end());
  EXPECT_EQ(severity_of(late, 64), severity_of(loop, 64));
  EXPECT_LT(severity_of(late, 128), severity_of(late, 64));
  EXPECT_GT(severity_of(Tokens(5000, 1), 5000), 0.95f);
}

// A loop counts wherever it is in the window, not only at its end.
TEST(Severity, FindsALoopInsideTheText) {
  Tokens varied(64);
  for (int32_t i = 0; i < 64; ++i) varied[static_cast<size_t>(i)] = 100 + i;
  const auto with_loop_at = [&](size_t place) {
    Tokens tokens = varied;
    for (size_t i = 0; i < 24; ++i) tokens[place + i] = static_cast<int32_t>(i % 6);
    return severity_of(tokens, 64);
  };
  // 46 of 64 tokens and 46 of 63 pairs are distinct, and 18 tokens of the loop equal those 6 places before.
  const double expected = ((1 - 46.0 / 63) + 2 * 18.0 / 64) / 3;
  for (size_t place = 0; place <= 40; ++place) EXPECT_NEAR(with_loop_at(place), expected, 1e-6) << place;
}

TEST(Severity, AgreesWithItsDefinition) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 3000; ++i) {
    const Text text = make_text(random, 30);
    const size_t n = std::min<size_t>(text.tokens.size(), 8 + random() % 100);
    const Tokens t(text.tokens.end() - static_cast<long>(n), text.tokens.end());
    if (n < 8) continue;
    std::set<int32_t> single(t.begin(), t.end());
    std::set<std::pair<int32_t, int32_t>> pairs;
    for (size_t k = 1; k < n; ++k) pairs.insert({t[k - 1], t[k]});
    size_t longest = 0;
    for (size_t first = 0; first < n; ++first) {
      for (size_t second = first + 1; second < n; ++second) {
        size_t length = 0;
        while (second + length < n && t[first + length] == t[second + length]) ++length;
        longest = std::max(longest, length);
      }
    }
    const auto count = static_cast<double>(n);
    const double expected = (std::max(0.0, 1 - 2 * static_cast<double>(single.size()) / count) +
                             (1 - static_cast<double>(pairs.size()) / (count - 1)) +
                             std::min(1.0, 2 * static_cast<double>(longest) / count)) /
                            3;
    ASSERT_NEAR(severity_of(text.tokens, n), expected, 1e-6);
  }
}

TEST(Guard, RaisesThePenaltyWithTheSeverity) {
  ProcessFixture bench(8);
  SamplerParams p = ProcessFixture::off();
  p.guard_window = 64;
  p.guard_penalty = 1.5f;
  ASSERT_EQ(bench.set(p, {K::kRepetition}), Status::kOk);
  const std::vector<float> logits(8, 2.0f);
  const Tokens loop(64, 3), varied = {0, 1, 2}, single = {0};
  const float severity = severity_of(loop, 64);
  EXPECT_FLOAT_EQ(bench.logits(logits, input_of({loop, {}}))[3], 2 / (1 + severity * 0.5f));
  EXPECT_EQ(bench.logits(logits, input_of(TokenHistory({}, varied)))[0], 2);
  p.repetition_penalty = 1.2f;  // the value at severity 0
  ASSERT_EQ(bench.set(p, {K::kRepetition}), Status::kOk);
  EXPECT_FLOAT_EQ(bench.logits(logits, input_of({loop, {}}))[3], 2 / (1.2f + severity * (1.5f - 1.2f)));
  EXPECT_FLOAT_EQ(bench.logits(logits, input_of(TokenHistory({}, single)))[0], 2 / 1.2f);
}

}  // namespace
}  // namespace sotto
