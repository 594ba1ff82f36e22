// Tests overflow of the KV ring and rewinding, bit for bit against the oracle, with long random streams through tiny
// contexts, in prefills of random sizes mixed with generated tokens.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>

#include "tests/golden/quantized_model.h"
#include "tests/golden/ring_oracle.h"

namespace sotto {
namespace {

// A converted checkpoint, for both the runtime and the oracle.
struct Subject {
  explicit Subject(const std::string& name)
      : file(convert_checkpoint(golden_data() / name)), model(open_model(file)), view(file) {}

  std::vector<uint8_t> file;
  Model model;
  OracleModel view;
};

Subject& subject(const std::string& name) {
  static std::map<std::string, std::unique_ptr<Subject>> subjects;
  std::unique_ptr<Subject>& found = subjects[name];
  if (found == nullptr) found = std::make_unique<Subject>(name);
  return *found;
}

struct Case {
  const char* model;
  sotto_overflow overflow;
  uint32_t context_tokens;
  uint32_t sink_tokens;
  uint32_t batch_tokens;
  uint32_t thread_count;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.model << " overflow " << c.overflow << " C " << c.context_tokens << " S " << c.sink_tokens << " batch "
       << c.batch_tokens << " threads " << c.thread_count;
}

OracleOverflow oracle_overflow(sotto_overflow overflow) {
  if (overflow == SOTTO_OVERFLOW_RING) return OracleOverflow::kRing;
  return overflow == SOTTO_OVERFLOW_SHIFT ? OracleOverflow::kShift : OracleOverflow::kStop;
}

SessionParams session_params(const Case& c) {
  SessionParams params;
  params.overflow = c.overflow;
  params.context_tokens = c.context_tokens;
  params.sink_tokens = c.sink_tokens;
  params.batch_tokens = c.batch_tokens;
  params.thread_count = c.thread_count;
  return params;
}

testing::AssertionResult same_bits(std::span<const float> actual, const std::vector<float>& expected) {
  if (actual.size() != expected.size()) return testing::AssertionFailure() << "sizes differ";
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::memcmp(&actual[i], &expected[i], sizeof(float)) != 0) {
      return testing::AssertionFailure() << "logit " << i << " is " << actual[i] << ", expected " << expected[i];
    }
  }
  return testing::AssertionSuccess();
}

// A session, the tokens that it has received, and random tokens to append.
class Stream {
 public:
  Stream(Subject& subject, const Case& c, uint32_t seed)
      : session(Session::create(subject.model, session_params(c))),
        random_(seed),
        vocabulary_(subject.model.info().vocabulary_size) {
    SamplerParams sampler;
    sampler.temperature = 1;
    sampler.seed = seed;
    session.set_sampler(sampler);
  }

  size_t draw(size_t first, size_t last) { return std::uniform_int_distribution<size_t>(first, last)(random_); }

  void prefill(size_t count) {
    std::vector<sotto_token> chunk(count);
    for (sotto_token& token : chunk) token = static_cast<sotto_token>(draw(0, vocabulary_ - 1));
    sotto::prefill(session, chunk);
    tokens.insert(tokens.end(), chunk.begin(), chunk.end());
  }

  void generate(size_t count) {
    for (size_t i = 0; i < count; ++i) {
      Piece piece;
      ASSERT_EQ(session.next(piece), Status::ok);
      tokens.push_back(piece.token());
    }
  }

  Session session;
  std::vector<sotto_token> tokens;

 private:
  std::mt19937 random_;
  size_t vocabulary_;
};

class RingTest : public testing::TestWithParam<Case> {};

TEST_P(RingTest, EqualsOracleThroughoutALongStream) {
  const Case& c = GetParam();
  Subject& s = subject(c.model);
  Stream stream(s, c, 17);
  RingOracle oracle(s.view, oracle_overflow(c.overflow), c.context_tokens, c.sink_tokens);
  size_t seen = 0;
  while (stream.tokens.size() < 2500) {
    switch (stream.draw(0, 5)) {
      case 0:
        stream.prefill(stream.draw(1, size_t{3} * c.context_tokens));
        break;
      case 1:
        stream.prefill(1);
        break;
      case 2:
        stream.prefill(stream.draw(1, c.context_tokens));
        break;
      default:
        if (!stream.tokens.empty()) stream.generate(stream.draw(1, 12));
    }
    for (; seen < stream.tokens.size(); ++seen) ASSERT_TRUE(oracle.append(stream.tokens[seen]));
    if (seen == 0) continue;
    ASSERT_TRUE(same_bits(logits_of(stream.session), oracle.logits())) << "after " << seen;
    const sotto_session_info info = stream.session.info();
    ASSERT_EQ(info.token_count, seen);
    ASSERT_EQ(info.cached_tokens, oracle.retained_count());
    ASSERT_EQ(info.reanchor_count, oracle.reanchor_count());
  }
  EXPECT_GT(oracle.reanchor_count(), 5u);
}

