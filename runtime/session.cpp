#include "runtime/session.h"

#include <algorithm>
#include <limits>
#include <new>

#include "runtime/base/clock.h"

namespace sotto {
namespace {

// Set aside for the object itself, on every platform: memory sizes are part of the API.
constexpr size_t kSessionBytes = 8192;
static_assert(sizeof(Session) <= kSessionBytes);

constexpr uint32_t kMaxBatchTokens = 4096;
constexpr uint32_t kMaxThreads = 64;
constexpr uint32_t kMinContextTokens = 16;
constexpr uint32_t kDefaultSinkTokens = 4;

Status check_parameter(const char* name, uint64_t value, uint64_t low, uint64_t high,
                       Error* error) {
  if (value >= low && value <= high) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, " is ", value, ", must be ", low, " to ",
              high);
}

}  // namespace

// Checks the parameters and puts the defaults in place.
Status Session::resolve(const Model& model, const SessionParams& given, SessionParams* params,
                        Error* error) {
  const uint32_t most = model.config().position_count;
  *params = given;
  if (params->context_tokens == 0) params->context_tokens = most;
  SOTTO_TRY(check_parameter("context_tokens", params->context_tokens,
                            std::min(kMinContextTokens, most), most, error));
  const uint32_t context = params->context_tokens;
  SOTTO_TRY(check_parameter("batch_tokens", params->batch_tokens, 1, kMaxBatchTokens, error));
  params->batch_tokens = std::min(params->batch_tokens, context);
  SOTTO_TRY(check_parameter("thread_count", params->thread_count, 1, kMaxThreads, error));
  if (params->overflow != Overflow::kStop && params->overflow != Overflow::kRing &&
      params->overflow != Overflow::kShift) {
    return fail(error, Status::kInvalidArgument, "overflow is not a SOTTO_OVERFLOW_ value");
  }
  const bool stops = params->overflow == Overflow::kStop;
  if (params->sink_tokens == SessionParams::kDefaultSinks) {
    params->sink_tokens = stops ? 0 : std::min(kDefaultSinkTokens, context / 4);
  }
  if (stops && params->sink_tokens != 0) {
    return fail(error, Status::kInvalidArgument,
                "sink_tokens has no meaning with SOTTO_OVERFLOW_STOP");
  }
  return check_parameter("sink_tokens", params->sink_tokens, 0, context / 4, error);
}

// Places the session's parts; over an empty arena it only measures.
size_t Session::lay_out(const Model& model, const SessionParams& params, Arena arena,
                        Session** session, Context* context, uint8_t** sampler_memory) {
  *session = reinterpret_cast<Session*>(arena.take<uint8_t>(kSessionBytes));
  context->lay_out(
      model.config(),
      {params.context_tokens, params.batch_tokens, params.sink_tokens, params.overflow}, &arena);
  *sampler_memory = arena.take<uint8_t>(Sampler::memory_size(model.config().vocabulary_size, 0));
  return arena.overflowed() ? 0 : arena.size();
}

Status Session::memory_size(const Model& model, const SessionParams& given, size_t* size,
                            Error* error) {
  SessionParams params;
  SOTTO_TRY(resolve(model, given, &params, error));
  Session* session;
  Context context;
  uint8_t* sampler_memory;
  *size = lay_out(model, params, Arena(), &session, &context, &sampler_memory);
  if (*size != 0) return Status::kOk;
  return fail(error, Status::kInvalidArgument,
              "context_tokens: the session is larger than the address space");
}

Status Session::init(const Model& model, const SessionParams& given, void* memory,
                     size_t memory_size, Session** out, Error* error) {
  size_t needed;
  SOTTO_TRY(Session::memory_size(model, given, &needed, error));
  if (reinterpret_cast<uintptr_t>(memory) % kMemoryAlignment != 0) {
    return fail(error, Status::kMemoryMisaligned, "memory is not aligned to 64 bytes");
  }
  if (memory_size < needed) {
    return fail(error, Status::kMemoryTooSmall, "the session needs ", needed, " bytes, got ",
                memory_size);
  }
  SessionParams params;
  SOTTO_TRY(resolve(model, given, &params, error));
  ThreadPool* pool = nullptr;
  if (params.thread_count > 1) {
    pool =
        create_thread_pool(params.thread_count, params.has_executor ? &params.executor : nullptr);
    if (pool == nullptr) {
      return fail(error, Status::kThreadsUnavailable,
                  threads_available() ? "the threads could not be made"
                                      : "thread_count: this library is built without threads");
    }
  }
  Context context;
  Session* place;
  uint8_t* sampler_memory;
  lay_out(model, params, Arena(memory), &place, &context, &sampler_memory);
  const Status status = context.init(model, pool, error);
  if (status != Status::kOk) {
    destroy_thread_pool(pool);
    return status;
  }
  auto* session = new (place) Session;
  session->model_ = &model;
  session->params_ = params;
  session->pool_ = pool;
  session->context_ = context;
  session->memory_bytes_ = needed;
  const SamplerShape shape = {model.config().vocabulary_size, model.config().end_of_text_token,
                              0, {}};
  session->sampler_.init(model.kernels(), shape, sampler_memory);
  *out = session;
  return Status::kOk;
}

void Session::deinit() {
  destroy_thread_pool(pool_);
  pool_ = nullptr;
}

uint64_t Session::kv_bytes() const {
  const ModelConfig& config = model_->config();
  return KvRing::byte_size({config.layer_count, config.head_count, config.head_size,
                            params_.context_tokens, params_.sink_tokens});
}

