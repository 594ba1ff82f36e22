// The functions of sotto_session.h: generation, stops, guides, scores, hidden states, saved states.
#include <bit>

#include "capi/generated/params.h"
#include "runtime/session/saved_state.h"
#include "runtime/session/session_batch.h"

using sotto::Error;
using sotto::SavedState;
using sotto::Session;
using sotto::SessionParams;
using sotto::Status;
using sotto::capi::ErrorOut;
using sotto::capi::read_params;
using sotto::capi::to_handle;
using sotto::capi::unwrap;
using sotto::capi::wrap;

namespace {

// Reads the parameters and checks that the executor is complete.
sotto_status read_session_params(const sotto_session_params* given, SessionParams* params, ErrorOut* out) {
  SOTTO_TRY_C(read_params(given, "params", params, out));
  const sotto_executor* executor = params->executor;
  if (executor == nullptr) return SOTTO_OK;
  constexpr size_t kNeeded = offsetof(sotto_executor, executor_context) + sizeof(void*);
  if (executor->struct_size < kNeeded) return out->bad_struct("executor");
  if (executor->num_threads == nullptr) return out->null_argument("executor->num_threads");
  if (executor->schedule == nullptr) return out->null_argument("executor->schedule");
  return SOTTO_OK;
}

// Returns function(out), and keeps the details of a failure for sotto_session_get_error().
template <typename Function>
sotto_status keep_error(const Session& session, Function function) {
  Error* const last_error = session.last_error();
  *last_error = Error();
  ErrorOut out(nullptr);
  const sotto_status status = out.finish(function(out));
  // If the call succeeded, a call in one of its callbacks may have failed.
  *last_error = status < 0 ? *out.get() : Error();
  return status;
}

// Calls function(session, out), and keeps the details of a failure for sotto_session_get_error().
template <typename Handle, typename Function>
sotto_status call(Handle* handle, Function function) {
  if (handle == nullptr) return SOTTO_INVALID_ARGUMENT;
  auto& session = *unwrap(handle);
  return keep_error(session, [&](ErrorOut& out) -> sotto_status {
    SOTTO_TRY_C(out.check_usable(&session, "session"));
    return function(session, out);
  });
}

sotto_status find_saved_size(const Session& s, size_t* size, ErrorOut& out) {
  if (size == nullptr) return out.null_argument("size");
  if (s.has_embeddings()) {
    return wrap(fail(out.get(), Status::kInvalidState, "a stream that begins with embeddings cannot be saved"));
  }
  *size = SavedState::size(s);
  return SOTTO_OK;
}

// Returns a row of logits or hidden states. `find` is the member of Session that computes it. `name` is the argument
// that receives it.
sotto_status read_row(sotto_session* session, Status (Session::*find)(std::span<const float>*, Error*),
                      const float** numbers, const char* name, size_t* count) {
  return call(session, [&](Session& s, ErrorOut& out) -> sotto_status {
    if (numbers == nullptr) return out.null_argument(name);
    if (count == nullptr) return out.null_argument("count");
    std::span<const float> found;
    SOTTO_TRY_C(wrap((s.*find)(&found, out.get())));
    *numbers = found.data();
    *count = found.size();
    return SOTTO_OK;
  });
}

}  // namespace

sotto_status sotto_session_memory_size(const sotto_model* model, const sotto_session_params* c_params,
                                       size_t* memory_size, sotto_error* error) {
  ErrorOut out(error);
  if (model == nullptr) return out.null_argument("model");
  if (memory_size == nullptr) return out.null_argument("memory_size");
  SessionParams params;
  SOTTO_TRY_C(read_session_params(c_params, &params, &out));
  return wrap(Session::memory_size(*unwrap(model), params, memory_size, out.get()));
}

sotto_status sotto_session_init(const sotto_model* model, const sotto_session_params* c_params, void* memory,
                                size_t memory_size, sotto_session** c_session, sotto_error* error) {
  ErrorOut out(error);
  if (model == nullptr) return out.null_argument("model");
  if (memory == nullptr) return out.null_argument("memory");
  if (c_session == nullptr) return out.null_argument("session");
  SessionParams params;
  SOTTO_TRY_C(read_session_params(c_params, &params, &out));
  Session* session = nullptr;
  const Status status = Session::init(*unwrap(model), params, memory, memory_size, &session, out.get());
  if (status == Status::kOk) *c_session = to_handle<sotto_session>(session);
  return wrap(status);
}

