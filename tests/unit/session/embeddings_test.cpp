// Tests streams that begin with embeddings instead of tokens.
#include <limits>

#include "kernels/linear/linear.h"
#include "tests/unit/session/session_support.h"

namespace sotto {
namespace {

const std::vector<int32_t> kPrompt = {1, 2, 3, 6, 2, 5, 4, 1, 3};

// Returns the embeddings of tokens, without position embeddings.
std::vector<float> embeddings_of(const Model& model, const std::vector<int32_t>& tokens) {
  const size_t width = model.config().embedding_size;
  const std::vector<float> no_position(width);
  std::vector<int8_t> row(width);
  std::vector<float> result(tokens.size() * width);
  for (size_t i = 0; i < tokens.size(); ++i) {
    embed_row(model.kernels(), model.token_embedding(), static_cast<size_t>(tokens[i]), no_position.data(), row.data(),
              result.data() + i * width);
  }
  return result;
}

// The two sums of an embedding and a position are rounded differently.
TEST(Embeddings, GiveTheLogitsOfTheirTokens) {
  const std::vector<float> rows = embeddings_of(text_model(), kPrompt);
  OpenedSession reference(text_model());
  reference.prefill(kPrompt);
  const std::vector<float> expected = reference.logits();
  std::vector<float> first;
  for (const uint32_t batch_tokens : {1u, 4u, 64u}) {
    const auto adjust = [&](SessionParams& params) { params.batch_tokens = batch_tokens; };
    OpenedSession session(text_model(), adjust);
    ASSERT_EQ(session->prefill_embeddings(rows.data(), kPrompt.size(), nullptr), Status::kOk);
    EXPECT_EQ(session->token_count(), kPrompt.size());
    const std::vector<float> logits = session.logits();
    if (first.empty()) first = logits;
    EXPECT_EQ(logits, first) << batch_tokens;
    for (size_t i = 0; i < logits.size(); ++i) EXPECT_NEAR(logits[i], expected[i], 1e-2f) << i;
  }
}

// The token 0 ends the text, and would hardly be drawn if the rows counted as such tokens.
TEST(Embeddings, AreNotTokensOfTheHistory) {
  const std::vector<float> rows = embeddings_of(text_model(), kPrompt);
  OpenedSession session(text_model()), other(text_model());
  size_t ends = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    session.sample(seed, [](SamplerParams& params) {
      params.repetition_penalty = 10;
      params.presence_penalty = 2;
      params.repetition_window = 64;
    });
    other.sample(seed);
    for (OpenedSession* each : {&session, &other}) {
      (*each)->reset();
      ASSERT_EQ((*each)->prefill_embeddings(rows.data(), kPrompt.size(), nullptr), Status::kOk);
    }
    const Generated first = other.generate(1);
    EXPECT_EQ(session.generate(1).tokens, first.tokens) << seed;
    ends += first.tokens.empty() ? 1 : 0;
  }
  EXPECT_GT(ends, 0u);
}

TEST(Embeddings, EndWhereTheStreamCanBeRewound) {
  const std::vector<float> rows = embeddings_of(text_model(), kPrompt);
  OpenedSession session(text_model());
  session.sample(3, [](SamplerParams& params) { params.ignore_end = true; });
  ASSERT_EQ(session->prefill_embeddings(rows.data(), kPrompt.size(), nullptr), Status::kOk);
  const std::vector<int32_t> tokens = session.generate(6).tokens;
  ASSERT_EQ(tokens.size(), 6u);
  EXPECT_EQ(session->rewind(kPrompt.size() - 1, nullptr), Status::kInvalidState);
  EXPECT_EQ(session->rewind(kPrompt.size(), nullptr), Status::kInvalidState);
  ASSERT_EQ(session->rewind(kPrompt.size() + 1, nullptr), Status::kOk);
  const std::vector<int32_t> again = session.generate(5).tokens;
  EXPECT_EQ(again, std::vector<int32_t>(tokens.begin() + 1, tokens.end()));
  ASSERT_EQ(session->rewind(0, nullptr), Status::kOk);
  EXPECT_EQ(session->prefill_embeddings(rows.data(), kPrompt.size(), nullptr), Status::kOk);
}

TEST(Embeddings, AreRejectedWhereTheyHaveNoMeaning) {
  const Model& model = text_model();
  std::vector<float> rows = embeddings_of(model, kPrompt);
  Error error;
  OpenedSession session(model);
  EXPECT_EQ(session->prefill_embeddings(rows.data(), 0, nullptr), Status::kInvalidArgument);
  rows[5] = std::numeric_limits<float>::infinity();
  EXPECT_EQ(session->prefill_embeddings(rows.data(), 1, &error), Status::kInvalidArgument);
  EXPECT_STREQ(error.message, "embeddings[5] is not a finite number");
  rows[5] = 0;
  const std::vector<float> many(1000 * model.config().embedding_size);
  EXPECT_EQ(session->prefill_embeddings(many.data(), 1000, nullptr), Status::kPromptTooLong);
  EXPECT_EQ(session->token_count(), 0u);
  session.prefill({1});
  EXPECT_EQ(session->prefill_embeddings(rows.data(), 1, &error), Status::kInvalidState);
  EXPECT_NE(std::string(error.message).find("before all tokens"), std::string::npos);
  OpenedSession ring(model, [](SessionParams& params) { params.overflow = Overflow::kRing; });
  EXPECT_EQ(ring->prefill_embeddings(rows.data(), 1, &error), Status::kInvalidState);
  EXPECT_NE(std::string(error.message).find("overflow mode stop"), std::string::npos);
}

TEST(Embeddings, AreCopiedByAFork) {
  const std::vector<float> rows = embeddings_of(text_model(), kPrompt);
  OpenedSession session(text_model()), copy(text_model());
  for (OpenedSession* each : {&session, &copy}) each->sample(4);
  ASSERT_EQ(session->prefill_embeddings(rows.data(), kPrompt.size(), nullptr), Status::kOk);
  Error error;
  ASSERT_EQ(SavedState::fork(*session, copy.get(), &error), Status::kOk) << error.message;
  EXPECT_TRUE(copy->has_embeddings());
  EXPECT_EQ(copy.generate(10).tokens, session.generate(10).tokens);
}

// A cancelled call and a fork lose the last row.
TEST(Embeddings, TheLastRowCanBeEvaluatedAgain) {
  const std::vector<float> rows = embeddings_of(text_model(), kPrompt);
  OpenedSession plain(text_model()), cancelled(text_model()), copy(text_model());
  for (OpenedSession* each : {&plain, &cancelled, &copy}) each->sample(4);
  ASSERT_EQ(plain->prefill_embeddings(rows.data(), kPrompt.size(), nullptr), Status::kOk);
  ASSERT_EQ(cancelled->prefill_embeddings(rows.data(), kPrompt.size(), nullptr), Status::kOk);
  Error error;
  ASSERT_EQ(SavedState::fork(*plain, copy.get(), &error), Status::kOk) << error.message;
  cancelled->cancel();
  const std::vector<int32_t> more = {5, 6};
  EXPECT_EQ(cancelled->prefill(more, nullptr), Status::kStopCancelled);
  EXPECT_EQ(cancelled->token_count(), kPrompt.size());
  std::span<const float> hidden;
  ASSERT_EQ(plain->hidden(&hidden, nullptr), Status::kOk);
  const std::vector<float> expected(hidden.begin(), hidden.end());
  for (OpenedSession* each : {&cancelled, &copy}) {
    ASSERT_EQ((*each)->hidden(&hidden, nullptr), Status::kOk);
    EXPECT_EQ(std::vector<float>(hidden.begin(), hidden.end()), expected);
  }
  const std::vector<int32_t> tokens = plain.generate(10).tokens;
  EXPECT_EQ(cancelled.generate(10).tokens, tokens);
  EXPECT_EQ(copy.generate(10).tokens, tokens);
}

TEST(Embeddings, ACancelledPrefillLeavesAnEmptyStream) {
  const std::vector<float> rows = embeddings_of(text_model(), kPrompt);
  OpenedSession session(text_model());
  session->cancel();
  EXPECT_EQ(session->prefill_embeddings(rows.data(), kPrompt.size(), nullptr), Status::kStopCancelled);
  EXPECT_EQ(session->token_count(), 0u);
  EXPECT_EQ(session->prefill_embeddings(rows.data(), kPrompt.size(), nullptr), Status::kOk);
}

}  // namespace
}  // namespace sotto
