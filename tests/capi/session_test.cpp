// Tests properties of sessions: the stream does not depend on how it is divided into calls, rewinding leaves no trace,
// stops report their reasons, and text consists of whole characters.

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/capi/open_session.h"

namespace sotto {
namespace {

constexpr ModelShape kShape = {300, 64, 48, 3, 100, 2};

class Sessions : public testing::Test {
 protected:
  Sessions() : model_(make_model_file(kShape, true)) {}
  LoadedModel model_;
};

void ring(sotto_session_params& params) {
  params.context_tokens = 24;
  params.batch_tokens = 8;
  params.overflow = SOTTO_OVERFLOW_RING;
}

TEST_F(Sessions, ChunksAndBatchesGiveTheSameBits) {
  const auto prompt = random_tokens(60, 300, 1);
  std::vector<float> expected;
  for (const uint32_t batch : {1u, 7u, 64u}) {
    for (const size_t chunk : {1u, 3u, 20u, 60u}) {
      OpenSession session(model_.get(), [&](auto& params) { params.batch_tokens = batch; });
      for (size_t i = 0; i < prompt.size(); i += chunk) {
        const size_t count = std::min(chunk, prompt.size() - i);
        ASSERT_EQ(sotto_session_prefill(session.get(), prompt.data() + i, count), SOTTO_OK);
      }
      if (expected.empty()) expected = session.logits();
      EXPECT_EQ(session.logits(), expected) << "batch " << batch << ", chunk " << chunk;
    }
  }
}

TEST_F(Sessions, RewindEqualsAStreamThatNeverHadTheRest) {
  for (const bool in_ring : {false, true}) {
    const auto adjust = [&](sotto_session_params& params) {
      if (in_ring) ring(params);
    };
    OpenSession session(model_.get(), adjust), fresh(model_.get(), adjust);
    const auto prompt = random_tokens(9, 300, 2);
    ASSERT_EQ(sotto_session_prefill(session.get(), prompt.data(), prompt.size()), SOTTO_OK);
    const auto first = session.generate(10);
    const auto at_end = session.logits();
    for (uint64_t keep = 19; keep >= 1; --keep) {
      ASSERT_EQ(sotto_session_rewind(session.get(), keep), SOTTO_OK);
      EXPECT_EQ(session.info().token_count, keep);
      auto expected = prompt;
      expected.insert(expected.end(), first.begin(), first.end());
      sotto_session_reset(fresh.get());
      ASSERT_EQ(sotto_session_prefill(fresh.get(), expected.data(), keep), SOTTO_OK);
      ASSERT_EQ(session.logits(), fresh.logits()) << keep;
      if (keep < 9) continue;  // the prompt is cut, so the text differs from here on
      const auto again = session.generate(19 - keep);
      EXPECT_EQ(again, std::vector<sotto_token>(first.begin() + static_cast<ptrdiff_t>(keep) - 9, first.end()));
      EXPECT_EQ(session.logits(), at_end);
    }
  }
}

TEST_F(Sessions, RewindRejectsPlacesThatTheRingHasLost) {
  OpenSession session(model_.get(), ring);
  const auto prompt = random_tokens(30, 300, 3);
  ASSERT_EQ(sotto_session_prefill(session.get(), prompt.data(), 30), SOTTO_OK);
  EXPECT_EQ(sotto_session_rewind(session.get(), 31), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_session_rewind(session.get(), 20), SOTTO_INVALID_STATE);
  const auto before = session.logits();
  EXPECT_EQ(sotto_session_rewind(session.get(), 30), SOTTO_OK);
  EXPECT_EQ(session.logits(), before);
  EXPECT_EQ(sotto_session_rewind(session.get(), 0), SOTTO_OK);  // an empty stream needs nothing
  EXPECT_EQ(session.info().token_count, 0u);
}

TEST_F(Sessions, ResetAndSeedReplayTheSameText) {
  OpenSession session(model_.get());
  const sotto_token prompt[] = {1, 2, 3};
  sotto_sampler_params sampler;
  sotto_sampler_params_init(&sampler, sizeof sampler);
  sampler.temperature = 1.5f;
  sampler.top_k = 0;
  sampler.seed = 42;
  ASSERT_EQ(sotto_session_set_sampler(session.get(), &sampler, nullptr), SOTTO_OK);
  ASSERT_EQ(sotto_session_prefill(session.get(), prompt, 3), SOTTO_OK);
  const auto first = session.generate(30);
  sotto_session_reset(session.get());
  ASSERT_EQ(sotto_session_prefill(session.get(), prompt, 3), SOTTO_OK);
  EXPECT_EQ(session.generate(30), first);
  sampler.seed = 43;
  sotto_session_reset(session.get());
  ASSERT_EQ(sotto_session_set_sampler(session.get(), &sampler, nullptr), SOTTO_OK);
  ASSERT_EQ(sotto_session_prefill(session.get(), prompt, 3), SOTTO_OK);
  EXPECT_NE(session.generate(30), first);
}

TEST_F(Sessions, StopModeEndsWhenTheContextIsFull) {
  OpenSession session(model_.get(), [](auto& params) { params.context_tokens = 20; });
  const auto prompt = random_tokens(21, 300, 4);
  EXPECT_EQ(sotto_session_prefill(session.get(), prompt.data(), 21), SOTTO_PROMPT_TOO_LONG);
  EXPECT_EQ(session.info().token_count, 0u);
  ASSERT_EQ(sotto_session_prefill(session.get(), prompt.data(), 15), SOTTO_OK);
  EXPECT_EQ(sotto_session_prefill(session.get(), prompt.data(), 6), SOTTO_PROMPT_TOO_LONG);
  sotto_status end;
  EXPECT_EQ(session.generate(100, &end).size(), 6u);  // five slots, and one token that needs none
  EXPECT_EQ(end, SOTTO_STOP_CONTEXT_FULL);
  const sotto_piece* piece;
  EXPECT_EQ(sotto_session_next(session.get(), &piece), SOTTO_STOP_CONTEXT_FULL);
  EXPECT_EQ(piece->token, -1);
}

std::string error_of(sotto_session* session, sotto_status status) {
  sotto_error error = {};
  error.struct_size = sizeof error;
  EXPECT_EQ(sotto_session_get_error(session, &error), SOTTO_OK);
  EXPECT_EQ(error.status, status);
  return error.message;
}

TEST_F(Sessions, PromptThatDoesNotFitIsAnErrorWithNumbers) {
  OpenSession session(model_.get(), [](auto& params) { params.context_tokens = 20; });
  const auto prompt = random_tokens(21, 300, 4);
  const sotto_piece_fn none = [](void*, const sotto_piece*) -> int32_t {
    ADD_FAILURE();
    return 1;
  };
  EXPECT_EQ(sotto_session_generate(session.get(), prompt.data(), 21, 5, none, nullptr), SOTTO_PROMPT_TOO_LONG);
  EXPECT_EQ(error_of(session.get(), SOTTO_PROMPT_TOO_LONG),
            "21 tokens do not fit a context of 20; shorten the prompt, or set overflow to ring or shift");
  EXPECT_EQ(session.info().token_count, 0u);
  ASSERT_EQ(sotto_session_prefill(session.get(), prompt.data(), 15), SOTTO_OK);
  EXPECT_EQ(error_of(session.get(), SOTTO_OK), "");
  sotto_score score = {};
  score.struct_size = sizeof score;
  EXPECT_EQ(sotto_session_score(session.get(), prompt.data(), 6, nullptr, &score), SOTTO_PROMPT_TOO_LONG);
  EXPECT_EQ(
      error_of(session.get(), SOTTO_PROMPT_TOO_LONG),
      "6 tokens after 15 others do not fit a context of 20; shorten the prompt, or set overflow to ring or shift");
  EXPECT_EQ(session.info().token_count, 15u);
  sotto_status end;
  EXPECT_EQ(session.generate(3, &end).size(), 3u);  // the session goes on
}

TEST_F(Sessions, SizeMaxTokensAreNoLimitAndZeroAreNone) {
  OpenSession session(model_.get(), [](auto& params) { params.context_tokens = 20; });
  const auto prompt = random_tokens(4, 300, 4);
  ASSERT_EQ(sotto_session_generate(session.get(), prompt.data(), 4, 0, nullptr, nullptr), SOTTO_STOP_MAX_TOKENS);
  EXPECT_EQ(session.info().token_count, 4u);
  const sotto_status end = sotto_session_generate(session.get(), nullptr, 0, SIZE_MAX, nullptr, nullptr);
  EXPECT_TRUE(end == SOTTO_STOP_CONTEXT_FULL || end == SOTTO_STOP_END_OF_TEXT) << end;
}

TEST_F(Sessions, ALimitAppliesToNextUntilThePrefill) {
  OpenSession session(model_.get());
  const auto prompt = random_tokens(4, 300, 4);
  sotto_status end;
  EXPECT_EQ(sotto_session_set_limit(nullptr, 1), SOTTO_INVALID_ARGUMENT);
  ASSERT_EQ(sotto_session_prefill(session.get(), prompt.data(), prompt.size()), SOTTO_OK);
  const auto whole = session.generate(12);
  ASSERT_EQ(whole.size(), 12u);
  sotto_session_reset(session.get());
  ASSERT_EQ(sotto_session_prefill(session.get(), prompt.data(), prompt.size()), SOTTO_OK);
  std::vector<sotto_token> found;
  for (const size_t limit : {3, 0, 5}) {  // counted from each call
    ASSERT_EQ(sotto_session_set_limit(session.get(), limit), SOTTO_OK);
    const auto part = session.generate(8, &end);
    EXPECT_EQ(part.size(), limit);
    EXPECT_EQ(end, SOTTO_STOP_MAX_TOKENS);
    found.insert(found.end(), part.begin(), part.end());
  }
  ASSERT_EQ(sotto_session_set_limit(session.get(), SIZE_MAX), SOTTO_OK);
  const auto rest = session.generate(4, &end);
  found.insert(found.end(), rest.begin(), rest.end());
  EXPECT_EQ(found, whole);
  ASSERT_EQ(sotto_session_set_limit(session.get(), 1), SOTTO_OK);
  ASSERT_EQ(sotto_session_prefill(session.get(), nullptr, 0), SOTTO_OK);
  EXPECT_EQ(session.generate(4, &end).size(), 4u);
}

TEST_F(Sessions, ALimitEndsWhenAnotherTextIsForkedIntoTheSession) {
  OpenSession from(model_.get()), to(model_.get());
  const auto prompt = random_tokens(4, 300, 4);
  ASSERT_EQ(sotto_session_prefill(from.get(), prompt.data(), prompt.size()), SOTTO_OK);
  ASSERT_EQ(from.generate(8).size(), 8u);
  ASSERT_EQ(sotto_session_prefill(to.get(), prompt.data(), prompt.size()), SOTTO_OK);
  ASSERT_EQ(sotto_session_set_limit(to.get(), 2), SOTTO_OK);
  ASSERT_EQ(sotto_session_fork(from.get(), to.get(), nullptr), SOTTO_OK);
  EXPECT_EQ(to.generate(4).size(), 4u);
}

TEST_F(Sessions, ErrorsSayWhatIsMissing) {
  OpenSession session(model_.get());
  EXPECT_EQ(sotto_session_get_error(session.get(), nullptr), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_session_generate(session.get(), nullptr, 0, 5, nullptr, nullptr), SOTTO_INVALID_STATE);
  const std::string nothing = "the stream is empty: prefill a prompt first";
  EXPECT_EQ(error_of(session.get(), SOTTO_INVALID_STATE), nothing);
  const float* floats;
  size_t count;
  EXPECT_EQ(sotto_session_rewind(session.get(), 1), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(error_of(session.get(), SOTTO_INVALID_ARGUMENT),
            "token_count is 1; it must be at most the number of tokens in the stream, 0");
  EXPECT_EQ(sotto_session_logits(session.get(), &floats, &count), SOTTO_INVALID_STATE);
  EXPECT_EQ(error_of(session.get(), SOTTO_INVALID_STATE), nothing);
  const sotto_token outside[] = {1, 1 << 30};
  EXPECT_EQ(sotto_session_prefill(session.get(), outside, 2), SOTTO_INVALID_ARGUMENT);
  EXPECT_NE(
      error_of(session.get(), SOTTO_INVALID_ARGUMENT).find("tokens[1] is 1073741824; it must be a token id from 0 to "),
      std::string::npos);
}

TEST_F(Sessions, NothingToContinueIsAnInvalidState) {
  OpenSession session(model_.get());
  const sotto_piece* piece;
  const float* logits;
  size_t count;
  EXPECT_EQ(sotto_session_next(session.get(), &piece), SOTTO_INVALID_STATE);
  EXPECT_EQ(sotto_session_logits(session.get(), &logits, &count), SOTTO_INVALID_STATE);
  EXPECT_EQ(sotto_session_generate(session.get(), nullptr, 0, 5, nullptr, nullptr), SOTTO_INVALID_STATE);
}

TEST_F(Sessions, CancelStopsOnlyTheNextCall) {
  OpenSession session(model_.get());
  const auto prompt = random_tokens(10, 300, 5);
  sotto_session_cancel(session.get());
  EXPECT_EQ(sotto_session_prefill(session.get(), prompt.data(), 10), SOTTO_STOP_CANCELLED);
  EXPECT_EQ(session.info().token_count, 0u);
  ASSERT_EQ(sotto_session_prefill(session.get(), prompt.data(), 10), SOTTO_OK);
  sotto_session_cancel(session.get());
  const sotto_piece* piece;
  EXPECT_EQ(sotto_session_next(session.get(), &piece), SOTTO_STOP_CANCELLED);
  OpenSession untouched(model_.get());
  ASSERT_EQ(sotto_session_prefill(untouched.get(), prompt.data(), 10), SOTTO_OK);
  EXPECT_EQ(session.generate(8), untouched.generate(8));
}

struct Collected {
  std::string text;
  size_t pieces = 0;
  size_t stop_after = SIZE_MAX;
};

int32_t collect(void* user_data, const sotto_piece* piece) {
  auto* collected = static_cast<Collected*>(user_data);
  collected->text.append(piece->text, piece->text_size);
  return ++collected->pieces == collected->stop_after;
}

TEST_F(Sessions, GenerateEqualsALoopOverNext) {
  OpenSession pulled(model_.get()), pushed(model_.get());
  const auto prompt = random_tokens(5, 256, 6);
  ASSERT_EQ(sotto_session_prefill(pulled.get(), prompt.data(), 5), SOTTO_OK);
  std::string text;
  const sotto_piece* piece;
  for (int i = 0; i < 40; ++i) {
    ASSERT_EQ(sotto_session_next(pulled.get(), &piece), SOTTO_OK);
    text.append(piece->text, piece->text_size);
  }
  Collected collected;
  EXPECT_EQ(sotto_session_generate(pushed.get(), prompt.data(), 5, 40, collect, &collected), SOTTO_STOP_MAX_TOKENS);
  EXPECT_EQ(collected.pieces, 40u);
  EXPECT_EQ(collected.text, text);
  EXPECT_EQ(pushed.logits(), pulled.logits());

  collected = {};
  collected.stop_after = 3;
  EXPECT_EQ(sotto_session_generate(pushed.get(), nullptr, 0, 40, collect, &collected), SOTTO_STOP_CALLBACK);
  EXPECT_EQ(collected.pieces, 3u);
  EXPECT_EQ(pushed.info().token_count, 48u);
}

TEST_F(Sessions, LogProbabilitiesAreThoseOfTheModel) {
  OpenSession session(model_.get());
  sotto_sampler_params sampler;
  sotto_sampler_params_init(&sampler, sizeof sampler);
  sampler.log_probabilities = 1;
  ASSERT_EQ(sotto_session_set_sampler(session.get(), &sampler, nullptr), SOTTO_OK);
  const sotto_token prompt[] = {7, 8};
  ASSERT_EQ(sotto_session_prefill(session.get(), prompt, 2), SOTTO_OK);
  for (int i = 0; i < 10; ++i) {
    const auto logits = session.logits();
    double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
    const sotto_piece* piece;
    ASSERT_EQ(sotto_session_next(session.get(), &piece), SOTTO_OK);
    EXPECT_NEAR(piece->log_probability, logits[static_cast<size_t>(piece->token)] - std::log(sum), 1e-5);
  }
}

TEST_F(Sessions, TimingsCountWhatHappened) {
  OpenSession session(model_.get());
  const auto prompt = random_tokens(12, 300, 7);
  ASSERT_EQ(sotto_session_prefill(session.get(), prompt.data(), 12), SOTTO_OK);
  session.generate(5);
  sotto_session_timings timings = {};
  timings.struct_size = sizeof timings;
  ASSERT_EQ(sotto_session_get_timings(session.get(), &timings), SOTTO_OK);
  EXPECT_EQ(timings.prefill_tokens, 12u);
  EXPECT_EQ(timings.decode_tokens, 4u);  // the fifth is not evaluated yet
  EXPECT_EQ(timings.sample_count, 5u);
  EXPECT_GT(timings.prefill_ns, 0u);
  EXPECT_GT(timings.decode_ns, 0u);
  sotto_session_reset_timings(session.get());
  ASSERT_EQ(sotto_session_get_timings(session.get(), &timings), SOTTO_OK);
  EXPECT_EQ(timings.prefill_tokens + timings.decode_ns + timings.sample_count, 0u);
}

}  // namespace
}  // namespace sotto