void sotto_session_deinit(sotto_session* session) {
  if (session != nullptr) unwrap(session)->deinit();
}

void sotto_session_reset(sotto_session* session) {
  if (session != nullptr) unwrap(session)->reset();
}

sotto_status sotto_session_prefill(sotto_session* session, const sotto_token* tokens, size_t count) {
  return call(session, [&](Session& s, ErrorOut& out) {
    if (tokens == nullptr && count != 0) return out.null_argument("tokens");
    return wrap(s.prefill({tokens, count}, out.get()));
  });
}

sotto_status sotto_session_prefill_embeddings(sotto_session* session, const float* embeddings, size_t count) {
  return call(session, [&](Session& s, ErrorOut& out) {
    if (embeddings == nullptr && count != 0) return out.null_argument("embeddings");
    return wrap(s.prefill_embeddings(embeddings, count, out.get()));
  });
}

sotto_status sotto_session_next(sotto_session* session, const sotto_piece** piece) {
  return call(session, [&](Session& s, ErrorOut& out) {
    if (piece == nullptr) return out.null_argument("piece");
    const Status status = s.next(out.get());
    if (!is_failure(status)) *piece = &s.piece();
    return wrap(status);
  });
}

sotto_status sotto_sessions_next(sotto_session* const* sessions, size_t count, const sotto_piece** pieces,
                                 sotto_status* statuses, sotto_error* error) {
  ErrorOut out(error);
  if (sessions == nullptr && count != 0) return out.null_argument("sessions");
  if (pieces == nullptr && count != 0) return out.null_argument("pieces");
  if (statuses == nullptr && count != 0) return out.null_argument("statuses");
  sotto::SessionBatch batch;
  for (size_t i = 0; i < count; ++i) {
    if (sessions[i] == nullptr) {
      return wrap(fail(out.get(), Status::kInvalidArgument, "sessions[", i, "] is NULL"));
    }
    if (const Status status = batch.add(unwrap(sessions[i]), out.get()); status != Status::kOk) return wrap(status);
  }
  batch.evaluate();
  for (size_t i = 0; i < count; ++i) {
    Session& session = *unwrap(sessions[i]);
    statuses[i] = keep_error(session, [&](ErrorOut& own) { return wrap(batch.next(&session, own.get())); });
    pieces[i] = statuses[i] < 0 ? nullptr : &session.piece();
  }
  return SOTTO_OK;
}

sotto_status sotto_session_set_limit(sotto_session* session, size_t max_tokens) {
  return call(session, [&](Session& s, ErrorOut&) -> sotto_status {
    s.set_limit(max_tokens);
    return SOTTO_OK;
  });
}

sotto_status sotto_session_generate(sotto_session* session, const sotto_token* prompt, size_t prompt_count,
                                    size_t max_tokens, sotto_piece_fn on_piece, void* user_data) {
  return call(session, [&](Session& s, ErrorOut& out) {
    if (prompt == nullptr && prompt_count != 0) return out.null_argument("prompt");
    return wrap(s.generate({prompt, prompt_count}, max_tokens, on_piece, user_data, out.get()));
  });
}

sotto_status sotto_session_logits(sotto_session* session, const float** logits, size_t* count) {
  return read_row(session, &Session::logits, logits, "logits", count);
}

sotto_status sotto_session_rewind(sotto_session* session, uint64_t token_count) {
  return call(session, [&](Session& s, ErrorOut& out) { return wrap(s.rewind(token_count, out.get())); });
}

sotto_status sotto_session_get_error(const sotto_session* session, sotto_error* error) {
  if (session == nullptr || error == nullptr || error->struct_size == 0) return SOTTO_INVALID_ARGUMENT;
  sotto::capi::fill(error, sotto::capi::to_c(*unwrap(session)->last_error()));
  return SOTTO_OK;
}

void sotto_session_cancel(sotto_session* session) {
  if (session != nullptr) unwrap(session)->cancel();
}

sotto_status sotto_session_get_info(const sotto_session* session, sotto_session_info* info) {
  if (session == nullptr || info == nullptr || info->struct_size == 0) return SOTTO_INVALID_ARGUMENT;
  sotto::capi::fill(info, std::bit_cast<sotto_session_info>(unwrap(session)->info()));
  return SOTTO_OK;
}

