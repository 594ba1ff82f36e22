// Part of sotto.hpp: sessions generate, score and search text.
#ifndef SOTTO_SESSION_HPP
#define SOTTO_SESSION_HPP

#include <cmath>
#include <optional>
#include <vector>

#include "grammar.hpp"
#include "model.hpp"
#include "params.hpp"

namespace sotto {
inline namespace SOTTO_HPP_ERRORS_ {

using SessionInfo = sotto_session_info;
using SessionTimings = sotto_session_timings;
using SpeculationInfo = sotto_speculation_info;

// A generated token and its text, valid until the next call with the session.
class Piece {
 public:
  explicit Piece(const sotto_piece* piece = nullptr) : piece_(piece) {}

  // Returns whole UTF-8 characters; there may be none.
  std::string_view text() const { return {piece_->text, piece_->text_size}; }
  Token token() const { return piece_->token; }  // -1 if the piece contains only text that was withheld before
  std::string_view bytes() const { return {piece_->bytes, piece_->byte_count}; }
  float log_probability() const { return piece_->log_probability; }
  float sampled_log_probability() const { return piece_->sampled_log_probability; }
  View<const sotto_alternative> alternatives() const { return {piece_->alternatives, piece_->alternative_count}; }
  uint64_t elapsed_ns() const { return piece_->elapsed_ns; }
  // With SamplerParams::statistics: the entropy of the model's distribution in nats, exp(entropy), the number of tokens
  // that could be drawn, and the repetitiveness of the newest tokens.
  float entropy() const { return piece_->entropy; }
  float effective_vocabulary() const { return piece_->effective_vocabulary; }
  uint32_t kept_count() const { return piece_->kept_count; }
  float repetitiveness() const { return piece_->repetitiveness; }

 private:
  const sotto_piece* piece_;
};

namespace detail {

// A session with its memory and the objects that it uses. Cancellers share it, so it outlives them.
struct SessionState {
  std::shared_ptr<const ModelState> model;
  std::shared_ptr<const void> matcher;
  std::shared_ptr<const SessionState> guide, draft_session;
  std::unique_ptr<LogitsCalls> logits;
  std::unique_ptr<DraftFunction> draft;
  Memory memory;
  Guard guard;
  sotto_session* handle = nullptr;

  SessionState() = default;
  SessionState(const SessionState&) = delete;
  SessionState& operator=(const SessionState&) = delete;
  ~SessionState() { sotto_session_deinit(handle); }
};

// A function that receives pieces, as a callback of the C interface.
template <class Function>
struct PieceCall {
  Function* function;
  Guard* guard;

  static int32_t run(void* call, const sotto_piece* piece) {
    auto* self = static_cast<PieceCall*>(call);
    bool wants_more = true;
    const bool is_whole = self->guard->run([&] {
      if constexpr (std::is_void_v<decltype((*self->function)(Piece(piece)))>) {
        (*self->function)(Piece(piece));
      } else {
        wants_more = static_cast<bool>((*self->function)(Piece(piece)));
      }
    });
    return wants_more && is_whole ? 0 : 1;
  }
};

}  // namespace detail

// Cancels the running call of a session or its next one. A canceller may be used from any thread, even after the
// session is destroyed.
class Canceller {
 public:
  explicit Canceller(std::shared_ptr<const detail::SessionState> state) : state_(std::move(state)) {}
  void operator()() const { sotto_session_cancel(state_->handle); }

 private:
  std::shared_ptr<const detail::SessionState> state_;
};

class Chat;
class Stream;

// A stream of text that a model continues. One thread at a time may use it.
class Session {
 public:
  static Result<Session> create(const Model& model, const SessionParams& params = {}) {
    auto state = std::make_shared<detail::SessionState>();
    state->model = model.state();
    detail::Report report;
    size_t size = 0;
    SOTTO_HPP_TRY_(sotto_session_memory_size(model.c_model(), &params, &size, report.out()));
    SOTTO_HPP_TRY_(detail::allocate(size, state->memory));
    SOTTO_HPP_TRY_(
        sotto_session_init(model.c_model(), &params, state->memory.data(), size, &state->handle, report.out()));
    return Session(std::move(state));
  }

  // Returns the number of bytes that create() would allocate.
  static Result<size_t> required_memory(const Model& model, const SessionParams& params = {}) {
    detail::Report report;
    size_t size = 0;
    SOTTO_HPP_TRY_(sotto_session_memory_size(model.c_model(), &params, &size, report.out()));
    return size;
  }

  Session(Session&&) = default;
  Session& operator=(Session&&) = default;

  // Methods of sotto_session, written by capi/generate from capi/params.

  // Appends a prompt to the stream and evaluates it. Returns Status::ok or Status::cancelled.
  [[nodiscard]] Result<Status> prefill(Tokens prompt) {
    const sotto_status status = sotto_session_prefill(state_->handle, prompt.data(), prompt.size());
    SOTTO_HPP_TRY_SESSION_(status);
    return Status{status};
  }

  // Limits the number of tokens that are generated one by one, from now on until the next prompt. There is no limit if
  // `max_tokens` is std::nullopt.
  void set_limit(std::optional<size_t> max_tokens) {
    sotto_session_set_limit(state_->handle, max_tokens.value_or(SIZE_MAX));
  }

  // Evaluates a prompt and generates text until a stop. An empty prompt continues the text. Calls `on_piece` with each
  // Piece; if it returns a bool, false ends the text. Returns the reason why the text ended. There is no limit if
  // `max_tokens` is std::nullopt.
  template <class Function>
  Result<Status> generate(Tokens prompt, std::optional<size_t> max_tokens, Function&& on_piece) {
    detail::PieceCall<std::remove_reference_t<Function>> call{&on_piece, &state_->guard};
    const sotto_status status = sotto_session_generate(state_->handle, prompt.data(), prompt.size(),
                                                       max_tokens.value_or(SIZE_MAX), call.run, &call);
    state_->guard.rethrow();
    SOTTO_HPP_TRY_SESSION_(status);
    return Status{status};
  }

  // Evaluates tokens and returns their pooled hidden states.
  Result<std::vector<float>> embed(Tokens prompt, sotto_pooling pooling = SOTTO_POOL_MEAN) {
    std::vector<float> embedding(Model(state_->model).info().embedding_size);
    SOTTO_HPP_TRY_WHOLE_(sotto_session_embed(state_->handle, prompt.data(), prompt.size(), pooling, embedding.data()));
    return embedding;
  }

  // Replaces the stops: the conditions that end a text.
  Result<void> set_stops(const StopParams& params) {
    sotto_stop_params c_params = params;
    detail::Arrays arrays;
    params.lists_to_c(c_params, arrays);
    detail::Report report;
    SOTTO_HPP_TRY_(sotto_session_set_stops(state_->handle, &c_params, report.out()));
    SOTTO_HPP_DONE_;
  }

  // Applies token healing, for a prompt that ends inside a word. Call it after a prefill.
  Result<void> heal() {
    SOTTO_HPP_TRY_SESSION_(sotto_session_heal(state_->handle));
    SOTTO_HPP_DONE_;
  }

  // Rolls the stream back to its first tokens.
  Result<void> rewind(uint64_t token_count) {
    SOTTO_HPP_TRY_SESSION_(sotto_session_rewind(state_->handle, token_count));
    SOTTO_HPP_DONE_;
  }

  // Removes all tokens and restarts the sampler. The parameters stay in effect.
  void reset() { sotto_session_reset(state_->handle); }

  // Returns the dimensions and the state of the session.
  SessionInfo info() const {
    SessionInfo info{};
    info.struct_size = sizeof info;
    sotto_session_get_info(state_->handle, &info);
    return info;
  }

  // Returns the counts of tokens and the times since the session was created or its timings were reset.
  SessionTimings timings() const {
    SessionTimings info{};
    info.struct_size = sizeof info;
    sotto_session_get_timings(state_->handle, &info);
    return info;
  }

  // Sets all counts and times to zero.
  void reset_timings() { sotto_session_reset_timings(state_->handle); }

  // Returns the logits after the last token, before the sampler. The view is valid until the next call of the session.
  Result<View<const float>> logits() {
    const float* data = nullptr;
    size_t count = 0;
    SOTTO_HPP_TRY_WHOLE_(sotto_session_logits(state_->handle, &data, &count));
    return View<const float>(data, count);
  }

  // Returns the hidden state of the last token. The view is valid until the next call of the session.
  Result<View<const float>> hidden() {
    const float* data = nullptr;
    size_t count = 0;
    SOTTO_HPP_TRY_WHOLE_(sotto_session_hidden(state_->handle, &data, &count));
    return View<const float>(data, count);
  }

  // Returns the stream as bytes, the same on every platform.
  Result<std::vector<uint8_t>> save() const {
    size_t size = 0;
    (void)sotto_session_save(state_->handle, nullptr, 0, &size);
    std::vector<uint8_t> bytes(size);
    SOTTO_HPP_TRY_SESSION_(sotto_session_save(state_->handle, bytes.data(), bytes.size(), &size));
    return bytes;
  }

  // Restores a saved stream. The state is validated, so it may come from an untrusted source.
  Result<void> restore(Bytes state) {
    detail::Report report;
    SOTTO_HPP_TRY_(sotto_session_restore(state_->handle, state.data(), state.size(), report.out()));
    SOTTO_HPP_DONE_;
  }

  // Returns the statistics of speculative decoding. A reset of the timings sets them to zero.
  SpeculationInfo speculation_info() const {
    SpeculationInfo info{};
    info.struct_size = sizeof info;
    sotto_session_get_speculation_info(state_->handle, &info);
    return info;
  }

  // End of the generated methods.

  Result<void> set_sampler(const SamplerParams& params) {
    detail::CSamplerParams c_params(params, &state_->guard);
    detail::Report report;
    SOTTO_HPP_TRY_(sotto_session_set_sampler(c_session(), c_params.get(), report.out()));
    state_->logits = c_params.take_calls();
    SOTTO_HPP_DONE_;
  }

  // Constrains the generated text by a grammar, through a new matcher that the session owns. clear_matcher() removes
  // it. Before another text, set the grammar again or call reset(). With `finish_within`, the text is complete after at
  // most this number of tokens.
  Result<void> set_grammar(const Grammar& grammar, uint32_t finish_within = 0) {
    MatcherParams params;
    params.sequence_count = info().matcher_sequence_count;
    params.finish_within = finish_within;
    SOTTO_HPP_VALUE_(vocabulary, Vocabulary::create(Model(state_->model)));
    SOTTO_HPP_VALUE_(matcher, Matcher::create(grammar, vocabulary, params));
    return set_matcher(matcher);
  }
  // Constrains the generated text to continue sequence 0 of a matcher. The caller must not use the matcher in the
  // meantime.
  Result<void> set_matcher(Matcher& matcher) { return use_matcher(matcher.c_matcher(), matcher.state()); }
  Result<void> clear_matcher() { return use_matcher(nullptr, nullptr); }

  // Sets a prefilled session as the guide of this one. This session needs SOTTO_FEATURE_GUIDE. The caller must not use
  // the guide in the meantime.
  Result<void> set_guide(Session& guide, const GuideParams& params = {}) {
    return use_guide(guide.c_session(), guide.state_, params);
  }
  Result<void> clear_guide() { return use_guide(nullptr, nullptr, GuideParams()); }

  Result<void> set_speculation(const SpeculationParams& params) {
    sotto_speculation_params c_params = params;
    auto draft = std::make_unique<DraftFunction>(params.draft);
    if (*draft) {
      c_params.draft = &call_draft;
      c_params.user_data = draft.get();
    }
    std::shared_ptr<const detail::SessionState> session;
    if (params.draft_session) session = params.draft_session->state_;
    c_params.draft_session = session ? session->handle : nullptr;
    detail::Report report;
    SOTTO_HPP_TRY_(sotto_session_set_speculation(c_session(), &c_params, report.out()));
    state_->draft = std::move(draft);
    state_->draft_session = std::move(session);
    SOTTO_HPP_DONE_;
  }
  Result<void> clear_speculation() {
    detail::Report report;
    SOTTO_HPP_TRY_(sotto_session_set_speculation(c_session(), nullptr, report.out()));
    state_->draft.reset();
    state_->draft_session.reset();
    SOTTO_HPP_DONE_;
  }

  [[nodiscard]] Result<Status> prefill(std::string_view text, bool special = false) {
    SOTTO_HPP_VALUE_(tokens, Model(state_->model).tokenize(text, special));
    return prefill(Tokens(tokens));
  }

  // Begins an empty stream with rows of embedding_size floats instead of tokens.
  [[nodiscard]] Result<Status> prefill_embeddings(View<const float> embeddings) {
    const size_t size = Model(state_->model).info().embedding_size;
    if (embeddings.size() % size != 0) {
      SOTTO_HPP_FAIL_(Error(SOTTO_INVALID_ARGUMENT, "embeddings must have embedding_size floats per row"));
    }
    const sotto_status status =
        sotto_session_prefill_embeddings(c_session(), embeddings.data(), embeddings.size() / size);
    SOTTO_HPP_TRY_SESSION_(status);
    return Status{status};
  }

  // Generates one token, sets `piece` and returns Status::ok. At a stop, returns the reason and sets `piece` to the
  // text that was withheld.
  Result<Status> next(Piece& piece) {
    const sotto_piece* c_piece = nullptr;
    const sotto_status status = sotto_session_next(c_session(), &c_piece);
    state_->guard.rethrow();
    SOTTO_HPP_TRY_SESSION_(status);
    piece = Piece(c_piece);
    return Status{status};
  }

  // The result of next_of() for one session: what next() would return there. After a failure, `error` is set, and there
  // is no piece.
  struct Step {
    std::optional<Error> error;
    Status status = Status::ok;
    Piece piece;
  };
  // Generates one token in each of several sessions of the same model, in one batch. This is faster than next() in one
  // session after the other, and gives the same results. An exception of a callback is thrown afterwards.
  static Result<std::vector<Step>> next_of(const std::vector<Session*>& sessions) {
    std::vector<sotto_session*> handles;
    for (const Session* session : sessions) handles.push_back(session->c_session());
    std::vector<const sotto_piece*> pieces(sessions.size());
    std::vector<sotto_status> statuses(sessions.size());
    detail::Report report;
    SOTTO_HPP_TRY_(sotto_sessions_next(handles.data(), handles.size(), pieces.data(), statuses.data(), report.out()));
    for (const Session* session : sessions) session->state_->guard.rethrow();
    std::vector<Step> steps(sessions.size());
    for (size_t i = 0; i < steps.size(); ++i) {
      if (statuses[i] < 0) {
        steps[i].error = sessions[i]->failure(statuses[i]);
      } else {
        steps[i].status = Status{statuses[i]};
        steps[i].piece = Piece(pieces[i]);
      }
    }
    return steps;
  }

  // Evaluates a prompt and returns a range of the pieces after it, at most `max_tokens` tokens. An empty prompt
  // continues the text.
  Stream stream(std::string_view prompt, std::optional<size_t> max_tokens = std::nullopt);
  Stream stream(Tokens prompt, std::optional<size_t> max_tokens = std::nullopt);

  // The same without a prompt.
  template <class Function>
  Result<Status> generate(std::optional<size_t> max_tokens, Function&& on_piece) {
    return generate(Tokens(), max_tokens, std::forward<Function>(on_piece));
  }

  // Returns continuations of the stream, best first. If `ended` is given, it is set to Status::ok, cancelled or
  // callback.
  Result<std::vector<Sequence>> search(const SearchParams& params = {}, Status* ended = nullptr) {
    sotto_search_params c_params = params;
    if (!params.phrase_groups.empty() && params.phrase_groups.size() != params.phrases.size()) {
      SOTTO_HPP_FAIL_(Error(SOTTO_INVALID_ARGUMENT, "phrase_groups must have as many elements as phrases"));
    }
    detail::Arrays arrays;
    params.lists_to_c(c_params, arrays);
    SearchCall call{&params, &state_->guard};
    c_params.similarity = params.similarity ? &SearchCall::similarity : nullptr;
    c_params.on_step = params.on_step ? &SearchCall::step : nullptr;
    c_params.similarity_user_data = c_params.step_user_data = &call;
    detail::Report report;
    const sotto_sequence* found = nullptr;
    size_t count = 0;
    const sotto_status status = sotto_session_search(c_session(), &c_params, &found, &count, report.out());
    state_->guard.rethrow();
    SOTTO_HPP_TRY_(status);
    if (count == 0) SOTTO_HPP_TRY_WHOLE_(status);
    std::vector<Sequence> sequences;
    for (size_t i = 0; i < count; ++i) {
      sequences.push_back({{found[i].tokens, found[i].tokens + found[i].token_count},
                           found[i].score,
                           found[i].log_probability,
                           Status{found[i].stop},
                           found[i].index});
    }
    if (ended) *ended = Status{status};
    return sequences;
  }

  // Evaluates tokens and returns their total score. If `log_probabilities` is given, it receives ln p of each token, or
  // NaN for a token that was not scored.
  Result<sotto_score> score(Tokens tokens, std::vector<float>* log_probabilities = nullptr) {
    sotto_score score{};
    score.struct_size = sizeof score;
    if (log_probabilities) log_probabilities->assign(tokens.size(), NAN);
    SOTTO_HPP_TRY_WHOLE_(sotto_session_score(c_session(), tokens.data(), tokens.size(),
                                             log_probabilities ? log_probabilities->data() : nullptr, &score));
    return score;
  }

  // Makes `to` a copy of this stream. `to` keeps its sampler, stops and matcher.
  Result<void> fork_into(Session& to) const {
    detail::Report report;
    SOTTO_HPP_TRY_(sotto_session_fork(c_session(), to.c_session(), report.out()));
    SOTTO_HPP_DONE_;
  }

  Canceller canceller() const { return Canceller(state_); }

  sotto_session* c_session() const { return state_->handle; }

 private:
  // Returns the details of the last call's failure.
  Error failure(sotto_status status) const {
    detail::Report report;
    (void)sotto_session_get_error(c_session(), report.out());
    return report.error(status);
  }

  friend class Chat;
  friend class Stream;

  struct SearchCall {
    const SearchParams* params;
    detail::Guard* guard;

    static double similarity(void* user_data, const Token* a, size_t a_count, const Token* b, size_t b_count) {
      auto* self = static_cast<SearchCall*>(user_data);
      double value = 0;
      self->guard->run([&] { value = self->params->similarity(Tokens(a, a_count), Tokens(b, b_count)); });
      return value;
    }
    static int32_t step(void* user_data, uint32_t sequence, Token token) {
      auto* self = static_cast<SearchCall*>(user_data);
      bool wants_more = true;
      const bool is_whole = self->guard->run([&] { wants_more = self->params->on_step(sequence, token); });
      return wants_more && is_whole ? 0 : 1;
    }
  };

  // Calls a draft callback. It must not throw.
  static size_t call_draft(void* function, const Token* tokens, size_t token_count, const float* hidden,
                           size_t hidden_count, Token* drafts, size_t capacity) noexcept {
    return (*static_cast<const DraftFunction*>(function))(Tokens(tokens, token_count),
                                                          View<const float>(hidden, hidden ? hidden_count : 0),
                                                          View<Token>(drafts, capacity));
  }

  explicit Session(std::shared_ptr<detail::SessionState> state) : state_(std::move(state)) {}

  Result<void> use_matcher(sotto_matcher* matcher, std::shared_ptr<const void> state) {
    detail::Report report;
    SOTTO_HPP_TRY_(sotto_session_set_matcher(c_session(), matcher, report.out()));
    state_->matcher = std::move(state);
    SOTTO_HPP_DONE_;
  }

  Result<void> use_guide(sotto_session* guide, std::shared_ptr<const detail::SessionState> state,
                         const GuideParams& params) {
    detail::Report report;
    SOTTO_HPP_TRY_(sotto_session_set_guide(c_session(), guide, &params, report.out()));
    state_->guide = std::move(state);
    SOTTO_HPP_DONE_;
  }

  std::shared_ptr<detail::SessionState> state_;
};

}  // namespace SOTTO_HPP_ERRORS_
}  // namespace sotto

#endif  // SOTTO_SESSION_HPP
