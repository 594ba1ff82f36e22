// A session generates text after a prompt. It lies in memory of the caller and wires together the parts of this room:
//   TokenStream   the tokens of prompt and answer, evaluation, rewind;
//   Decoder       the next token: mask, logits, sample;
//   TextOutput    text, stop strings, banned strings, token healing;
//   Drafting      speculative decoding;
//   Search        beams and parallel continuations (runtime/search);
//   SavedState    saving, restoring and forking (a friend, saved_state.h).
// README.md of this folder describes the path of a token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/constraint.h"
#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/model/model.h"
#include "runtime/search/search.h"
#include "runtime/session/decoder.h"
#include "runtime/session/drafting.h"
#include "runtime/session/stops.h"
#include "runtime/session/text_output.h"
#include "runtime/session/token_stream.h"
#include "runtime/transformer/beams.h"

namespace sotto {

// Whether the build has features that may be left out (platforms/cmake/SottoFeatures.cmake).
inline constexpr bool kHasSearch = SOTTO_HAS_SEARCH != 0;
inline constexpr bool kHasSpeculation = SOTTO_HAS_SPECULATION != 0;

class Session {
 public:
  static Status memory_size(const Model& model, const SessionParams& params, size_t* size, Error* error);
  static Status init(const Model& model, const SessionParams& params, void* memory, size_t memory_size,
                     Session** session, Error* error);
  void deinit();

  // The state of a new sampler starts at the present token.
  Status set_sampler(const SamplerParams& params, Error* error);
  // New stop strings and banned strings may begin in text that has been emitted.
  Status set_stops(const StopParams& params, Error* error);
  // Constrains the text generated from here on. Null removes the constraint. The object that `self` points to must
  // outlive its use. Returns kInvalidState if buffered tokens cannot be rolled back. If a constraint is removed,
  // buffered tokens stay and are emitted later.
  Status set_constraint(const TokenConstraint* constraint);
  // Implements sotto_session_set_guide(). Null removes the guide.
  Status set_guide(Session* guide, const GuideParams& params, Error* error);
  // Implements sotto_session_set_speculation(). Without sources, only the text that a constraint forces is drafted.
  Status set_speculation(const SpeculationParams& params, Error* error);
  const SpeculationInfo& speculation_info() const { return drafting_.info(); }

  void reset();
  // Evaluates a prompt and begins an answer. Buffered tokens are rolled back. If that is impossible, they stay in the
  // stream but are not emitted. Without tokens, the text continues, and only the counts of the answer start again.
  Status prefill(std::span<const int32_t> tokens);
  Status heal();
  // Returns kOk and a token, or a stop. piece() is set in both cases.
  Status next();
  const Piece& piece() const { return piece_; }
  // Calls prefill(), then next() until a stop, for at most max_tokens tokens.
  Status generate(std::span<const int32_t> prompt, uint64_t max_tokens, PieceFunction on_piece, void* user_data);
  Status rewind(uint64_t token_count);
  void cancel() { cancellation_.request(); }

  Status logits(std::span<const float>* logits);
  Status hidden(std::span<const float>* hidden);
  // Evaluates tokens as prefill() does and scores them. `log_probabilities` may be null.
  Status score(std::span<const int32_t> tokens, float* log_probabilities, ScoreResult* score);
  Status embed(std::span<const int32_t> tokens, Pooling pooling, float* embedding);

  // Continues the stream in several ways at once and leaves it unchanged. `*sequences` are valid until the next call.
  Status search(const SearchParams& params, std::span<const SearchSequence>* sequences, Error* error);

  const TokenStream& stream() const { return stream_; }
  uint64_t token_count() const { return stream_.token_count(); }
  SessionTimings timings() const;
  void reset_timings();

  // Runs a function of the session, after which last_error() explains its failure.
  template <typename Function>
  Status record_error(Function function) {
    last_error_.status = Status::kOk;
    last_error_.message[0] = 0;
    const Status status = function(*this);
    if (status >= Status::kOk || last_error_.status == status) return status;
    return fail(&last_error_, status, status_text(status));
  }
  const Error& last_error() const { return last_error_; }

 private:
  friend class SavedState;

  Status decode_token();
  Status require_tokens();
  Status require_space(uint64_t used, size_t count);
  template <typename Evaluate>
  Status evaluate_prompt(std::span<const int32_t> tokens, Evaluate evaluate);
  void drop_guide();
  void drop_drafter();

  ThreadPool* pool_ = nullptr;
  Cancellation cancellation_;
  Stops stops_;
  TokenStream stream_;
  TextOutput output_{stops_, stream_};
  Decoder decoder_;
  Drafting drafting_;
  Beams beams_;
  Search search_;
  Piece piece_ = {};
  Error last_error_;

  Session* guide_ = nullptr;          // guides this session
  Session* guide_target_ = nullptr;   // this session guides it
  Session* draft_session_ = nullptr;  // drafts for this session
  Session* draft_target_ = nullptr;   // this session drafts for it
};

}  // namespace sotto
