#include "capi/generated/params.h"

using sotto::Piece;
using sotto::Session;
using sotto::Status;
using sotto::capi::ErrorOut;
using sotto::capi::unwrap;
using sotto::capi::wrap;

namespace {

sotto::SessionParams read_params(const sotto_session_params* params) {
  const sotto_session_params given = sotto::capi::read(params, sotto::capi::kSessionDefaults);
  sotto::SessionParams read;
  read.context_tokens = given.context_tokens;
  read.batch_tokens = given.batch_tokens;
  read.thread_count = given.thread_count;
  read.overflow = static_cast<sotto::Overflow>(given.overflow);
  read.sink_tokens = given.sink_tokens;
  if (given.executor != nullptr) {
    read.has_executor = true;
    read.executor = {given.executor->num_threads, given.executor->schedule, given.executor->executor_context};
  }
  read.sequence_count = given.sequence_count;
  read.sequence_tokens = given.sequence_tokens;
  read.features = given.features;
  read.list_bytes = given.list_bytes;
  read.draft_tokens = given.draft_tokens;
  return read;
}

sotto_status check_params(const sotto_session_params* params, ErrorOut* out) {
  if (params == nullptr) return SOTTO_OK;
  if (params->struct_size == 0) return out->bad_struct("params");
  const sotto_executor* executor = sotto::capi::read(params, sotto::capi::kSessionDefaults).executor;
  if (executor == nullptr) return SOTTO_OK;
  constexpr size_t kNeeded = offsetof(sotto_executor, executor_context) + sizeof(void*);
  if (executor->struct_size < kNeeded) return out->bad_struct("executor");
  if (executor->num_threads == nullptr) return out->null_argument("executor->num_threads");
  if (executor->schedule == nullptr) return out->null_argument("executor->schedule");
  return SOTTO_OK;
}

static_assert(sizeof(Piece) == sizeof(sotto_piece));
static_assert(offsetof(Piece, text_size) == offsetof(sotto_piece, text_size));
static_assert(offsetof(Piece, token) == offsetof(sotto_piece, token));
static_assert(offsetof(Piece, log_probability) == offsetof(sotto_piece, log_probability));
static_assert(offsetof(Piece, alternatives) == offsetof(sotto_piece, alternatives));
static_assert(offsetof(Piece, bytes) == offsetof(sotto_piece, bytes));
static_assert(offsetof(Piece, elapsed_ns) == offsetof(sotto_piece, elapsed_ns));
static_assert(sizeof(sotto::Alternative) == sizeof(sotto_alternative));

const sotto_piece* as_sotto(const Piece& piece) { return reinterpret_cast<const sotto_piece*>(&piece); }

// Adapts the caller's callback to the runtime's.
struct PieceReceiver {
  sotto_piece_fn on_piece;
  void* user_data;
};

int32_t receive(void* receiver, const Piece& piece) {
  const auto* caller = static_cast<const PieceReceiver*>(receiver);
  return caller->on_piece(caller->user_data, as_sotto(piece));
}

}  // namespace

sotto_status sotto_session_memory_size(const sotto_model* model, const sotto_session_params* params,
                                       size_t* memory_size, sotto_error* error) {
  ErrorOut out(error);
  if (model == nullptr) return out.null_argument("model");
  if (memory_size == nullptr) return out.null_argument("memory_size");
  if (const sotto_status bad = check_params(params, &out); bad != SOTTO_OK) return bad;
  return wrap(Session::memory_size(*unwrap(model), read_params(params), memory_size, out.get()));
}

sotto_status sotto_session_init(const sotto_model* model, const sotto_session_params* params, void* memory,
                                size_t memory_size, sotto_session** session, sotto_error* error) {
  ErrorOut out(error);
  if (model == nullptr) return out.null_argument("model");
  if (memory == nullptr) return out.null_argument("memory");
  if (session == nullptr) return out.null_argument("session");
  if (const sotto_status bad = check_params(params, &out); bad != SOTTO_OK) return bad;
  Session* made = nullptr;
  const Status status = Session::init(*unwrap(model), read_params(params), memory, memory_size, &made, out.get());
  if (status == Status::kOk) *session = reinterpret_cast<sotto_session*>(made);
  return wrap(status);
}

void sotto_session_deinit(sotto_session* session) {
  if (session != nullptr) unwrap(session)->deinit();
}