SessionTimings Session::timings() const {
  SessionTimings timings = timings_;
  timings.reanchor = context_.reanchor_timings();
  return timings;
}

void Session::reset_timings() {
  timings_ = {};
  context_.reset_reanchor_timings();
}

Status Session::set_sampler(const SamplerParams& params, Error* error) {
  return sampler_.set_params(params, error);
}

void Session::reset() {
  context_.clear();
  has_pending_ = false;
  text_.clear();
}

bool Session::take_cancellation() {
  return cancelled_.exchange(0, std::memory_order_relaxed) != 0;
}

Status Session::prefill(std::span<const int32_t> tokens) {
  const uint32_t vocabulary = model_->config().vocabulary_size;
  for (const int32_t token : tokens) {
    if (static_cast<uint32_t>(token) >= vocabulary) return Status::kInvalidArgument;
  }
  const uint64_t room = params_.context_tokens - context_.token_count();
  if (params_.overflow == Overflow::kStop && tokens.size() + (has_pending_ ? 1 : 0) > room) {
    return Status::kStopContextFull;
  }
  SOTTO_TRY(evaluate_pending());
  text_.clear();
  const uint64_t before = context_.token_count();
  Stopwatch stopwatch(&timings_.prefill_ns);
  const Status status = context_.append(tokens, cancelled_);
  timings_.prefill_tokens += context_.token_count() - before;
  if (status == Status::kStopCancelled) cancelled_.store(0, std::memory_order_relaxed);
  return status;
}

// Evaluates the token that was generated or rewound to last, so that logits are there.
Status Session::evaluate_pending() {
  if (!has_pending_) return Status::kOk;
  Stopwatch stopwatch(&timings_.decode_ns);
  const Status status = context_.append({&pending_, 1}, cancelled_);
  if (status == Status::kStopCancelled) cancelled_.store(0, std::memory_order_relaxed);
  if (status != Status::kOk) return status;
  has_pending_ = false;
  ++timings_.decode_tokens;
  return Status::kOk;
}

// Makes the logits after the last token available, even after a cancelled prefill.
Status Session::ensure_logits() {
  SOTTO_TRY(evaluate_pending());
  const Status status = context_.ensure_logits(cancelled_);
  if (status == Status::kStopCancelled) cancelled_.store(0, std::memory_order_relaxed);
  return status;
}

Status Session::logits(std::span<const float>* logits) {
  if (token_count() == 0) return Status::kInvalidState;
  SOTTO_TRY(ensure_logits());
  *logits = context_.logits();
  return Status::kOk;
}

SampledToken Session::sample() {
  Stopwatch stopwatch(&timings_.sample_ns);
  std::span<const int32_t> older, newer;
  context_.newest(kWholeWindow, &older, &newer);
  SampleInput input;
  input.history = {older, newer};
  input.draw = token_count();
  SamplerState state = sampler_.initial_state();
  ++timings_.sample_count;
  return sampler_.sample(context_.logits(), TokenMask(), input, &state);
}

Status Session::next() {
  constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
  piece_ = {piece_text_, 0, -1, kUnknown, kUnknown, 0, nullptr, piece_text_, 0, 0};
  if (token_count() == 0) return Status::kInvalidState;
  if (take_cancellation()) return stop(Status::kStopCancelled);
  const Status status = ensure_logits();
  if (status != Status::kOk) return stop(status);
  const SampledToken sampled = sample();
  if (sampled.token == model_->config().end_of_text_token) return stop(Status::kStopEndOfText);
  pending_ = sampled.token;
  has_pending_ = true;
  piece_.text_size = text_.append(bytes_of(sampled.token), piece_text_);
  piece_.token = sampled.token;
  piece_.log_probability = sampled.log_probability;
  return Status::kOk;
}

// Ends a text: what was held back comes out.
Status Session::stop(Status reason) {
  piece_.text_size = text_.flush(piece_text_);
  return reason;
}

std::span<const char> Session::bytes_of(int32_t token) const {
  const TokenizerView* tokenizer = model_->tokenizer();
  if (tokenizer == nullptr) return {};
  return tokenizer->bytes_of(static_cast<uint32_t>(token));
}

Status Session::rewind(uint64_t count) {
  if (count > token_count()) return Status::kInvalidArgument;
  if (count == token_count()) return Status::kOk;
  if (count == context_.token_count() && context_.has_logits()) {
    has_pending_ = false;  // only the unevaluated token goes
  } else if (count == 0) {
    reset();
  } else {
    // The last kept token is evaluated again, for its logits.
    if (!context_.can_rewind(count - 1)) return Status::kInvalidState;
    pending_ = context_.token_at(count - 1);
    has_pending_ = true;
    context_.rewind(count - 1);
  }
  restore_text();
  return Status::kOk;
}

// Holds back again what the end of the stream had held back: bytes that begin a character.
void Session::restore_text() {
  char tail[3];
  size_t size = 0;
  const uint64_t count = token_count();
  for (uint64_t back = 1; back <= count && back <= sizeof tail && size < sizeof tail; ++back) {
    const uint64_t index = count - back;
    const bool is_pending = index == context_.token_count();
    const auto bytes = bytes_of(is_pending ? pending_ : context_.token_at(index));
    for (size_t i = bytes.size(); i > 0 && size < sizeof tail; --i) {
      tail[sizeof tail - ++size] = bytes[i - 1];
    }
  }
  text_.resume({tail + sizeof tail - size, size});
}

}  // namespace sotto
