// The tokens of a session's prompts and answers, and all state that must stay consistent with them.
//
// The newest token may be pending, that is, not evaluated yet (README.md). A ring stores the state of each of the
// newest tokens for a rewind: flags and the sampler's state. The constraint and the guide receive the generated tokens
// too, so that rewind() can rewind them to the same place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/constraint.h"
#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/model/model.h"
#include "runtime/sampling/sample_input.h"
#include "runtime/transformer/kv_sequence.h"

namespace sotto {

// Per-token state that a rewind restores.
struct TokenState {
  enum Flags : uint16_t {
    kGenerated = 1,    // the token was generated, not part of a prompt
    kAnswerEnd = 2,    // generated tokens after this one belong to another answer
    kTextEnd = 4,      // tokens after this one belong to another text
    kConstrained = 8,  // the constraint has accepted the token
    kGuided = 16,      // the guide has received the token
  };

  SamplerState sampler;   // sampler state after the token
  uint16_t withheld = 0;  // bytes of text that were withheld when the token was emitted
  uint16_t flags = 0;

  bool has(Flags flag) const { return (flags & flag) != 0; }
};

// A ring with the states of the newest tokens.
class TokenStates {
 public:
  void layout(Arena& arena, size_t capacity) {
    capacity_ = capacity;
    states_ = arena.take<TokenState>(capacity_);
  }

  void clear() { begin_ = 0; }
  // Sets the state of the token at `index`. The index is at most the number of tokens in the stream.
  void set(uint64_t index, const TokenState& state) {
    states_[index % capacity_] = state;
    if (index + 1 > capacity_) begin_ = std::max(begin_, index + 1 - capacity_);
  }
  // Requires index >= begin().
  TokenState& operator[](uint64_t index) { return states_[index % capacity_]; }
  const TokenState& operator[](uint64_t index) const { return states_[index % capacity_]; }
  // Returns the index of the oldest state that is stored.
  uint64_t begin() const { return begin_; }
  void drop_before(uint64_t index) { begin_ = index; }
  size_t capacity() const { return capacity_; }

  // Returns how many of the tokens [first, end) have a flag.
  uint64_t count(uint64_t first, uint64_t end, TokenState::Flags flag) const;
  void clear_flag(TokenState::Flags flag, uint64_t end);

 private:
  TokenState* states_ = nullptr;
  size_t capacity_ = 0;
  uint64_t begin_ = 0;
};

class TokenStream {
 public:
  // The part of a stream that saved states contain in addition to kv() and states().
  struct Cursor {
    bool has_pending = false;  // true if the newest token has not been evaluated
    int32_t pending = 0;
    uint64_t answer_start = 0;
    uint64_t answer_begin_ns = 0;
  };

  void layout(Arena& arena, const Model& model, const ResolvedSessionParams& params);
  // Requires layout() over real memory. `pool` may be null.
  void init(ThreadPool* pool) { kv_.init(*model_, pool); }

  const Model& model() const { return *model_; }
  const ResolvedSessionParams& params() const { return params_; }
  KvSequence& kv() { return kv_; }
  const KvSequence& kv() const { return kv_; }

  uint64_t token_count() const { return kv_.token_count() + (cursor_.has_pending ? 1 : 0); }
  int32_t token_at(uint64_t index) const { return index == kv_.token_count() ? cursor_.pending : kv_.token_at(index); }
  // Returns the newest `count` tokens, or all if there are fewer, including the pending one.
  TokenHistory history(uint64_t count) const;
  // Returns the bytes of a token, or no bytes if the model has no tokenizer.
  std::span<const char> bytes_of(int32_t token) const;
  bool has_pending() const { return cursor_.has_pending; }
  TokenStates& states() { return states_; }
  // The state of the newest token. The stream must not be empty.
  TokenState& last_state() { return states_[token_count() - 1]; }
  const TokenStates& states() const { return states_; }
  const Cursor& cursor() const { return cursor_; }
  void set_cursor(const Cursor& cursor) { cursor_ = cursor; }
  SessionTimings* mutable_timings() { return &timings_; }
  const SessionTimings& timings() const { return timings_; }

