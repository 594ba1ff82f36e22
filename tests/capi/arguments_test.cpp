// Tests every argument of every function of sotto.h with invalid values: the status must be right and, if the function
// has an error parameter, the message must name the argument.

#include <cstddef>
#include <cstring>
#include <functional>
#include <limits>
#include <string>

#include "tests/capi/named_errors.h"
#include "tests/capi/open_session.h"

namespace sotto {
namespace {

constexpr ModelShape kShape = {300, 64, 48, 3, 100, 2};

class Arguments : public NamedErrors {
 protected:
  Arguments() : file_(make_model_file(kShape, true)), model_(make_model_file(kShape, true)) {}

  AlignedBytes file_;
  LoadedModel model_;
  size_t size_ = 0;
};

TEST_F(Arguments, NullsAreRejectedByModels) {
  sotto_model* model = nullptr;
  AlignedBytes memory(64);
  expect_error(sotto_model_memory_size(nullptr, 10, nullptr, &size_, &error_), "file");
  expect_error(sotto_model_memory_size(file_.data(), file_.size(), nullptr, nullptr, &error_), "memory_size");
  expect_error(sotto_model_init(nullptr, 1, nullptr, memory.data(), 64, &model, &error_), "file");
  expect_error(sotto_model_init(file_.data(), file_.size(), nullptr, nullptr, 64, &model, &error_), "memory");
  expect_error(sotto_model_init(file_.data(), file_.size(), nullptr, memory.data(), 64, nullptr, &error_), "model");
  EXPECT_EQ(sotto_model_memory_size(file_.data(), file_.size(), nullptr, &size_, nullptr), SOTTO_OK);
  sotto_model_info info = {};
  EXPECT_EQ(sotto_model_get_info(model_.get(), &info), SOTTO_INVALID_ARGUMENT);  // struct_size is not set
  EXPECT_EQ(sotto_model_get_info(model_.get(), nullptr), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_model_get_info(nullptr, &info), SOTTO_INVALID_ARGUMENT);
  sotto_model_deinit(nullptr);
}

TEST_F(Arguments, ModelParametersOutOfRangeAreRejected) {
  sotto_model_params params = {};
  expect_error(sotto_model_memory_size(file_.data(), file_.size(), &params, &size_, &error_), "struct_size");
  sotto_model_params_init(&params, sizeof params);
  for (const sotto_isa isa : {-1, 9, 1000}) {
    params.isa = isa;
    expect_error(sotto_model_memory_size(file_.data(), file_.size(), &params, &size_, &error_), "CPU",
                 SOTTO_CPU_UNSUPPORTED);
  }
  expect_error(sotto_model_memory_size(file_.data() + 4, file_.size() - 4, nullptr, &size_, &error_), "aligned",
               SOTTO_MEMORY_MISALIGNED);
}

TEST_F(Arguments, SessionParamsOutOfRangeAreNamed) {
  const auto with = [&](auto change) {
    sotto_session_params params;
    sotto_session_params_init(&params, sizeof params);
    params.overflow = SOTTO_OVERFLOW_RING;
    change(params);
    return sotto_session_memory_size(model_.get(), &params, &size_, &error_);
  };
  expect_error(with([](auto& p) { p.context_tokens = 15; }), "context_tokens");
  expect_error(with([](auto& p) { p.context_tokens = 65; }), "context_tokens");
  expect_error(with([](auto& p) { p.batch_tokens = 4097; }), "batch_tokens");
  expect_error(with([](auto& p) { p.batch_tokens = 0; }), "batch_tokens");
  expect_error(with([](auto& p) { p.thread_count = 0; }), "thread_count");
  expect_error(with([](auto& p) { p.thread_count = 65; }), "thread_count");
  expect_error(with([](auto& p) { p.overflow = 3; }), "overflow");
  expect_error(with([](auto& p) { p.overflow = -1; }), "overflow");
  expect_error(with([](auto& p) { p.sink_tokens = 17; }), "sink_tokens");
  expect_error(with([](auto& p) {
                 p.overflow = SOTTO_OVERFLOW_STOP;
                 p.sink_tokens = 4;
               }),
               "sink_tokens");
  expect_error(with([](auto& p) { p.struct_size = 0; }), "struct_size");
  sotto_executor executor = {};
  expect_error(with([&](auto& p) { p.executor = &executor; }), "executor");
  executor.struct_size = sizeof executor;
  expect_error(with([&](auto& p) { p.executor = &executor; }), "num_threads");
}

TEST_F(Arguments, RejectedSamplerParametersAreNamedAndOldOnesStay) {
  OpenSession session(model_.get());
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto with = [&](auto change) {
    sotto_sampler_params params;
    sotto_sampler_params_init(&params, sizeof params);
    params.temperature = 0;  // a value that would change the text
    change(params);
    return sotto_session_set_sampler(session.get(), &params, &error_);
  };
  for (const float bad : {-0.1f, 100.5f, kNan, kInfinity}) {
    expect_error(with([&](auto& p) { p.temperature = bad; }), "temperature");
  }
  for (const float bad : {-0.1f, 0.0f, 1.1f, kNan, kInfinity}) {
    expect_error(with([&](auto& p) { p.top_p = bad; }), "top_p");
  }
  for (const float bad : {-0.1f, 1.1f, kNan, kInfinity}) {
    expect_error(with([&](auto& p) { p.min_p = bad; }), "min_p");
  }
  for (const float bad : {-1.0f, 0.0f, 100.5f, kNan, kInfinity}) {
    expect_error(with([&](auto& p) { p.repetition_penalty = bad; }), "repetition_penalty");
  }
  const sotto_token prompt[] = {1, 2, 3};
  OpenSession untouched(model_.get());
  ASSERT_EQ(sotto_session_prefill(session.get(), prompt, 3), SOTTO_OK);
  ASSERT_EQ(sotto_session_prefill(untouched.get(), prompt, 3), SOTTO_OK);
  EXPECT_EQ(session.generate(20), untouched.generate(20));
}

TEST_F(Arguments, PrefillRejectsTokensOutsideTheVocabulary) {
  OpenSession session(model_.get());
  for (const sotto_token bad : {-1, 300, INT32_MAX, INT32_MIN}) {
    const sotto_token tokens[] = {1, bad};
    EXPECT_EQ(sotto_session_prefill(session.get(), tokens, 2), SOTTO_INVALID_ARGUMENT);
  }
  EXPECT_EQ(session.info().token_count, 0u);
  EXPECT_EQ(sotto_session_prefill(session.get(), nullptr, 1), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_session_prefill(session.get(), nullptr, 0), SOTTO_OK);
}

TEST_F(Arguments, NullsAreRejectedBySessions) {
  const sotto_piece* piece;
  const float* logits;
  size_t count;
  sotto_token token = 0;
  EXPECT_EQ(sotto_session_prefill(nullptr, &token, 1), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_session_next(nullptr, &piece), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_session_generate(nullptr, &token, 1, 1, nullptr, nullptr), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_session_logits(nullptr, &logits, &count), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_session_rewind(nullptr, 0), SOTTO_INVALID_ARGUMENT);
  sotto_session_cancel(nullptr);
  sotto_session_reset(nullptr);
  sotto_session_reset_timings(nullptr);
  sotto_session_deinit(nullptr);
  OpenSession session(model_.get());
  EXPECT_EQ(sotto_session_next(session.get(), nullptr), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_session_logits(session.get(), nullptr, &count), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_session_get_info(session.get(), nullptr), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_session_get_timings(session.get(), nullptr), SOTTO_INVALID_ARGUMENT);
  expect_error(sotto_session_memory_size(nullptr, nullptr, &size_, &error_), "model");
}

TEST_F(Arguments, SessionsDescribeTheFailureOfTheLastCall) {
  OpenSession owner(model_.get());
  sotto_session* session = owner.get();
  const sotto_token token = 1, outside = 300;
  const float row = 0;
  const float* floats;
  float embedding[64];
  const sotto_piece* piece;
  sotto_score score = {}, no_size = {};
  score.struct_size = sizeof score;
  char bytes[3];
  size_t count;
  const auto get_error = [&] {
    EXPECT_EQ(sotto_session_get_error(session, &error_), SOTTO_OK);
    return error_.status;
  };
  const sotto_status invalid = SOTTO_INVALID_ARGUMENT;
  const std::string empty = "the stream is empty";
  struct Case {
    std::function<sotto_status()> call;
    sotto_status status;
    std::string message;
  };
  const Case failures[] = {
      {[&] { return sotto_session_prefill(session, nullptr, 3); }, invalid, "tokens is NULL"},
      {[&] { return sotto_session_prefill(session, &outside, 1); }, invalid, "tokens[0] is 300"},
      {[&] { return sotto_session_prefill_embeddings(session, nullptr, 1); }, invalid, "embeddings is NULL"},
      {[&] { return sotto_session_prefill_embeddings(session, &row, 0); }, invalid, "embeddings is empty"},
      {[&] { return sotto_session_next(session, nullptr); }, invalid, "piece is NULL"},
      {[&] { return sotto_session_next(session, &piece); }, SOTTO_INVALID_STATE, empty},
      {[&] { return sotto_session_generate(session, nullptr, 1, 1, nullptr, nullptr); }, invalid, "prompt is NULL"},
      {[&] { return sotto_session_generate(session, nullptr, 0, 1, nullptr, nullptr); }, SOTTO_INVALID_STATE, empty},
      {[&] { return sotto_session_logits(session, nullptr, &count); }, invalid, "logits is NULL"},
      {[&] { return sotto_session_logits(session, &floats, nullptr); }, invalid, "count is NULL"},
      {[&] { return sotto_session_logits(session, &floats, &count); }, SOTTO_INVALID_STATE, empty},
      {[&] { return sotto_session_hidden(session, nullptr, &count); }, invalid, "hidden is NULL"},
      {[&] { return sotto_session_hidden(session, &floats, nullptr); }, invalid, "count is NULL"},
      {[&] { return sotto_session_rewind(session, 5); }, invalid, "token_count is 5"},
      {[&] { return sotto_session_heal(session); }, SOTTO_INVALID_STATE, "token healing must follow a prefill"},
      {[&] { return sotto_session_score(session, nullptr, 1, nullptr, &score); }, invalid, "tokens is NULL"},
      {[&] { return sotto_session_score(session, &token, 1, nullptr, nullptr); }, invalid, "score is NULL"},
      {[&] { return sotto_session_score(session, &token, 1, nullptr, &no_size); }, invalid, "score->struct_size"},
      {[&] { return sotto_session_embed(session, nullptr, 1, SOTTO_POOL_LAST, embedding); }, invalid, "tokens is NULL"},
      {[&] { return sotto_session_embed(session, &token, 1, SOTTO_POOL_LAST, nullptr); }, invalid, "embedding is NULL"},
      {[&] { return sotto_session_embed(session, &token, 1, 7, embedding); }, invalid, "pooling is 7"},
      {[&] { return sotto_session_saved_size(session, nullptr); }, invalid, "size is NULL"},
      {[&] { return sotto_session_save(session, bytes, 3, nullptr); }, invalid, "size is NULL"},
      {[&] { return sotto_session_save(session, nullptr, 3, &count); }, invalid, "bytes is NULL"},
      {[&] { return sotto_session_save(session, bytes, 3, &count); }, SOTTO_BUFFER_TOO_SMALL, "capacity is 3; the "},
  };
  for (const Case& failure : failures) {
    ASSERT_EQ(sotto_session_set_limit(session, 1), SOTTO_OK);
    EXPECT_EQ(get_error(), SOTTO_OK) << failure.message;
    EXPECT_EQ(failure.call(), failure.status) << failure.message;
    owner.info();  // does not count as a call
    expect_error(get_error(), failure.message, failure.status);
  }
  const std::function<sotto_status()> successes[] = {
      [&] { return sotto_session_saved_size(session, &count); },
      [&] { return sotto_session_prefill(session, &token, 1); },
      [&] { return sotto_session_heal(session); },
      [&] { return sotto_session_logits(session, &floats, &count); },
      [&] { return sotto_session_hidden(session, &floats, &count); },
      [&] { return sotto_session_score(session, &token, 1, nullptr, &score); },
      [&] { return sotto_session_embed(session, &token, 1, SOTTO_POOL_LAST, embedding); },
      [&] { return sotto_session_next(session, &piece); },
      [&] { return sotto_session_rewind(session, 0); },
  };
  for (const auto& success : successes) {
    EXPECT_EQ(sotto_session_prefill(session, nullptr, 1), SOTTO_INVALID_ARGUMENT);
    EXPECT_EQ(success(), SOTTO_OK) << &success - successes;
    EXPECT_EQ(get_error(), SOTTO_OK) << error_.message;
  }
}

TEST_F(Arguments, ListsOfSessionsAreChecked) {
  OpenSession one(model_.get()), other(model_.get());
  LoadedModel second(make_model_file(kShape, true));
  OpenSession foreign(second.get());
  const sotto_piece* pieces[2] = {};
  sotto_status statuses[2] = {};
  const auto next = [&](std::vector<sotto_session*> sessions) {
    return sotto_sessions_next(sessions.data(), sessions.size(), pieces, statuses, &error_);
  };
  sotto_session* const list[] = {one.get()};
  expect_error(sotto_sessions_next(nullptr, 1, pieces, statuses, &error_), "sessions is NULL");
  expect_error(sotto_sessions_next(list, 1, nullptr, statuses, &error_), "pieces");
  expect_error(sotto_sessions_next(list, 1, pieces, nullptr, &error_), "statuses");
  expect_error(next({one.get(), nullptr}), "sessions[1] is NULL");
  expect_error(next({one.get(), one.get()}), "sessions[1] is given twice");
  expect_error(next({one.get(), foreign.get()}), "sessions[1] has another model");
  EXPECT_EQ(statuses[0], SOTTO_OK);
  EXPECT_EQ(sotto_sessions_next(nullptr, 0, nullptr, nullptr, nullptr), SOTTO_OK);
  // A session that fails does not affect the other one.
  const sotto_token token = 1;
  ASSERT_EQ(sotto_session_prefill(other.get(), &token, 1), SOTTO_OK);
  EXPECT_EQ(next({one.get(), other.get()}), SOTTO_OK);
  EXPECT_EQ(statuses[0], SOTTO_INVALID_STATE);
  EXPECT_EQ(pieces[0], nullptr);
  EXPECT_EQ(sotto_session_get_error(one.get(), &error_), SOTTO_OK);
  EXPECT_STREQ(error_.message, "the stream is empty: prefill a prompt first");
  EXPECT_EQ(statuses[1], SOTTO_OK);
  EXPECT_EQ(other.info().token_count, 2u);
}

TEST_F(Arguments, TokenizeRejectsInvalidTextAndFlags) {
  size_t count;
  sotto_token tokens[8];
  const char text[] = "ab\xC3(";
  expect_error(sotto_tokenize(model_.get(), text, 4, 0, tokens, 8, &count, &error_), "UTF-8", SOTTO_TEXT_INVALID);
  EXPECT_EQ(sotto_tokenize(model_.get(), text, 4, 0, tokens, 8, &count, &error_), SOTTO_TEXT_INVALID);
  EXPECT_EQ(error_.offset, 2u);
  EXPECT_EQ(sotto_tokenize(model_.get(), text, 2, 2, tokens, 8, &count, &error_), SOTTO_INVALID_ARGUMENT);
  EXPECT_EQ(sotto_tokenize(model_.get(), text, 2, 0, tokens, 1, &count, nullptr), SOTTO_BUFFER_TOO_SMALL);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(sotto_tokenize(model_.get(), nullptr, 0, 0, nullptr, 0, &count, nullptr), SOTTO_OK);
  EXPECT_EQ(count, 0u);
  const char* bytes;
  size_t size;
  EXPECT_EQ(sotto_token_bytes(model_.get(), 'a', &bytes, &size), SOTTO_OK);
  EXPECT_EQ(std::string(bytes, size), "a");
  for (const sotto_token bad : {-1, 300}) {
    EXPECT_EQ(sotto_token_bytes(model_.get(), bad, &bytes, &size), SOTTO_INVALID_ARGUMENT);
    EXPECT_EQ(sotto_detokenize(model_.get(), &bad, 1, nullptr, 0, &size), SOTTO_INVALID_ARGUMENT);
  }
  const sotto_token word[] = {'h', 'i'};
  char buffer[2];
  EXPECT_EQ(sotto_detokenize(model_.get(), word, 2, buffer, 1, &size), SOTTO_BUFFER_TOO_SMALL);
  EXPECT_EQ(size, 2u);
  EXPECT_EQ(sotto_detokenize(model_.get(), word, 2, buffer, 2, &size), SOTTO_OK);
  EXPECT_EQ(std::string(buffer, size), "hi");
  LoadedModel mute(make_model_file(kShape, false));
  EXPECT_EQ(sotto_tokenize(mute.get(), "a", 1, 0, tokens, 8, &count, nullptr), SOTTO_TOKENIZER_MISSING);
  EXPECT_EQ(sotto_token_bytes(mute.get(), 1, &bytes, &size), SOTTO_TOKENIZER_MISSING);
}

TEST_F(Arguments, StructsOfOlderCallersStayValid) {
  sotto_session_params params;
  std::memset(&params, 0x77, sizeof params);
  constexpr size_t kOld = offsetof(sotto_session_params, overflow);
  sotto_session_params_init(&params, kOld);
  EXPECT_EQ(params.struct_size, kOld);
  EXPECT_EQ(params.overflow, 0x77777777);  // beyond the end of the caller's struct, so it must not be written
  EXPECT_EQ(sotto_session_memory_size(model_.get(), &params, &size_, &error_), SOTTO_OK) << error_.message;

  sotto_model_info info;
  std::memset(&info, 0x77, sizeof info);
  info.struct_size = offsetof(sotto_model_info, layer_count);
  ASSERT_EQ(sotto_model_get_info(model_.get(), &info), SOTTO_OK);
  EXPECT_EQ(info.vocabulary_size, 300u);
  EXPECT_EQ(info.layer_count, 0x77777777u);
}

TEST(Texts, EveryStatusAndIsaHasAText) {
  for (const sotto_status status : {0, 1, 2, 3, 5, 6, -1, -2, -3, -4, -5, -6, -7, -11, -12, -13, -14, -100}) {
    EXPECT_STRNE(sotto_status_text(status), "unknown status") << status;
  }
  EXPECT_STREQ(sotto_status_text(12345), "unknown status");
  for (sotto_isa isa = 0; isa <= 8; ++isa) EXPECT_STRNE(sotto_isa_text(isa), "unknown");
  EXPECT_STREQ(sotto_isa_text(99), "unknown");
  EXPECT_EQ(sotto_version(), static_cast<uint32_t>(SOTTO_VERSION));
}

}  // namespace
}  // namespace sotto
