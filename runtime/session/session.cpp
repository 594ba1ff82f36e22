#include "runtime/session/session.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/features.h"
#include "runtime/base/object_memory.h"
#include "runtime/base/range_check.h"
#include "runtime/session/partners.h"
#include "runtime/session/scoring.h"

namespace sotto {
namespace {

static_assert(SessionParams::kMaxThreadCount == kMaxThreads);

constexpr uint32_t kMinContextTokens = 16;
constexpr uint32_t kDefaultSinkTokens = 4;
constexpr uint32_t kDefaultSequenceTokens = 128;

Status resolve_overflow(SessionParams* params, Error* error) {
  const bool stops = params->overflow == Overflow::kStop;
  const uint32_t max_sinks = params->context_tokens / 4;
  if (params->sink_tokens == UINT32_MAX) params->sink_tokens = stops ? 0 : std::min(kDefaultSinkTokens, max_sinks);
  if (stops && params->sink_tokens != 0) {
    return fail(error, Status::kInvalidArgument, "sink_tokens is ", params->sink_tokens,
                "; it must be 0 unless overflow is ring or shift");
  }
  return check_range("sink_tokens", params->sink_tokens, 0, max_sinks, error);
}

Status resolve_sequences(const ModelConfig& config, SessionParams* params, Error* error) {
  const uint32_t max_tokens = config.position_count;
  SOTTO_TRY(check_range("sequence_tokens", params->sequence_tokens, 0, max_tokens, error));
  if (params->sequence_count == 0 && params->sequence_tokens != 0) {
    return fail(error, Status::kInvalidArgument, "sequence_tokens is ", params->sequence_tokens,
                "; it must be 0 unless sequence_count is above 0");
  }
  if (params->sequence_count != 0 && params->sequence_tokens == 0) {
    params->sequence_tokens = std::min(kDefaultSequenceTokens, max_tokens);
  }
  return Status::kOk;
}

// Validates the parameters and replaces defaults by actual values.
Status resolve(const Model& model, const SessionParams& given, ResolvedSessionParams* params, Error* error) {
  const uint32_t max_tokens = model.config().position_count;
  *params = {given};
  if (params->context_tokens == 0) params->context_tokens = max_tokens;
  SOTTO_TRY(check_ranges(*params, error));
  SOTTO_TRY(check_range("context_tokens", params->context_tokens, std::min(kMinContextTokens, max_tokens), max_tokens,
                        error));
  params->batch_tokens = std::min(params->batch_tokens, params->context_tokens);
  SOTTO_TRY(resolve_sequences(model.config(), params, error));
  return resolve_overflow(params, error);
}

}  // namespace

Status Session::memory_size(const Model& model, const SessionParams& given, size_t* size, Error* error) {
  ResolvedSessionParams params;
  SOTTO_TRY(resolve(model, given, &params, error));
  return measure_object<Session>(size, error, model, params);
}

Status Session::init(const Model& model, const SessionParams& given, void* memory, size_t memory_size, Session** out,
                     Error* error) {
  ResolvedSessionParams params;
  SOTTO_TRY(resolve(model, given, &params, error));
  Session* session = nullptr;
  SOTTO_TRY(create_object(memory, memory_size, &session, error, model, params));
  SOTTO_TRY(session->start_threads(params, error));
  session->output_.init();
  session->stream_.init(session->pool_);
  session->decoder_.init();
  session->drafting_.init();
  *out = session;
  return Status::kOk;
}

void Session::layout(Arena& arena, const Model& model, const ResolvedSessionParams& params) {
  const ModelConfig& config = model.config();
  output_.layout(arena);
  stream_.layout(arena, model, params);
  decoder_.layout(arena, model, params);
  stops_.layout(arena,
                {config.vocabulary_size, params.context_tokens, model.tokenizer() != nullptr, params.list_bytes});
  beams_.layout(arena, params.sequence_count, params.sequence_tokens, &stream_.kv());
  searcher_.layout(arena, {params.sequence_count, params.sequence_tokens});
  drafting_.layout(arena, params.context_tokens, params.draft_tokens);
  memory_bytes_ = arena.size();
}

Status Session::start_threads(const ResolvedSessionParams& params, Error* error) {
  if (params.thread_count == 1) return Status::kOk;
  if (!threads_available()) {
    return fail(error, Status::kThreadsUnavailable, "thread_count: this library is built without threads");
  }
  HostExecutor host;
  if (const Executor* host_executor = params.executor) {
    const int32_t count = host_executor->num_threads(host_executor->executor_context);
    if (count < 0) {
      return fail(error, Status::kInvalidArgument, "executor->num_threads returned ", count, "; it must be at least 0");
    }
    if (count == 0) return Status::kOk;
    host = {static_cast<uint32_t>(count), host_executor->schedule, host_executor->executor_context};
  }
  pool_ = create_thread_pool(pool_memory_, params.thread_count, params.executor == nullptr ? nullptr : &host);
  if (pool_ != nullptr) return Status::kOk;
  return fail(error, Status::kThreadsUnavailable, "thread_count is ", params.thread_count,
              "; the operating system could not start the threads");
}

void Session::deinit() {
  // A callback must not destroy the session that called it.
  if (is_in_use() || generations_.is_in_use()) return;
  Partners::unlink(this);
  destroy_thread_pool(pool_);
  pool_ = nullptr;
}

bool Session::is_in_use() const {
  const Session* const involved[] = {this, guide_, drafter_, client_};
  return std::any_of(std::begin(involved), std::end(involved),
                     [](const Session* session) { return session != nullptr && session->uses_.is_in_use(); });
}

void Session::reset() {
  if (is_in_use()) return;
  stream_.clear();
  output_.clear();
  decoder_.set_call_limit(UINT64_MAX);
}

SessionInfo Session::info() const {
  const SessionParams& params = stream_.params();
  const ModelConfig& config = stream_.model().config();
  SessionInfo info = {};
  info.context_tokens = params.context_tokens;
  info.batch_tokens = params.batch_tokens;
  info.thread_count = params.thread_count;
  info.sink_tokens = params.sink_tokens;
  info.cached_tokens = stream_.kv().cached_tokens();
  info.token_count = token_count();
  info.reanchor_count = stream_.kv().reanchor_count();
  info.kv_bytes = KvRing::byte_size({config.layer_count, config.head_count, config.head_size, params.context_tokens,
                                     params.sink_tokens, params.sequence_count * params.sequence_tokens});
  info.memory_bytes = memory_bytes_;
  info.matcher_sequence_count = constraint_sequence_count(params.sequence_count);
  info.stop = output_.ending().reached();
  info.step_parent = searcher_.step_parent();
  return info;
}

SessionTimings Session::timings() const {
  SessionTimings timings = stream_.timings();
  timings.reanchor_tokens = stream_.kv().reanchor_timings().tokens;
  timings.reanchor_ns = stream_.kv().reanchor_timings().ns;
  return timings;
}

void Session::reset_timings() {
  if (is_in_use()) return;
  *stream_.mutable_timings() = {};
  stream_.kv().reset_timings();
  drafting_.reset_info();
}

Status Session::set_sampler(const SamplerParams& params, Error* error) {
  SOTTO_TRY(decoder_.set_sampler(params, error));
  // Buffered tokens are drawn again with the new parameters, unless they cannot be rolled back.
  output_.try_roll_back();
  if (token_count() > 0) stream_.last_state().sampler = decoder_.sampler().initial_state();
  output_.ending().resume();
  return Status::kOk;
}

Status Session::set_stops(const StopParams& params, Error* error) {
  SOTTO_TRY(stops_.set(params, error));
  output_.try_roll_back();
  output_.rebuild();
  output_.ending().resume();
  return Status::kOk;
}

Status Session::set_constraint(const TokenConstraint& constraint, Error* error) {
  // A constraint can always be removed, because buffered tokens that cannot be rolled back have satisfied it.
  const Status status = output_.roll_back();
  if (status != Status::kOk && constraint.is_set()) return fail(error, status, "buffered tokens cannot be rolled back");
  stream_.set_constraint(constraint);
  output_.ending().resume();
  return Status::kOk;
}

Status Session::set_guide(Session* new_guide, const GuideParams& params, Error* error) {
  SOTTO_TRY(Partners::link_guide(this, new_guide, params, error));
  output_.ending().resume();
  return Status::kOk;
}

Status Session::set_speculation(const SpeculationParams& params, Error* error) {
  Session* new_drafter = (params.sources & kDraftSession) != 0 ? params.draft_session : nullptr;
  return Partners::link_drafter(this, new_drafter, params, error);
}

// Begins an answer after `tokens`. `evaluate` must append them to the stream.
template <typename Evaluate>
Status Session::evaluate_prompt(std::span<const int32_t> tokens, Evaluate evaluate, Error* error) {
  SOTTO_TRY(check_tokens("tokens", tokens, stream_.model().config().vocabulary_size, error));
  const UseCount::Scope use(&uses_);
  if (!tokens.empty()) {
    SOTTO_TRY(require_space(output_.emitted_count(), tokens.size(), error));
    output_.try_roll_back();
    // Buffered tokens that could not be rolled back occupy slots as well, until clear() below drops them.
    SOTTO_TRY(require_space(token_count(), tokens.size(), error));
    SOTTO_TRY(output_.ending().reach(stream_.evaluate(&cancellation_)));
    // The old text ends here, even if the evaluation is cancelled before its first token.
    output_.clear();
  }
  const uint64_t first = output_.emitted_count();
  Status status;
  {
    Stopwatch stopwatch(&stream_.mutable_timings()->prefill_ns);
    status = evaluate(first);
  }
  stream_.begin_answer(first, output_.emitted_count(), decoder_.sampler().initial_state());
  decoder_.set_call_limit(UINT64_MAX);
  return output_.ending().reach(cancellation_.consume(status));
}

Status Session::prefill(std::span<const int32_t> tokens, Error* error) {
  return evaluate_prompt(
      tokens, [&](uint64_t) { return stream_.kv().append(tokens, cancellation_); }, error);
}

Status Session::prefill_embeddings(const float* embeddings, size_t count, Error* error) {
  if (count == 0) return fail(error, Status::kInvalidArgument, "embeddings is empty");
  if (stream_.params().overflow != Overflow::kStop) {
    return fail(error, Status::kInvalidState,
                "embeddings require the overflow mode stop, because other modes evaluate old tokens again");
  }
  if (token_count() > 0) {
    return fail(error, Status::kInvalidState, "embeddings must come before all tokens: reset the session first");
  }
  SOTTO_TRY(require_space(0, count, error));
  const size_t width = stream_.model().config().embedding_size;
  for (size_t i = 0; i < count * width; ++i) {
    if (std::isfinite(embeddings[i])) continue;
    return fail(error, Status::kInvalidArgument, "embeddings[", i, "] is not a finite number");
  }
  output_.clear();
  return evaluate_prompt(
      {}, [&](uint64_t) { return stream_.kv().append_embeddings(embeddings, count, cancellation_); }, error);
}

Status Session::score(std::span<const int32_t> tokens, float* log_probabilities, ScoreResult* score, Error* error) {
  *score = {};
  score->perplexity = std::numeric_limits<double>::quiet_NaN();
  return evaluate_prompt(
      tokens,
      [&](uint64_t first) {
        return score_tokens(tokens, /*has_context=*/first > 0, &stream_, &cancellation_, log_probabilities, score);
      },
      error);
}

Status Session::embed(std::span<const int32_t> tokens, Pooling pooling, float* embedding, Error* error) {
  if (tokens.empty()) return fail(error, Status::kInvalidArgument, "tokens is empty");
  SOTTO_TRY(check_range("pooling", static_cast<int32_t>(pooling), static_cast<int32_t>(Pooling::kLast),
                        static_cast<int32_t>(Pooling::kMean), error));
  return evaluate_prompt(
      tokens, [&](uint64_t) { return embed_tokens(tokens, pooling, &stream_, &cancellation_, embedding); }, error);
}

void Session::drop_unemitted() {
  output_.try_roll_back();
  output_.ending().resume();
}

void Session::set_limit(uint64_t max_tokens) {
  drop_unemitted();  // the limit did not apply when the buffered tokens were drawn
  const uint64_t generated = output_.emitted_count() - stream_.answer_start();
  change_limit(generated + std::min(max_tokens, UINT64_MAX - generated));
}

// Replaces the limit of the answer. A stop that only the old limit caused no longer follows the buffered tokens.
void Session::change_limit(uint64_t limit) {
  decoder_.set_call_limit(limit);
  output_.ending().withdraw(Status::kStopMaxTokens);
}

Status Session::generate(std::span<const int32_t> prompt, uint64_t max_tokens, PieceFunction on_piece, void* user_data,
                         Error* error) {
  if (!prompt.empty()) SOTTO_TRY(prefill(prompt, error));
  set_limit(max_tokens);
  const uint64_t limit = decoder_.call_limit();
  const UseCount::Scope use(&generations_);
  Status status = Status::kOk;
  while (status == Status::kOk) {
    decoder_.set_call_limit(limit);  // on_piece may have changed the limit and the stop
    output_.ending().resume();
    status = next(error);
    if (is_failure(status) || on_piece == nullptr) continue;
    if (status != Status::kOk && piece_.text_size == 0) continue;
    if (on_piece(user_data, &piece_) != 0 && status == Status::kOk) status = Status::kStopCallback;
  }
  change_limit(UINT64_MAX);
  return is_failure(status) ? status : output_.ending().reach(status);
}

Status Session::require_space(uint64_t used, size_t count, Error* error) const {
  constexpr const char* kAdvice = "; shorten the prompt, or set overflow to ring or shift";
  const uint32_t context = stream_.params().context_tokens;
  if (stream_.params().overflow != Overflow::kStop || used + count <= context) return Status::kOk;
  if (used == 0) {
    return fail(error, Status::kPromptTooLong, count, " tokens do not fit a context of ", context, kAdvice);
  }
  return fail(error, Status::kPromptTooLong, count, " tokens after ", used, " others do not fit a context of ", context,
              kAdvice);
}

Status Session::require_tokens(Error* error) const {
  if (token_count() > 0) return Status::kOk;
  return fail(error, Status::kInvalidState, "the stream is empty: prefill a prompt first");
}

Status Session::heal(Error* error) {
  const Status status = output_.heal();
  if (status != Status::kInvalidState) return status;
  return fail(error, status, "token healing must follow a prefill");
}

Status Session::rewind(uint64_t count, Error* error) {
  if (count > token_count()) {
    return fail(error, Status::kInvalidArgument, "token_count is ", count,
                "; it must be at most the number of tokens in the stream, ", token_count());
  }
  const Status status = output_.rewind(count);
  if (status == Status::kOk) output_.ending().resume();
  if (status != Status::kInvalidState) return status;
  return fail(error, status, "cannot rewind to token ", count,
              ": the KV ring, the constraint or the guide no longer holds that state");
}

Status Session::next(Error* error) {
  piece_ = kEmptyPiece;
  SOTTO_TRY(require_tokens(error));
  if (const Status status = stream_.guide_status(); status != Status::kOk) {
    return fail(error, status, "the guide could not be rolled back with the session: reset it and set it again");
  }
  const bool is_cancelled = cancellation_.take();
  if (output_.ending().has_ended()) return is_cancelled ? Status::kStopCancelled : output_.ending().reached();
  if (is_cancelled) return output_.flush(Status::kStopCancelled, &piece_);
  output_.ending().resume();
  const UseCount::Scope use(&uses_);
  // With banned strings, several tokens may have to be decoded before the oldest one can be emitted.
  while (!output_.is_ready()) {
    const Status status = decode_token();
    if (status == Status::kInvalidState && guide_ != nullptr && guide_->token_count() == 0) {
      return fail(error, status, "the guide's stream is empty: prefill a prompt into it first");
    }
    if (status == Status::kStopGrammar && stream_.generated_count() == 0 && stream_.is_constrained()) {
      return fail(
          error, Status::kInvalidState,
          "the text of the grammar is complete: before another text, set the grammar again or reset the session");
    }
    if (is_failure(status)) return status;
    if (status == Status::kStopCancelled) return output_.flush(status, &piece_);
    if (status != Status::kOk) output_.end_text(status);
  }
  return output_.emit(&piece_);
}

// Returns whether next() would need the logits after the pending token.
bool Session::needs_logits() const {
  return !cancellation_.is_requested() && !output_.ending().has_ended() && stream_.guide_status() == Status::kOk &&
         !output_.is_ready() && decoder_.needs_logits();
}

// Decodes one token and appends it to the stream and the output, or returns the stop that prevents it.
Status Session::decode_token() {
  const uint64_t batch_begin_ns = std::exchange(step_begin_ns_, 0);
  const uint64_t begin_ns = batch_begin_ns == 0 ? monotonic_ns() : batch_begin_ns;
  SOTTO_TRY(decoder_.check_limits());
  if constexpr (kHasSpeculation) SOTTO_TRY(drafting_.evaluate_ahead());
  SampledToken sampled;
  TokenState state;
  SOTTO_TRY(decoder_.decode(&sampled, &state.sampler));
  SOTTO_TRY(stream_.push(sampled.token, output_.healed_bytes(sampled.token), state));
  decoder_.describe(sampled, &output_.buffer(sampled.token));
  output_.add_text(begin_ns);
  return Status::kOk;
}

Status Session::logits(std::span<const float>* logits, Error* error) {
  SOTTO_TRY(require_tokens(error));
  const UseCount::Scope use(&uses_);
  SOTTO_TRY(stream_.evaluate_logits(&cancellation_));
  *logits = stream_.kv().logits();
  return Status::kOk;
}

Status Session::hidden(std::span<const float>* hidden, Error* error) {
  SOTTO_TRY(require_tokens(error));
  const UseCount::Scope use(&uses_);
  SOTTO_TRY(stream_.evaluate(&cancellation_));
  KvSequence& kv = stream_.kv();
  SOTTO_TRY(cancellation_.consume(kv.ensure_last_row(cancellation_)));
  *hidden = kv.forward().final_states(kv.batch_row_count() - 1, 1);
  return Status::kOk;
}

Status Session::search(const SearchParams& given, std::span<const SearchSequence>* sequences, Error* error) {
  const Model& model = stream_.model();
  if (guide_ != nullptr) {
    return fail(error, Status::kInvalidState, "a search cannot use a guide: remove the session's guide first");
  }
  if (output_.healing_left() > 0) {
    return fail(error, Status::kInvalidState, "token healing of the prompt is not finished");
  }
  if (!stops_.banned_strings().empty()) {
    return fail(error, Status::kInvalidArgument, "banned_strings is not supported in a search");
  }
  SearchInput input;
  input.model = SequenceModel(&beams_, (stream_.params().features & kFeatureHiddenHistory) != 0);
  input.kernels = &model.kernels();
  input.sampler = &decoder_.sampler();
  input.constraint = stream_.constraint();
  input.cancellation = &cancellation_;
  input.end_tokens = model.view().end_of_text_tokens();
  input.stops = &stops_;
  input.tokenizer = model.tokenizer();
  input.token_count = token_count();
  SearchParams params;
  SOTTO_TRY(searcher_.resolve(input, model.config().vocabulary_size, given, &params, error));
  SOTTO_TRY(output_.roll_back(error));
  const UseCount::Scope use(&uses_);
  SOTTO_TRY(stream_.evaluate_logits(&cancellation_));
  const SampleInput next = decoder_.sample_input();
  input.sampler_state = stream_.last_state().sampler;
  input.history = next.history;
  input.token_count = token_count();
  input.generated_count = next.generated_count;
  input.text = {output_.mark().stop, output_.mark().characters};
  return cancellation_.consume(searcher_.run(input, params, sequences, error));
}

}  // namespace sotto
