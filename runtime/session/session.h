// A session generates text after a prompt, in memory of the caller. Its parts do the work; this class calls them in the
// right order. README.md describes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/thread_pool.h"
#include "runtime/base/arena.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/constraint.h"
#include "runtime/base/status.h"
#include "runtime/base/use_count.h"
#include "runtime/generated/params.h"
#include "runtime/model/model.h"
#include "runtime/search/search.h"
#include "runtime/session/decoder.h"
#include "runtime/session/drafting.h"
#include "runtime/session/output/text_output.h"
#include "runtime/session/token_stream.h"
#include "runtime/text/stops.h"
#include "runtime/transformer/beams.h"

namespace sotto {

class Session {
 public:
  // Number of bytes reserved for this object. Together with OutputState it takes 40 KiB on every platform, because
  // memory sizes are part of the API.
  static constexpr size_t kObjectBytes = 40960 - align_up(sizeof(OutputState), kMemoryAlignment);

  Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  static Status memory_size(const Model& model, const SessionParams& given, size_t* size, Error* error);
  static Status init(const Model& model, const SessionParams& given, void* memory, size_t memory_size, Session** out,
                     Error* error);
  void layout(Arena& arena, const Model& model, const ResolvedSessionParams& params);
  void deinit();

  // Replaces the sampler's parameters and resets its state at the end of the stream.
  Status set_sampler(const SamplerParams& params, Error* error);
  // Replaces the stops. The new stop strings and banned strings may begin in text that has already been emitted.
  Status set_stops(const StopParams& params, Error* error);
  // Constrains the text after the emitted tokens. Returns kInvalidState if buffered tokens cannot be rolled back. An
  // empty reference removes the current constraint; it keeps such tokens, and they are emitted later.
  Status set_constraint(const TokenConstraint& constraint, Error* error);
  // Sets the guide (see sotto_session_set_guide()). Null removes it.
  Status set_guide(Session* new_guide, const GuideParams& params, Error* error);
  // Sets the sources of drafts (see sotto_session_set_speculation()). Without sources, only text that a constraint
  // forces is drafted.
  Status set_speculation(const SpeculationParams& params, Error* error);
  const SpeculationInfo& speculation_info() const { return drafting_.info(); }

  // Removes all tokens. Does nothing while the session is in use.
  void reset();
  // Evaluates a prompt and starts an answer. Buffered tokens are rolled back before the prompt. If that is impossible,
  // they stay in the stream but are never emitted. An empty prompt continues the text, and only restarts the counts of
  // the answer.
  Status prefill(std::span<const int32_t> tokens, Error* error);
  // Begins an empty stream with `count` rows of embeddings.
  Status prefill_embeddings(const float* embeddings, size_t count, Error* error);
  bool has_embeddings() const { return stream_.kv().embedded_count() > 0; }
  Status heal(Error* error);
  // Generates the next piece. Returns kOk and sets piece() to a token, or returns a stop and sets piece() to the
  // withheld text. A stop that ends the text (ends_text()) is returned again until a call changes the stream, the
  // sampler, the stops, the limit, the constraint or the guide. After a cancellation, the next call continues the text.
  Status next(Error* error);
  const Piece& piece() const { return piece_; }
  // Limits the number of tokens that next() generates until the next prefill, set_limit() or generate().
  void set_limit(uint64_t max_tokens);
  // Rolls back the tokens that have been drawn but not emitted, if possible, so that they are drawn again.
  void drop_unemitted();
  // Calls prefill(), then next() until a stop, for at most max_tokens tokens.
  Status generate(std::span<const int32_t> prompt, uint64_t max_tokens, PieceFunction on_piece, void* user_data,
                  Error* error);
  Status rewind(uint64_t token_count, Error* error);
  void cancel() { cancellation_.request(); }

  Status logits(std::span<const float>* logits, Error* error);
  Status hidden(std::span<const float>* hidden, Error* error);
  // Evaluates tokens as prefill() does, and computes their score. `log_probabilities` may be null.
  Status score(std::span<const int32_t> tokens, float* log_probabilities, ScoreResult* score, Error* error);
  Status embed(std::span<const int32_t> tokens, Pooling pooling, float* embedding, Error* error);

  // Searches for continuations of the stream. Only buffered tokens are removed from it. `*sequences` are valid until
  // the next call.
  Status search(const SearchParams& given, std::span<const SearchSequence>* sequences, Error* error);

  const TokenStream& token_stream() const { return stream_; }
  uint64_t token_count() const { return stream_.token_count(); }
  SessionInfo info() const;
  SessionTimings timings() const;
  void reset_timings();

  // Returns whether changes are forbidden now, because this session or a session linked to it is running a function
  // that may call back into the program, or belongs to a SessionBatch.
  bool is_in_use() const;

  // Returns memory for the C interface, which keeps the error of its last call here (sotto_session_get_error()). The
  // functions above do not use it.
  Error* last_error() const { return &last_error_; }

 private:
  friend class Partners;      // links sessions
  friend class SavedState;    // reads and replaces the stream and the output
  friend class SessionBatch;  // keeps a list of sessions, and evaluates their streams together

  Status start_threads(const ResolvedSessionParams& params, Error* error);
  void change_limit(uint64_t limit);
  bool needs_logits() const;
  Status decode_token();
  Status require_tokens(Error* error) const;
  Status require_space(uint64_t used, size_t count, Error* error) const;
  template <typename Evaluate>
  Status evaluate_prompt(std::span<const int32_t> tokens, Evaluate evaluate, Error* error);

  // Each part refers only to parts above it.
  Cancellation cancellation_;
  Stops stops_;
  TokenStream stream_;
  TextOutput output_{stops_, stream_};
  Decoder decoder_{stops_, stream_, output_, cancellation_};
  Drafting drafting_{decoder_, stream_, output_, cancellation_};
  Beams beams_;
  Search searcher_;

  // The sessions linked to this one, or null (partners.h).
  Session* guide_ = nullptr;
  Session* drafter_ = nullptr;
  Session* client_ = nullptr;  // the session that this one guides or drafts for

  alignas(kThreadPoolAlignment) uint8_t pool_memory_[kThreadPoolBytes];
  ThreadPool* pool_ = nullptr;  // null if the session has one thread
  UseCount uses_;               // by functions that may call the host's callbacks or executor, and by a SessionBatch
  UseCount generations_;        // by generate(), whose callback may use the session but not destroy it
  Session* next_in_batch_ = nullptr;  // the next session of the SessionBatch, or null
  uint64_t step_begin_ns_ = 0;        // when a batch began to evaluate the pending token, or 0
  size_t memory_bytes_ = 0;           // number of bytes of the caller's memory that are in use
  Piece piece_ = {};
  mutable Error last_error_;
};

}  // namespace sotto