void sotto_session_reset(sotto_session* session) {
  if (session != nullptr) unwrap(session)->reset();
}

sotto_status sotto_session_prefill(sotto_session* session, const sotto_token* tokens, size_t count) {
  if (session == nullptr || (tokens == nullptr && count != 0)) return SOTTO_INVALID_ARGUMENT;
  return wrap(unwrap(session)->prefill({tokens, count}));
}

sotto_status sotto_session_next(sotto_session* session, const sotto_piece** piece) {
  if (session == nullptr || piece == nullptr) return SOTTO_INVALID_ARGUMENT;
  const Status status = unwrap(session)->next();
  if (wrap(status) >= 0) *piece = as_sotto(unwrap(session)->piece());
  return wrap(status);
}

sotto_status sotto_session_generate(sotto_session* session, const sotto_token* prompt, size_t prompt_count,
                                    size_t max_tokens, sotto_piece_fn on_piece, void* user_data) {
  if (session == nullptr || (prompt == nullptr && prompt_count != 0)) {
    return SOTTO_INVALID_ARGUMENT;
  }
  PieceReceiver receiver = {on_piece, user_data};
  return wrap(unwrap(session)->generate({prompt, prompt_count}, max_tokens, on_piece == nullptr ? nullptr : receive,
                                        &receiver));
}

sotto_status sotto_session_logits(sotto_session* session, const float** logits, size_t* count) {
  if (session == nullptr || logits == nullptr || count == nullptr) return SOTTO_INVALID_ARGUMENT;
  std::span<const float> found;
  const Status status = unwrap(session)->logits(&found);
  if (status != Status::kOk) return wrap(status);
  *logits = found.data();
  *count = found.size();
  return SOTTO_OK;
}

sotto_status sotto_session_rewind(sotto_session* session, uint64_t token_count) {
  if (session == nullptr) return SOTTO_INVALID_ARGUMENT;
  return wrap(unwrap(session)->rewind(token_count));
}

void sotto_session_cancel(sotto_session* session) {
  if (session != nullptr) unwrap(session)->cancel();
}

sotto_status sotto_session_get_info(const sotto_session* handle, sotto_session_info* info) {
  if (handle == nullptr || info == nullptr || info->struct_size == 0) return SOTTO_INVALID_ARGUMENT;
  const sotto::TokenStream& stream = unwrap(handle)->stream();
  const sotto::SessionParams& params = stream.params();
  const sotto::ModelConfig& config = stream.model().config();
  sotto_session_info filled = {};
  filled.context_tokens = params.context_tokens;
  filled.batch_tokens = params.batch_tokens;
  filled.thread_count = params.thread_count;
  filled.sink_tokens = params.sink_tokens;
  filled.cached_tokens = stream.kv().cached_tokens();
  filled.token_count = stream.token_count();
  filled.reanchor_count = stream.kv().reanchor_count();
  filled.kv_bytes =
      sotto::KvRing::byte_size({config.layer_count, config.head_count, config.head_size, params.context_tokens,
                                params.sink_tokens, params.sequence_count * params.sequence_tokens});
  size_t memory_bytes = 0;
  (void)Session::memory_size(stream.model(), params, &memory_bytes, nullptr);
  filled.memory_bytes = memory_bytes;
  sotto::capi::fill(info, filled);
  return SOTTO_OK;
}

sotto_status sotto_session_get_timings(const sotto_session* handle, sotto_session_timings* timings) {
  if (handle == nullptr || timings == nullptr || timings->struct_size == 0) {
    return SOTTO_INVALID_ARGUMENT;
  }
  const sotto::SessionTimings known = unwrap(handle)->timings();
  sotto_session_timings filled = {};
  filled.prefill_tokens = known.prefill_tokens;
  filled.prefill_ns = known.prefill_ns;
  filled.decode_tokens = known.decode_tokens;
  filled.decode_ns = known.decode_ns;
  filled.sample_count = known.sample_count;
  filled.sample_ns = known.sample_ns;
  filled.reanchor_tokens = known.reanchor.tokens;
  filled.reanchor_ns = known.reanchor.ns;
  sotto::capi::fill(timings, filled);
  return SOTTO_OK;
}

void sotto_session_reset_timings(sotto_session* session) {
  if (session != nullptr) unwrap(session)->reset_timings();
}
