// A session: one stream of tokens over a model, with its context, sampler, text, stops,
// constraint and guide, in memory of the caller.
//
// The stream is what has been prefilled and generated. A generated token is evaluated only
// when the next one is wanted: until then it is pending. Tokens that may still belong to a
// banned string are part of the stream, but held until that is settled.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/byte_stream.h"
#include "runtime/base/constraint.h"
#include "runtime/base/status.h"
#include "runtime/model/model.h"
#include "runtime/sampling/sampler.h"
#include "runtime/search/search.h"
#include "runtime/session/guide.h"
#include "runtime/session/healing.h"
#include "runtime/session/held_tokens.h"
#include "runtime/session/session_params.h"
#include "runtime/session/speculation.h"
#include "runtime/session/stops.h"
#include "runtime/session/text_stream.h"
#include "runtime/session/token_states.h"
#include "runtime/transformer/beams.h"
#include "runtime/transformer/kv_sequence.h"

namespace sotto {

class Session {
 public:
  static Status memory_size(const Model& model, const SessionParams& params, size_t* size, Error* error);
  static Status init(const Model& model, const SessionParams& params, void* memory, size_t memory_size,
                     Session** session, Error* error);
  void deinit();

  // A new sampler's state begins anew at the present token.
  Status set_sampler(const SamplerParams& params, Error* error);
  // New stop strings and banned strings may begin in text that is out already.
  Status set_stops(const StopParams& params, Error* error);
  // Limits the text generated from here on; null: nothing does. What `self` points to must
  // outlive its use. kInvalidState: tokens are held that ring or constraint cannot take back;
  // where the constraint goes, they stay and come out later.
  Status set_constraint(const TokenConstraint* constraint);
  // As sotto_session_set_guide; null: none.
  Status set_guide(Session* guide, const GuideParams& params, Error* error);

  // As sotto_session_set_speculation; no sources: only what a constraint forces.
  Status set_speculation(const SpeculationParams& params, Error* error);
  const SpeculationInfo& speculation_info() const { return speculation_.info; }

  void reset();
  // Begins an answer. Tokens held are taken back; where the ring cannot, they stay in the
  // stream unseen. No tokens: the text goes on, only the counts begin anew.
  Status prefill(std::span<const int32_t> tokens);
  Status heal();
  // kOk and a token, or a stop; piece() is set in both cases.
  Status next();
  const Piece& piece() const { return piece_; }
  // prefill(), then next() until a stop, for at most max_tokens tokens.
  Status generate(std::span<const int32_t> prompt, uint64_t max_tokens, PieceFunction on_piece, void* user_data);
  Status rewind(uint64_t token_count);
  void cancel() { cancelled_.store(1, std::memory_order_relaxed); }

  Status logits(std::span<const float>* logits);
  Status hidden(std::span<const float>* hidden);
  // As prefill(); `log_probabilities` may be null.
  Status score(std::span<const int32_t> tokens, float* log_probabilities, ScoreResult* score);
  Status embed(std::span<const int32_t> tokens, Pooling pooling, float* embedding);

  // Continues the stream in many ways at once and leaves it as it is. `*sequences` hold until
  // the next call.
  Status search(const SearchParams& params, std::span<const SearchSequence>* sequences, Error* error);

  // saved_state.h says what is in it.
  size_t saved_size() const;
  void save(uint8_t* bytes) const;
  Status restore(std::span<const uint8_t> bytes, Error* error);
  static Status fork(const Session& from, Session* to, Error* error);

  const Model& model() const { return *model_; }
  const SessionParams& params() const { return params_; }  // defaults resolved
  const KvSequence& context() const { return context_; }
  uint64_t token_count() const { return context_.token_count() + (has_pending_ ? 1 : 0); }
  uint64_t kv_bytes() const;
  uint64_t memory_bytes() const { return memory_bytes_; }
  SessionTimings timings() const;
  void reset_timings();

 private:
  const TokenConstraint* constraint() const { return constraint_.mask == nullptr ? nullptr : &constraint_; }
  bool take_cancellation() { return cancelled_.exchange(0, std::memory_order_relaxed) != 0; }
  // For searches: session_search.cpp.
  static bool is_search_stop(const void* session, int32_t token);
  static bool completes_stop_string(const void* session, int32_t token, SequenceText* text);
  SearchStops search_stops() const;
  // Takes held tokens back and makes the logits after the last token available.
  Status settle(Error* error);
  // Of the stream's next token.
  SampleInput sample_input() const;

  struct Layout;
  struct SavedStream;
  static Status resolve(const Model& model, const SessionParams& given, SessionParams* params, Error* error);
  static size_t lay_out(const Model& model, const SessionParams& params, Arena arena, Layout* layout);
  std::span<const char> bytes_of(int32_t token) const;
  void lose_guide();

