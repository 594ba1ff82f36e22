// Compares scores, hidden states and embeddings with those computed token by token.
#include <cmath>

#include "runtime/sampling/log_probabilities.h"
#include "tests/unit/session/session_support.h"

namespace sotto {
namespace {

std::vector<int32_t> random_tokens(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int32_t> tokens(count);
  for (int32_t& token : tokens) token = static_cast<int32_t>(random() % vocabulary().size());
  return tokens;
}

bool same_bits(float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }

TEST(Score, EqualsTokensScoredOneByOne) {
  for (const uint32_t batch : {1u, 5u, 64u}) {
    for (const uint32_t sequences : {0u, 3u}) {
      for (const Overflow overflow : {Overflow::kStop, Overflow::kRing, Overflow::kShift}) {
        const auto shape = [&](SessionParams& params) {
          params.batch_tokens = batch;
          params.sequence_count = sequences;
          params.overflow = overflow;
          if (overflow != Overflow::kStop) params.context_tokens = 16;
        };
        OpenedSession scored(text_model(), shape), stepped(text_model(), shape);
        const auto tokens = random_tokens(40, 1);
        scored.prefill({1, 2});
        stepped.prefill({1, 2});
        std::vector<float> values(tokens.size());
        ScoreResult score;
        ASSERT_EQ(scored->score(tokens, values.data(), &score, nullptr), Status::kOk);
        double sum = 0;
        for (size_t i = 0; i < tokens.size(); ++i) {
          // The log probability that a session reports when the token is forced.
          stepped.sample(0, [&](SamplerParams& params) {
            params.log_probabilities = true;
            params.forced_prefix = {&tokens[i], 1};
          });
          if (tokens[i] == kEndToken) {
            const auto logits = stepped.logits();
            const LogProbabilities model(text_model().kernels(), logits);
            ASSERT_TRUE(same_bits(values[i], static_cast<float>(model.of(kEndToken))));
            sum += model.of(kEndToken);
            stepped.prefill({kEndToken});
            continue;
          }
          stepped.prefill({});
          ASSERT_EQ(stepped->next(nullptr), Status::kOk);
          ASSERT_EQ(stepped->piece().token, tokens[i]);
          ASSERT_TRUE(same_bits(values[i], stepped->piece().log_probability)) << i;
          sum += static_cast<double>(values[i]);
        }
        EXPECT_EQ(score.token_count, tokens.size());
        EXPECT_NEAR(score.log_probability, sum, 1e-5);
        EXPECT_NEAR(score.perplexity, std::exp(-score.log_probability / 40), 1e-12 * score.perplexity);
        EXPECT_EQ(scored.logits(), stepped.logits());
        EXPECT_EQ(scored->token_count(), 42u);
      }
    }
  }
}

TEST(Score, FirstTokenHasNoScore) {
  OpenedSession session(text_model());
  const std::vector<int32_t> tokens = {1, 2, 3};
  float values[3];
  ScoreResult score;
  ASSERT_EQ(session->score(tokens, values, &score, nullptr), Status::kOk);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_EQ(score.token_count, 2u);
  EXPECT_NEAR(score.log_probability, double{values[1]} + double{values[2]}, 1e-6);
  ASSERT_EQ(session->score({}, nullptr, &score, nullptr), Status::kOk);
  EXPECT_EQ(score.token_count, 0u);
  EXPECT_TRUE(std::isnan(score.perplexity));
  session->reset();
  ASSERT_EQ(session->score({tokens.data(), 1}, values, &score, nullptr), Status::kOk);
  EXPECT_EQ(score.token_count, 0u);
  const std::vector<int32_t> outside = {1, 19};
  EXPECT_EQ(session->score(outside, nullptr, &score, nullptr), Status::kInvalidArgument);
  EXPECT_EQ(session->token_count(), 1u);
  const auto many = random_tokens(64, 2);
  EXPECT_EQ(session->score(many, nullptr, &score, nullptr), Status::kPromptTooLong);
}

TEST(Score, IsCancelledLikeAPrefill) {
  OpenedSession session(text_model(), [](SessionParams& params) { params.batch_tokens = 4; });
  const auto tokens = random_tokens(20, 3);
  session->cancel();
  ScoreResult score;
  float values[20];
  EXPECT_EQ(session->score(tokens, values, &score, nullptr), Status::kStopCancelled);
  EXPECT_EQ(session->token_count(), 0u);
  EXPECT_EQ(session->score(tokens, values, &score, nullptr), Status::kOk);
  session->cancel();
  float embedding[32];
  EXPECT_EQ(session->embed(tokens, Pooling::kMean, embedding, nullptr), Status::kStopCancelled);
  EXPECT_EQ(session->embed(tokens, Pooling::kMean, embedding, nullptr), Status::kOk);
}

TEST(Hidden, GivesTheLogitsThroughTheHead) {
  OpenedSession session(text_model());
  std::span<const float> hidden;
  EXPECT_EQ(session->hidden(&hidden, nullptr), Status::kInvalidState);
  session.sample(1);
  session.prefill({1, 2, 3});
  session.generate(3);
  ASSERT_EQ(session->hidden(&hidden, nullptr), Status::kOk);
  ASSERT_EQ(hidden.size(), 32u);
  const std::vector<float> state(hidden.begin(), hidden.end());
  const std::vector<float> logits = session.logits();
  const LinearWeights& head = text_model().head();
  for (size_t token = 0; token < logits.size(); ++token) {
    double sum = 0, norm = 0;
    for (size_t i = 0; i < state.size(); ++i) {
      const double weight = double{head.scales[token]} * head.rows[token * state.size() + i];
      sum += weight * double{state[i]};
      norm += std::fabs(weight);
    }
    EXPECT_NEAR(double{logits[token]}, sum, 0.03 * norm);  // the head multiplies int8 states
  }
  ASSERT_EQ(session->hidden(&hidden, nullptr), Status::kOk);
  EXPECT_TRUE(std::equal(state.begin(), state.end(), hidden.begin()));
}

TEST(Embedding, PoolsTheHiddenStates) {
  const auto tokens = random_tokens(21, 4);
  for (const uint32_t batch : {1u, 4u, 64u}) {
    OpenedSession session(text_model(), [&](SessionParams& params) { params.batch_tokens = batch; });
    OpenedSession stepped(text_model());
    std::vector<float> mean(32), last(32), expected(32);
    ASSERT_EQ(session->embed(tokens, Pooling::kMean, mean.data(), nullptr), Status::kOk);
    EXPECT_EQ(session->token_count(), tokens.size());
    session->reset();
    ASSERT_EQ(session->embed(tokens, Pooling::kLast, last.data(), nullptr), Status::kOk);
    std::span<const float> hidden;
    for (const int32_t token : tokens) {
      stepped.prefill({token});
      ASSERT_EQ(stepped->hidden(&hidden, nullptr), Status::kOk);
      for (size_t i = 0; i < expected.size(); ++i) expected[i] += hidden[i];
    }
    for (float& value : expected) value /= 21;
    EXPECT_EQ(mean, expected);
    EXPECT_TRUE(std::equal(last.begin(), last.end(), hidden.begin()));
    EXPECT_EQ(session.logits(), stepped.logits());
    EXPECT_EQ(session->embed({}, Pooling::kLast, last.data(), nullptr), Status::kInvalidArgument);
    EXPECT_EQ(session->embed(tokens, static_cast<Pooling>(2), last.data(), nullptr), Status::kInvalidArgument);
  }
}

}  // namespace
}  // namespace sotto