sotto_status sotto_session_get_timings(const sotto_session* session, sotto_session_timings* timings) {
  if (session == nullptr || timings == nullptr || timings->struct_size == 0) return SOTTO_INVALID_ARGUMENT;
  sotto::capi::fill(timings, unwrap(session)->timings());
  return SOTTO_OK;
}

void sotto_session_reset_timings(sotto_session* session) {
  if (session != nullptr) unwrap(session)->reset_timings();
}

sotto_status sotto_session_set_stops(sotto_session* session, const sotto_stop_params* c_params, sotto_error* error) {
  ErrorOut out(error);
  SOTTO_TRY_C(out.check_usable(unwrap(session), "session"));
  sotto::StopParams params;
  SOTTO_TRY_C(read_params(c_params, "params", &params, &out));
  return wrap(unwrap(session)->set_stops(params, out.get()));
}

sotto_status sotto_session_heal(sotto_session* session) {
  return call(session, [](Session& s, ErrorOut& out) { return wrap(s.heal(out.get())); });
}

sotto_status sotto_session_set_guide(sotto_session* session, sotto_session* guide, const sotto_guide_params* c_params,
                                     sotto_error* error) {
  ErrorOut out(error);
  SOTTO_TRY_C(out.check_usable(unwrap(session), "session"));
  sotto::GuideParams params;
  SOTTO_TRY_C(read_params(c_params, "params", &params, &out));
  if (guide != nullptr) {
    SOTTO_TRY_C(out.check_usable(unwrap(guide), "guide"));
  }
  return wrap(unwrap(session)->set_guide(unwrap(guide), params, out.get()));
}

sotto_status sotto_session_score(sotto_session* session, const sotto_token* tokens, size_t count,
                                 float* log_probabilities, sotto_score* score) {
  return call(session, [&](Session& s, ErrorOut& out) {
    if (tokens == nullptr && count != 0) return out.null_argument("tokens");
    if (score == nullptr) return out.null_argument("score");
    if (score->struct_size == 0) return out.bad_struct("score");
    sotto::ScoreResult result;
    const Status status = s.score({tokens, count}, log_probabilities, &result, out.get());
    if (!is_failure(status)) sotto::capi::fill(score, result);
    return wrap(status);
  });
}

sotto_status sotto_session_hidden(sotto_session* session, const float** hidden, size_t* count) {
  return read_row(session, &Session::hidden, hidden, "hidden", count);
}

sotto_status sotto_session_embed(sotto_session* session, const sotto_token* tokens, size_t count, sotto_pooling pooling,
                                 float* embedding) {
  return call(session, [&](Session& s, ErrorOut& out) {
    if (tokens == nullptr && count != 0) return out.null_argument("tokens");
    if (embedding == nullptr) return out.null_argument("embedding");
    return wrap(s.embed({tokens, count}, static_cast<sotto::Pooling>(pooling), embedding, out.get()));
  });
}

sotto_status sotto_session_saved_size(const sotto_session* session, size_t* size) {
  return call(session, [&](const Session& s, ErrorOut& out) { return find_saved_size(s, size, out); });
}

sotto_status sotto_session_save(const sotto_session* session, void* bytes, size_t capacity, size_t* size) {
  return call(session, [&](const Session& s, ErrorOut& out) -> sotto_status {
    if (bytes == nullptr && capacity != 0) return out.null_argument("bytes");
    SOTTO_TRY_C(find_saved_size(s, size, out));
    if (*size > capacity) {
      return wrap(fail(out.get(), Status::kBufferTooSmall, "capacity is ", capacity, "; the saved state has ", *size,
                       " bytes"));
    }
    SavedState::save(s, static_cast<uint8_t*>(bytes));
    return SOTTO_OK;
  });
}

sotto_status sotto_session_restore(sotto_session* session, const void* bytes, size_t size, sotto_error* error) {
  ErrorOut out(error);
  SOTTO_TRY_C(out.check_usable(unwrap(session), "session"));
  if (bytes == nullptr) return out.null_argument("bytes");
  return wrap(SavedState::restore({static_cast<const uint8_t*>(bytes), size}, unwrap(session), out.get()));
}

sotto_status sotto_session_fork(const sotto_session* from, sotto_session* to, sotto_error* error) {
  ErrorOut out(error);
  SOTTO_TRY_C(out.check_usable(unwrap(from), "from"));
  SOTTO_TRY_C(out.check_usable(unwrap(to), "to"));
  return wrap(SavedState::fork(*unwrap(from), unwrap(to), out.get()));
}