  // The stream: session_stream.cpp.
  Status check_tokens(std::span<const int32_t> tokens) const;
  Status begin_answer(size_t token_count);
  Status end_answer(Status status, uint64_t first);
  Status evaluate_pending(std::atomic<uint32_t>* cancelled, std::span<const int32_t> drafts = {},
                          bool want_logits = true);
  Status ensure_logits(std::atomic<uint32_t>* cancelled);
  int32_t token_at(uint64_t index) const;
  TokenHistory history(uint64_t count) const;
  void push(int32_t token, const TokenState& state);
  bool can_cut(uint64_t count) const;
  bool can_take_back(uint64_t count) const;
  void cut(uint64_t count);
  Status take_back_to(uint64_t count);
  Status take_back_held(Error* error = nullptr);
  void forget_stream();
  void begin_text();
  uint64_t find_answer_start(uint64_t count) const;
  uint64_t find_text_start(uint64_t count) const;
  void rebuild_text(uint64_t count);
  void rebuild_healing(uint64_t count);
  uint64_t handed_out() const { return token_count() - held_.size(); }

  // The next token: session_next.cpp.
  Status draw_until_settled();
  bool oldest_is_settled() const;
  Status draw();
  bool sees_only_allowed() const;
  Status find_logits(const TokenMask& mask, std::span<const float>* logits);
  Status check_limits() const;
  Status find_mask(TokenMask* mask);
  Status find_healing_mask();
  Status constrain(int32_t token, TokenState* state);
  Status mix_logits(std::span<const float>* logits);
  Status check_end(int32_t token) const;
  Status take_token(const SampledToken& sampled, TokenState state, uint64_t begin_ns);
  void describe(const SampledToken& sampled, HeldToken* held) const;
  size_t find_ban_start() const;
  Status refuse(size_t held_index);
  Status hand_out();
  Status stop(Status reason);

  // Tokens evaluated ahead: session_speculation.cpp, session_drafts.cpp.
  Status check_speculation(const SpeculationParams& params, Error* error) const;
  Status check_drafter(const Session& drafter, Error* error) const;
  void lose_drafter();
  Status evaluate_ahead();
  size_t draft_room() const;
  Status propose(size_t* forced, Speculation::Kind* kind);
  void draft_forced(size_t room);
  void draft_by_callback(size_t room, Speculation::Kind* kind);
  void draft_by_lookup(size_t room, Speculation::Kind* kind);
  Status draft_by_session(size_t room, Speculation::Kind* kind);
  Status draft_by_early_exit(size_t room, Speculation::Kind* kind);
  void draft_by_lookahead(size_t room, Speculation::Kind* kind);
  bool draft_from(std::span<const float> logits);
  void keep_guesses();
  void drop_misfits(size_t first);
  Status follow(std::span<const int32_t> text, uint64_t first, std::atomic<uint32_t>* cancelled);

  Status score_batch(std::span<const int32_t>* tokens, double* known, float** log_probabilities, ScoreResult* score);

  // Saved states: session_state.cpp.
  void write(ByteWriter* writer) const;
  bool verify(ByteReader* reader) const;
  void read(ByteReader* reader);
  void hold_text_again();

  const Model* model_ = nullptr;
  SessionParams params_;
  ThreadPool* pool_ = nullptr;
  KvSequence context_;
  Sampler sampler_;
  Stops stops_;
  TokenStates states_;
  uint64_t* mask_words_ = nullptr;  // (vocabulary) bits
  Search search_;
  Beams beams_;
  float* mixed_logits_ = nullptr;  // (vocabulary), with kFeatureGuide or kFeatureDola
  SessionTimings timings_;
  size_t memory_bytes_ = 0;
  std::atomic<uint32_t> cancelled_ = 0;

  bool has_pending_ = false;  // a token of the stream that is still to be evaluated
  int32_t pending_ = 0;
  uint64_t answer_start_ = 0;  // what comes from here on is generated
  uint64_t answer_begin_ns_ = 0;
  uint64_t call_limit_ = UINT64_MAX;  // tokens of the answer, by generate()

  TokenConstraint constraint_;
  uint64_t constrained_count_ = 0;  // tokens of the stream that it has accepted, or parts of
  Session* guide_ = nullptr;
  Session* guided_ = nullptr;  // this session guides that one
  GuideParams guide_params_;
  uint64_t guided_count_ = 0;  // tokens of the stream that the guide has, too
  Status lost_ = Status::kOk;  // why the guide could not follow a reset

  Speculation speculation_;
  Session* drafter_ = nullptr;
  Session* drafted_ = nullptr;  // this session drafts for that one
  uint64_t followed_from_ = 0;  // the place of the first token here in its stream

  Healing healing_;
  TextStream text_{stops_};
  TextMark handed_out_mark_;  // of the text up to the last token handed out
  HeldTokens held_;
  RefusedTokens refused_;
  bool refuse_newest_ = false;  // until a token is handed out: refusing where banned strings
                                // begin has left nothing
  Status end_ = Status::kOk;    // why the text ends behind the held tokens
  Piece piece_ = {};
};

}  // namespace sotto