// After a successful rewind the session must behave as if the later tokens had never been evaluated. As long as nothing
// was overwritten, every rewind must succeed.
TEST_P(RingTest, RewindEqualsAFreshStream) {
  const Case& c = GetParam();
  Subject& s = subject(c.model);
  size_t granted_count = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Stream stream(s, c, seed);
    stream.prefill(stream.draw(1, c.context_tokens - 1));
    stream.generate(stream.draw(0, c.context_tokens));
    const size_t length = stream.tokens.size();
    const size_t kept = stream.draw(1, length);
    const sotto_status status = sotto_session_rewind(stream.session.c_session(), kept);
    if (length <= c.context_tokens) {
      ASSERT_EQ(status, SOTTO_OK);
    }
    if (status != SOTTO_OK) {
      ASSERT_EQ(status, SOTTO_INVALID_STATE);
      continue;
    }
    ++granted_count;
    stream.tokens.resize(kept);
    const size_t added = stream.draw(0, c.context_tokens);
    if (added > 0) stream.prefill(added);
    RingOracle oracle(s.view, oracle_overflow(c.overflow), c.context_tokens, c.sink_tokens);
    for (const sotto_token token : stream.tokens) ASSERT_TRUE(oracle.append(token));
    ASSERT_TRUE(same_bits(logits_of(stream.session), oracle.logits()))
        << length << " tokens, rewound to " << kept << ", then " << added;
  }
  EXPECT_GT(granted_count, 10u);
}

constexpr sotto_overflow kRing = SOTTO_OVERFLOW_RING;
constexpr sotto_overflow kShift = SOTTO_OVERFLOW_SHIFT;

INSTANTIATE_TEST_SUITE_P(
    Streams, RingTest,
    testing::Values(Case{"attention_unscaled", kRing, 16, 4, 16, 1}, Case{"attention_unscaled", kRing, 40, 4, 7, 2},
                    Case{"attention_unscaled", kRing, 17, 0, 5, 1}, Case{"head40_long", kRing, 16, 4, 16, 1},
                    Case{"head40_long", kRing, 37, 9, 128, 2}, Case{"head40_long", kRing, 23, 1, 1, 1},
                    Case{"head16_erf", kRing, 31, 3, 8, 1}, Case{"head8_three_tokens", kRing, 11, 2, 4, 1},
                    Case{"attention_unscaled", kShift, 16, 4, 16, 1}, Case{"attention_unscaled", kShift, 40, 10, 7, 2},
                    Case{"head40_long", kShift, 19, 0, 128, 1}, Case{"head40_long", kShift, 36, 5, 1, 2},
                    Case{"head16_erf", kShift, 32, 8, 9, 1}, Case{"head8_three_tokens", kShift, 11, 2, 4, 1}));

class StopTest : public testing::Test {
 protected:
  static constexpr Case kCase = {"attention_by_layer", SOTTO_OVERFLOW_STOP, 20, 0, 8, 1};
};

TEST_F(StopTest, RejectsPromptsThatDoNotFitAndKeepsTheStream) {
  Subject& s = subject(kCase.model);
  Stream stream(s, kCase, 3);
  RingOracle oracle(s.view, OracleOverflow::kStop, kCase.context_tokens, 0);
  stream.prefill(15);
  for (const sotto_token token : stream.tokens) ASSERT_TRUE(oracle.append(token));
  const std::vector<sotto_token> too_long(6, 1);
  EXPECT_EQ(sotto_session_prefill(stream.session.c_session(), too_long.data(), too_long.size()), SOTTO_PROMPT_TOO_LONG);
  EXPECT_TRUE(same_bits(logits_of(stream.session), oracle.logits()));

  stream.generate(5);
  for (size_t i = 15; i < 20; ++i) ASSERT_TRUE(oracle.append(stream.tokens[i]));
  EXPECT_TRUE(same_bits(logits_of(stream.session), oracle.logits()));
  EXPECT_FALSE(oracle.append(0));
  EXPECT_EQ(sotto_session_prefill(stream.session.c_session(), too_long.data(), 1), SOTTO_PROMPT_TOO_LONG);
  EXPECT_TRUE(same_bits(logits_of(stream.session), oracle.logits()));
}

TEST_F(StopTest, RewindRepeatsTheSameRandomTokens) {
  Stream stream(subject(kCase.model), kCase, 5);
  stream.prefill(6);
  stream.generate(12);
  const std::vector<sotto_token> first = stream.tokens;
  for (size_t kept = 17; kept >= 6; --kept) {
    ASSERT_EQ(sotto_session_rewind(stream.session.c_session(), kept), SOTTO_OK);
    stream.tokens.resize(kept);
    stream.generate(first.size() - kept);
    ASSERT_EQ(stream.tokens, first) << kept;
  }
  EXPECT_EQ(sotto_session_rewind(stream.session.c_session(), first.size() + 1), SOTTO_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace sotto
