// The tokens of a session, both prompt and answer, and everything that has to follow them.
//
// The newest token is pending until its successor is wanted. Only then is it evaluated, together with drafts of what
// may follow it. A ring of TokenStates stores what a rewind has to restore for each token: the sampler's state and
// flags. A constraint and a guide receive the generated tokens as well, and rewind() rewinds them to the same place.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/constraint.h"
#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/model/model.h"
#include "runtime/sampling/sample_input.h"
#include "runtime/transformer/kv_sequence.h"

namespace sotto {

// A request to stop the running call or the next one. Another thread may make it.
class Cancellation {
 public:
  void request() { flag_.store(1, std::memory_order_relaxed); }
  // Returns whether a request was made, and clears it.
  bool take() { return flag_.exchange(0, std::memory_order_relaxed) != 0; }
  // If a request is the reason for `status`, clears the request. Returns `status`.
  Status consume(Status status) {
    if (status == Status::kStopCancelled) flag_.store(0, std::memory_order_relaxed);
    return status;
  }
  const std::atomic<uint32_t>& flag() const { return flag_; }

 private:
  std::atomic<uint32_t> flag_ = 0;
};

struct TokenState {
  enum Flags : uint16_t {
    kGenerated = 1,    // the token is not part of a prompt
    kAnswerEnd = 2,    // generated tokens after it belong to another answer
    kTextEnd = 4,      // tokens after it belong to another text
    kConstrained = 8,  // the constraint has accepted it
    kGuided = 16,      // the guide has the token as well
  };

  SamplerState sampler;   // state after the token
  uint16_t withheld = 0;  // bytes of text that were withheld when the token was emitted
  uint16_t flags = 0;

  bool has(Flags flag) const { return (flags & flag) != 0; }
};

// A ring of the states of the newest tokens, as many as KvSequence remembers tokens.
class TokenStates {
 public:
  void layout(Arena& arena, uint32_t context_tokens) {
    capacity_ = size_t{2} * context_tokens;
    states_ = arena.take<TokenState>(capacity_);
  }

  void clear() { begin_ = 0; }
  // Sets the state of the stream's token `index`, which is the next one or an earlier one.
  void set(uint64_t index, const TokenState& state) {
    states_[index % capacity_] = state;
    if (index + 1 > capacity_) begin_ = std::max(begin_, index + 1 - capacity_);
  }
  // Requires index >= begin().
  TokenState& operator[](uint64_t index) { return states_[index % capacity_]; }
  const TokenState& operator[](uint64_t index) const { return states_[index % capacity_]; }
  // States before this index have been dropped.
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
  // The defaults of `params` must have been resolved.
  void layout(Arena& arena, const Model& model, const SessionParams& params);
  // Must follow layout() over real memory. `pool` may be null.
  Status init(ThreadPool* pool, Error* error) { return kv_.init(*model_, pool, error); }

  const Model& model() const { return *model_; }
  const SessionParams& params() const { return params_; }
  KvSequence& kv() { return kv_; }
  const KvSequence& kv() const { return kv_; }

  uint64_t token_count() const { return kv_.token_count() + (has_pending_ ? 1 : 0); }
  int32_t token_at(uint64_t index) const { return index == kv_.token_count() ? pending_ : kv_.token_at(index); }
  // Returns the newest `count` tokens, or as many as there are, including the pending one.
  TokenHistory history(uint64_t count) const;
  // Returns the token's bytes, or none if the model has no tokenizer.
  std::span<const char> bytes_of(int32_t token) const;
  bool has_pending() const { return has_pending_; }
  TokenStates& states() { return states_; }
  const TokenStates& states() const { return states_; }
  SessionTimings& timings() { return timings_; }
  const SessionTimings& timings() const { return timings_; }

  // Returns the index of the first token of the answer.
  uint64_t answer_start() const { return answer_start_; }
  uint64_t generated_count() const { return token_count() - answer_start_; }
  uint64_t answer_ns() const;  // returns the time since the answer began
  // Starts an answer after `count` tokens, of which those from `first` on are a new part of the prompt.
  void begin_answer(uint64_t first, uint64_t count, const SamplerState& sampler);
  // After a rewind, finds the start of the answer to which the last token belongs.
  void find_answer_start();
  // After a rewind, starts a new answer and a new text here, even if the last token belongs to an earlier answer.
  void mark_answer_start();

  // Evaluates the pending token, if there is one, together with drafts of what may follow it.
  Status evaluate(Cancellation* cancellation, std::span<const int32_t> drafts = {}, bool want_logits = true);
  // Evaluates the pending token and ensures that kv().logits() are those after the last token, even after a cancelled
  // prefill.
  Status evaluate_logits(Cancellation* cancellation);

  // Appends a generated token, which becomes pending, and passes it to the constraint and the guide. Token healing
  // hides the first `hidden` bytes from the constraint. On failure nothing has changed.
  Status push(int32_t token, size_t hidden, TokenState state);
  // Returns whether truncate(count) is possible.
  bool can_truncate(uint64_t count) const;
  // Cuts the stream to its first `count` tokens, for a stream without constraint and guide.
  void truncate(uint64_t count);
  // Cuts the stream, and rewinds constraint and guide to the same place. Returns kInvalidState if one of them cannot
  // rewind that far; nothing has changed then.
  Status rewind(uint64_t count);
  void clear();

  // Makes this stream, which drafts for another one, equal to the end of that one's text. `first` is the place of the
  // text's first token. Tokens that agree stay evaluated. If the text exceeds the context, only its newer half is used.
  Status follow(std::span<const int32_t> text, uint64_t first, Cancellation* cancellation);

  const TokenConstraint& constraint() const { return constraint_; }
  // An empty constraint removes the present one.
  void set_constraint(const TokenConstraint& constraint);
  TokenStream* guide() const { return guide_; }
  void set_guide(TokenStream* guide);  // null removes the guide
  // Returns kOk, or why the guide could not follow clear().
  Status guide_status() const { return guide_status_; }

 private:
  friend class SavedState;

  Status constrain(int32_t token, size_t hidden, TokenState* state);
  void set_pending(int32_t token, const TokenState& state);

  const Model* model_ = nullptr;
  SessionParams params_;
  KvSequence kv_;
  TokenStates states_;
  SessionTimings timings_ = {};
  bool has_pending_ = false;  // a token of the stream that has not been evaluated
  int32_t pending_ = 0;
  uint64_t answer_start_ = 0;
  uint64_t answer_begin_ns_ = 0;
  uint64_t followed_from_ = 0;  // place of the first token in the stream that this one follows

  TokenConstraint constraint_;
  uint64_t constrained_count_ = 0;  // number of tokens that the constraint has accepted, wholly or in part
  TokenStream* guide_ = nullptr;
  uint64_t guided_count_ = 0;  // number of generated tokens that the guide has as well
  Status guide_status_ = Status::kOk;
};

}  // namespace sotto