  // Returns the index of the first token of the answer.
  uint64_t answer_start() const { return cursor_.answer_start; }
  uint64_t generated_count() const { return token_count() - cursor_.answer_start; }
  uint64_t answer_ns() const;  // returns the time since the answer began
  // Starts an answer after `count` tokens. Those from `first` on are the new prompt.
  void begin_answer(uint64_t first, uint64_t count, const SamplerState& sampler);
  // After a rewind, finds the start of the answer that contains the last token.
  void find_answer_start();
  // After a rewind, starts a new answer and a new text at the end of the stream, even if the last token belongs to an
  // earlier answer.
  void mark_answer_start();

  // Evaluates the pending token, if there is one, together with drafts.
  Status evaluate(Cancellation* cancellation, std::span<const int32_t> drafts = {}, bool want_logits = true);
  // Returns whether evaluate_each() may evaluate the pending token. It cannot evaluate drafts.
  bool can_evaluate_with_others() const {
    return cursor_.has_pending && params_.draft_tokens == 0 && kv_.can_append_with_others(cursor_.pending);
  }
  // Evaluates the pending tokens of several streams of the same model in one batch, with logits. The streams must be at
  // most KvSequence::kMaxSequences, and at most row_capacity() of the first one. `pool` may be null.
  static void evaluate_each(std::span<TokenStream* const> streams, ThreadPool* pool);
  // Evaluates the pending token, if there is one. Afterwards kv().logits() are the logits after the last token, even if
  // a prefill was cancelled.
  Status evaluate_logits(Cancellation* cancellation);

  // Appends a generated token and passes it to the constraint and the guide. The token becomes pending. Token healing
  // hides its first `healed` bytes from the constraint. On failure nothing has changed.
  Status push(int32_t token, size_t healed, TokenState state);
  bool can_truncate(uint64_t count) const;
  // Truncates a stream that has no constraint and no guide to its first `count` tokens.
  void truncate(uint64_t count);
  bool can_rewind(uint64_t count) const;
  // Truncates the stream to its first `count` tokens, and rewinds the constraint and the guide to the same place.
  // Returns kInvalidState if one of them cannot be rewound that far; nothing has changed then.
  Status rewind(uint64_t count);
  void clear();

  // Copies the text of another stream to this one, the stream of a drafting session. `text` is the end of the other
  // stream and begins at index `first` there. The common prefix is not evaluated again, but if the text exceeds the
  // context, only its newer half is kept.
  Status mirror(std::span<const int32_t> text, uint64_t first, Cancellation* cancellation);

  const TokenConstraint& constraint() const { return constraint_; }
  // Returns whether the constraint has accepted a token since it was set.
  bool is_constrained() const { return constrained_count_ > 0; }
  // Replaces the constraint. An empty one only removes the current one.
  void set_constraint(const TokenConstraint& constraint);
  TokenStream* guide() const { return guide_; }
  void set_guide(TokenStream* guide);  // null removes the guide
  // Returns kOk, or the reason why clear() failed for the guide.
  Status guide_status() const { return guide_status_; }

 private:
  Status constrain(int32_t token, size_t healed, TokenState* state);
  void set_pending(int32_t token, const TokenState& state);
  uint64_t constrained_since(uint64_t count) const;
  uint64_t guided_since(uint64_t count) const;

  const Model* model_ = nullptr;
  ResolvedSessionParams params_;
  KvSequence kv_;
  TokenStates states_;
  SessionTimings timings_ = {};
  Cursor cursor_;
  uint64_t mirrored_from_ = 0;  // index of this stream's first token in the mirrored stream

  TokenConstraint constraint_;
  uint64_t constrained_count_ = 0;  // number of tokens that the constraint has accepted, completely or in part
  TokenStream* guide_ = nullptr;
  uint64_t guided_count_ = 0;  // number of generated tokens that the guide has received
  Status guide_status_ = Status::kOk;
};

}  // namespace sotto
