#include "runtime/session/session.h"

#include <algorithm>
#include <new>

#include "runtime/base/clock.h"
#include "runtime/session/dola.h"

namespace sotto {
namespace {

// Set aside for the object itself, on every platform: memory sizes are part of the API.
constexpr size_t kSessionBytes = 40960;
static_assert(sizeof(Session) <= kSessionBytes);

constexpr uint32_t kMaxBatchTokens = 4096;
constexpr uint32_t kMaxThreads = 64;
constexpr uint32_t kMinContextTokens = 16;
constexpr uint32_t kDefaultSinkTokens = 4;
constexpr uint32_t kMaxSequences = 64;
constexpr uint32_t kDefaultSequenceTokens = 128;
constexpr uint32_t kMaxListBytes = 1u << 24;

Status check_parameter(const char* name, uint64_t value, uint64_t low, uint64_t high, Error* error) {
  if (value >= low && value <= high) return Status::kOk;
  return fail(error, Status::kInvalidArgument, name, " is ", value, ", must be ", low, " to ", high);
}

Status resolve_overflow(SessionParams* params, Error* error) {
  if (params->overflow != Overflow::kStop && params->overflow != Overflow::kRing &&
      params->overflow != Overflow::kShift) {
    return fail(error, Status::kInvalidArgument, "overflow is not a SOTTO_OVERFLOW_ value");
  }
  const bool stops = params->overflow == Overflow::kStop;
  if (params->sink_tokens == SessionParams::kDefaultSinks) {
    params->sink_tokens = stops ? 0 : std::min(kDefaultSinkTokens, params->context_tokens / 4);
  }
  if (stops && params->sink_tokens != 0) {
    return fail(error, Status::kInvalidArgument, "sink_tokens has no meaning with SOTTO_OVERFLOW_STOP");
  }
  return check_parameter("sink_tokens", params->sink_tokens, 0, params->context_tokens / 4, error);
}

Status resolve_sequences(const ModelConfig& config, SessionParams* params, Error* error) {
  const uint32_t most = config.position_count;
  SOTTO_TRY(check_parameter("sequence_count", params->sequence_count, 0, kMaxSequences, error));
  SOTTO_TRY(check_parameter("sequence_tokens", params->sequence_tokens, 0, most, error));
  if (params->sequence_count == 0 && params->sequence_tokens != 0) {
    return fail(error, Status::kInvalidArgument, "sequence_tokens has no meaning with sequence_count 0");
  }
  if (params->sequence_count != 0 && params->sequence_tokens == 0) {
    params->sequence_tokens = std::min(kDefaultSequenceTokens, most);
  }
  return Status::kOk;
}

KvSequenceParams context_params(const SessionParams& params) {
  return {params.context_tokens,
          params.batch_tokens,
          params.sink_tokens,
          params.overflow,
          params.sequence_count,
          params.sequence_tokens,
          params.features & (kFeatureHiddenHistory | kFeatureDola),
          params.draft_tokens};
}

std::span<const char> token_bytes(const void* tokenizer, int32_t token) {
  return static_cast<const TokenizerView*>(tokenizer)->bytes_of(static_cast<uint32_t>(token));
}

SamplerShape sampler_shape(const Model& model, const SessionParams& params) {
  SamplerShape shape;
  shape.vocabulary_size = model.config().vocabulary_size;
  shape.end_token = model.config().end_of_text_token;
  shape.list_bytes = params.list_bytes;
  shape.history_capacity = params.context_tokens;
  if (model.tokenizer() != nullptr) shape.bytes = {model.tokenizer(), token_bytes};
  return shape;
}

StopShape stop_shape(const Model& model, const SessionParams& params) {
  return {model.config().vocabulary_size, params.context_tokens, model.tokenizer() != nullptr, params.list_bytes};
}

}  // namespace

// Where the session's parts are.
struct Session::Layout {
  Session* session;
  KvSequence context;
  Beams beams;
  uint8_t* sampler;
  Stops stops;
  TokenStates states;
  uint64_t* mask_words;
  float* mixed_logits;
  Search search;
  Speculation speculation;
};

// Checks the parameters and puts the defaults in place.
Status Session::resolve(const Model& model, const SessionParams& given, SessionParams* params, Error* error) {
  const uint32_t most = model.config().position_count;
  *params = given;
  if (params->context_tokens == 0) params->context_tokens = most;
  SOTTO_TRY(check_parameter("context_tokens", params->context_tokens, std::min(kMinContextTokens, most), most, error));
  SOTTO_TRY(check_parameter("batch_tokens", params->batch_tokens, 1, kMaxBatchTokens, error));
  params->batch_tokens = std::min(params->batch_tokens, params->context_tokens);
  SOTTO_TRY(check_parameter("thread_count", params->thread_count, 1, kMaxThreads, error));
  SOTTO_TRY(check_parameter("features", params->features, 0, kAllFeatures, error));
  SOTTO_TRY(check_parameter("list_bytes", params->list_bytes, 0, kMaxListBytes, error));
  SOTTO_TRY(check_parameter("draft_tokens", params->draft_tokens, 0, KvSequence::kMaxDraftTokens, error));
  SOTTO_TRY(resolve_sequences(model.config(), params, error));
  return resolve_overflow(params, error);
}

// Places the session's parts, one after the other; over an empty arena it only measures.
size_t Session::lay_out(const Model& model, const SessionParams& params, Arena arena, Layout* layout) {
  const size_t vocabulary = model.config().vocabulary_size;
  const bool mixes = (params.features & (kFeatureGuide | kFeatureDola)) != 0;
  layout->session = reinterpret_cast<Session*>(arena.take<uint8_t>(kSessionBytes));
  layout->context.layout(arena, model.config(), context_params(params));
  layout->beams.layout(arena, params.sequence_count, params.sequence_tokens,
                       layout->session == nullptr ? nullptr : &layout->session->context_);
  layout->sampler = arena.take<uint8_t>(Sampler::memory_size(vocabulary, params.list_bytes, params.context_tokens));
  layout->stops.place(stop_shape(model, params), &arena);
  layout->states.place(params.context_tokens, &arena);
  layout->mask_words = arena.take<uint64_t>(TokenMask::word_count(vocabulary));
  layout->mixed_logits = arena.take<float>(mixes ? vocabulary : 0);
  layout->search.lay_out({params.sequence_count, params.sequence_tokens}, &arena);
  layout->speculation.place(params.context_tokens, params.draft_tokens, &arena);
  return arena.overflowed() ? 0 : arena.size();
}

Status Session::memory_size(const Model& model, const SessionParams& given, size_t* size, Error* error) {
  SessionParams params;
  SOTTO_TRY(resolve(model, given, &params, error));
  Layout layout;
  *size = lay_out(model, params, Arena(), &layout);
  if (*size != 0) return Status::kOk;
  return fail(error, Status::kInvalidArgument, "context_tokens: the session is larger than the address space");
}

Status Session::init(const Model& model, const SessionParams& given, void* memory, size_t memory_size, Session** out,
                     Error* error) {
  size_t needed;
  SOTTO_TRY(Session::memory_size(model, given, &needed, error));
  if (reinterpret_cast<uintptr_t>(memory) % kMemoryAlignment != 0) {
    return fail(error, Status::kMemoryMisaligned, "memory is not aligned to 64 bytes");
  }
  if (memory_size < needed) {
    return fail(error, Status::kMemoryTooSmall, "the session needs ", needed, " bytes, got ", memory_size);
  }
  SessionParams params;
  SOTTO_TRY(resolve(model, given, &params, error));
  ThreadPool* pool = nullptr;
  if (params.thread_count > 1) {
    pool = create_thread_pool(params.thread_count, params.has_executor ? &params.executor : nullptr);
    if (pool == nullptr) {
      return fail(error, Status::kThreadsUnavailable,
                  threads_available() ? "the threads could not be made"
                                      : "thread_count: this library is built without threads");
    }
  }
  Layout layout;
  lay_out(model, params, Arena(memory), &layout);
  const Status status = layout.context.init(model, pool, error);
  if (status != Status::kOk) {
    destroy_thread_pool(pool);
    return status;
  }
  auto* session = new (layout.session) Session;
  session->model_ = &model;
  session->params_ = params;
  session->pool_ = pool;
  session->context_ = layout.context;
  session->beams_ = layout.beams;
  session->memory_bytes_ = needed;
  session->sampler_.init(model.kernels(), sampler_shape(model, params), layout.sampler);
  session->stops_ = layout.stops;
  session->states_ = layout.states;
  session->mask_words_ = layout.mask_words;
  session->mixed_logits_ = layout.mixed_logits;
  session->search_ = layout.search;
  session->speculation_ = layout.speculation;
  SpeculationParams speculation;
  speculation.sources = 0;
  SOTTO_TRY(session->set_speculation(speculation, error));
  *out = session;
  return Status::kOk;
}

void Session::deinit() {
  if (guide_ != nullptr) guide_->guided_ = nullptr;
  if (guided_ != nullptr) guided_->lose_guide();
  if (drafted_ != nullptr) drafted_->lose_drafter();
  lose_drafter();
  destroy_thread_pool(pool_);
  pool_ = nullptr;
}

uint64_t Session::kv_bytes() const {
  const ModelConfig& config = model_->config();
  return KvRing::byte_size({config.layer_count, config.head_count, config.head_size, params_.context_tokens,
                            params_.sink_tokens, params_.sequence_count * params_.sequence_tokens});
}

SessionTimings Session::timings() const {
  SessionTimings timings = timings_;
  timings.reanchor = context_.reanchor_timings;
  return timings;
}

void Session::reset_timings() {
  timings_ = {};
  context_.reanchor_timings = {};
  speculation_.info = {};
}

std::span<const char> Session::bytes_of(int32_t token) const {
  const TokenizerView* tokenizer = model_->tokenizer();
  if (tokenizer == nullptr) return {"", size_t{0}};
  return tokenizer->bytes_of(static_cast<uint32_t>(token));
}

Status Session::set_sampler(const SamplerParams& params, Error* error) {
  SOTTO_TRY(check_dola(params, *model_, params_.features, error));
  SOTTO_TRY(sampler_.set_params(params, error));
  // Those that a ring cannot take back come out as they were drawn.
  (void)take_back_held();
  if (token_count() > 0) states_[token_count() - 1].sampler = sampler_.initial_state();
  return Status::kOk;
}

Status Session::set_stops(const StopParams& params, Error* error) {
  SOTTO_TRY(stops_.set(params, error));
  // Tokens that a ring cannot take back stay held, and come out whatever is banned now.
  (void)take_back_held();
  if (token_count() > 0) rebuild_text(handed_out());
  hold_text_again();
  return Status::kOk;
}

Status Session::set_constraint(const TokenConstraint* constraint) {
  const Status status = take_back_held();
  if (status != Status::kOk && constraint != nullptr) return status;
  constraint_ = constraint == nullptr ? TokenConstraint() : *constraint;
  if (constraint != nullptr) constraint_.mark_start(constraint_.self);
  lost_ = Status::kOk;
  constrained_count_ = 0;
  states_.clear_flag(TokenState::kConstrained, token_count());
  return Status::kOk;
}

Status Session::set_guide(Session* guide, const GuideParams& params, Error* error) {
  if (guide != nullptr) {
    SOTTO_TRY(check_guide(params, error));
    if ((params_.features & kFeatureGuide) == 0) {
      return fail(error, Status::kInvalidState, "features: the session has no memory for a guide");
    }
    if (guide == this) return fail(error, Status::kInvalidArgument, "guide is the session itself");
    if (guide->guide_ != nullptr || guided_ != nullptr) {
      return fail(error, Status::kInvalidArgument, "guide: a guide cannot be guided");
    }
    if (guide->guided_ != nullptr && guide->guided_ != this) {
      return fail(error, Status::kInvalidArgument, "guide already guides another session");
    }
    const uint32_t own = model_->config().vocabulary_size;
    const uint32_t other = guide->model_->config().vocabulary_size;
    if (own != other) {
      return fail(error, Status::kInvalidArgument, "guide: vocabulary_size is ", other, ", the session's ", own);
    }
    if (guide->drafted_ != nullptr) {
      return fail(error, Status::kInvalidArgument, "guide drafts for a session");
    }
    SOTTO_TRY(guide->take_back_held(error));
  }
  const Status status = take_back_held(error);
  if (status != Status::kOk && guide != nullptr) return status;
  if (guide_ != nullptr) guide_->guided_ = nullptr;
  lose_guide();
  guide_ = guide;
  if (guide_ != nullptr) guide_->guided_ = this;
  guide_params_ = params;
  lost_ = Status::kOk;
  return Status::kOk;
}

void Session::lose_guide() {
  guide_ = nullptr;
  guided_count_ = 0;
  states_.clear_flag(TokenState::kGuided, token_count());
}

}  // namespace sotto
