// The evaluated tokens of one stream, with their keys and values.
//
// A KvSequence evaluates tokens in batches and stores their keys and values in the KV ring. When the ring is full, one
// of three rules applies: stop, overwrite the oldest slots, or shift. Re-anchoring makes space by evaluating the sinks
// and the newest tokens again from position 0. A shift re-anchors as soon as the ring is full; overwriting postpones
// this until the model's positions are exhausted.
//
// A KvSequence also evaluates drafts, tokens that may follow the last one. The result of a row does not depend on the
// other rows of its batch, so the row of a correct draft is final. The row of a wrong draft occupies a slot after the
// end of the stream. Nothing reads this slot until a later token overwrites it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/generated/params.h"
#include "runtime/transformer/forward.h"

namespace sotto {

// The number of tokens that re-anchoring has evaluated again, and the time spent on it.
struct ReanchorTimings {
  uint64_t tokens = 0;
  uint64_t ns = 0;
};

class KvSequence {
 public:
  static constexpr uint32_t kMaxDraftTokens = SessionParams::kMaxDraftTokens;

  void layout(Arena& arena, const ModelConfig& config, const ResolvedSessionParams& params);
  // Requires layout() over real memory. `pool` may be null.
  void init(const Model& model, ThreadPool* pool) { forward_.init(model, pool); }

  void clear();

  // Evaluates tokens and appends them to the stream. Afterwards logits() are the logits after the last token; if
  // `want_logits` is false, they may be missing (has_logits()). A single token may be followed by `drafts`, evaluated
  // in the same batch. Appending these drafts later, one at a time and in order, evaluates nothing.
  //
  // With Overflow::kStop, returns kStopContextFull if not all tokens fit, and nothing has changed. After
  // kStopCancelled, token_count() includes the tokens that were evaluated.
  Status append(std::span<const int32_t> tokens, const Cancellation& cancellation, std::span<const int32_t> drafts = {},
                bool want_logits = true);

  // Returns whether append_each() may append a token to this sequence. The token must fit without re-anchoring, and
  // must not have been evaluated as a draft.
  bool can_append_with_others(int32_t token) const {
    return fits(1) && !is_drafted(token) && !cursor_.reanchor_due && cursor_.position < position_limit_;
  }
  // A token for one of the sequences of append_each().
  struct Appended {
    KvSequence* sequence = nullptr;
    int32_t token = 0;
  };
  // Maximum number of sequences that append_each() extends at once. row_capacity() of the first one limits it as well.
  static constexpr size_t kMaxSequences = 64;
  // Appends one token to each of several sequences of the same model, with the same result as append(). The tokens are
  // evaluated in one batch, in the memory of the first sequence. `pool` may be null.
  static void append_each(std::span<const Appended> tokens, ThreadPool* pool);

  // Appends the longest prefix of `tokens` that fits in one batch, and sets `*count` to its length (0 on failure). For
  // the functions below, these tokens are rows 0 to count - 1 of the batch.
  Status append_batch(std::span<const int32_t> tokens, bool want_logits, size_t* count,
                      const Cancellation& cancellation);

  // Begins an empty stream with `count` > 0 rows of embeddings, as (row, embedding). Their tokens are unknown, so
  // newest() does not include them, and rewind() cannot cut inside them. Requires Overflow::kStop, and returns
  // kStopContextFull if the rows do not fit. After kStopCancelled the stream is empty.
  Status append_embeddings(const float* embeddings, size_t count, const Cancellation& cancellation);
  // Returns the number of rows of embeddings at the beginning of the stream.
  uint64_t embedded_count() const { return embedded_count_; }

  // Returns how many drafts append() accepts at this point. Drafts never overwrite a slot.
  size_t draft_capacity() const;
  // Returns the drafts of the last batch that have not been appended.
  std::span<const int32_t> drafts() const;
  bool is_drafted(int32_t token) const { return !drafts().empty() && drafts()[0] == token; }
  // Evaluates a token in the first layers only, at `ahead` positions after the next one. The positions between must
  // have been evaluated in the same way. The stream does not change, but its logits are lost.
  Status draft_by_first_layers(int32_t token, uint32_t ahead, uint32_t layer_count, const Cancellation& cancellation,
                               std::span<const float>* logits);

  // Computes the logits after the last token if they are missing. The stream must not be empty.
  Status ensure_logits(const Cancellation& cancellation);
  bool has_logits() const { return !logits_.empty(); }
  std::span<const float> logits() const { return logits_; }
  // Computes only the logits that `mask` allows. Requires Forward::should_restrict_logits(). `*logits` has one value
  // per token, undefined unless `mask` allows the token, and is valid until the next call. logits() are lost.
  Status compute_allowed_logits(const TokenMask& mask, const Cancellation& cancellation,
                                std::span<const float>* logits);

  // Returns the number of rows of the last batch, or 0 if something else has been evaluated since. The last row is the
  // last token of the stream.
  size_t batch_row_count() const { return batch_row_count_; }
  // Computes the logits after `count` rows of the last batch, at most forward().logit_row_count(). Until the next call,
  // these are forward().logits(0), logits(1), ... The logits() of the sequence are lost, unless the first row is the
  // last row of the batch.
  void compute_row_logits(size_t first_row, size_t count);
  // Evaluates the last token again if it is not the last row of the last batch.
  Status ensure_last_row(const Cancellation& cancellation);
  // Computes the logits after the last token, if they are missing, and moves them to forward().logits(0). The caller
  // may overwrite them. The stream must not be empty.
  Status take_logits(const Cancellation& cancellation);
  // Evaluates rows that continue the stream, and computes the logits of row i, forward().logits(i). The stream does not
  // change, but its logits are lost.
  Status evaluate_rows(std::span<const TokenRow> rows, const Cancellation& cancellation);
  Forward& forward() { return forward_; }
  const LayerStates& layer_states() const { return layer_states_; }        // valid with kFeatureDola
  const HiddenHistory& hidden_history() const { return hidden_history_; }  // valid with kFeatureHiddenHistory

  // Returns whether the stream can be truncated to its first `count` tokens.
  bool can_rewind(uint64_t count) const;
  // Truncates the stream to its first `count` tokens. The logits are lost.
  void rewind(uint64_t count);

  uint64_t token_count() const { return cursor_.token_count; }
  // Returns the position of the next token, and how many tokens fit before the model's positions are exhausted.
  uint32_t position() const { return cursor_.position; }
  uint32_t positions_left() const { return position_count_ - cursor_.position; }
  uint32_t context_tokens() const { return params_.context_tokens; }
  // Returns how many of the newest tokens are known.
  size_t history_size() const { return history_size_; }
  // Returns a token of the stream, or 0 for a row of embeddings. The token must be one of the newest history_size().
  int32_t token_at(uint64_t index) const { return history_[index % history_size_]; }
  // Returns the newest `count` tokens in up to two pieces, but no more than context_tokens.
  void newest(uint64_t count, std::span<const int32_t>* older, std::span<const int32_t>* newer) const;

  // Returns the number of tokens with keys and values in the ring.
  uint32_t cached_tokens() const;
  uint64_t reanchor_count() const { return cursor_.reanchor_count; }
  const ReanchorTimings& reanchor_timings() const { return reanchor_timings_; }
  void reset_timings() { reanchor_timings_ = {}; }

 private:
  friend class KvSequenceImage;

  // The end of the stream. Saved states contain it.
  struct Cursor {
    uint64_t token_count = 0;  // number of tokens in the stream
    uint64_t anchor = 0;       // token_count at the last re-anchoring
    uint64_t reanchor_count = 0;
    uint32_t position = 0;      // position of the next token
    bool reanchor_due = false;  // true if a re-anchoring was cancelled before it was complete
  };

  bool fits(size_t count) const;
  void remember(int32_t token);
  void forget_logits();
  void forget_rows();
  void accept_draft(size_t row);
  Status evaluate_batch(std::span<const int32_t> tokens, bool want_logits, const Cancellation& cancellation,
                        const float* embeddings = nullptr);
  Status append_with_drafts(int32_t token, std::span<const int32_t> drafts, const Cancellation& cancellation);
  Status reanchor(const Cancellation& cancellation);
  uint32_t newest_kept() const;

  ResolvedSessionParams params_;
  // The number of positions that can be used before re-anchoring or a stop.
  uint32_t position_limit_ = 0;
  uint32_t position_count_ = 0;  // number of the model's positions
  Forward forward_;
  LayerStates layer_states_;
  HiddenHistory hidden_history_;
  size_t history_size_ = 0;        // twice the context, so that a rewind still finds a full window of tokens
  int32_t* history_ = nullptr;     // (stream index % history_size)
  int32_t* sinks_ = nullptr;       // (sink)
  int32_t* kept_batch_ = nullptr;  // (batch): tokens that re-anchoring evaluates again
  size_t embedding_size_ = 0;
  float* newest_embedding_ = nullptr;  // (embedding): the last row of append_embeddings()

  Cursor cursor_;
  uint64_t embedded_count_ = 0;
  std::span<const float> logits_;  // logits after the last token, in the memory of forward_; empty if they are lost
  size_t batch_row_count_ = 0;
  size_t draft_rows_ = 0;  // number of rows of the last batch that contained drafts; all of them have logits
  int32_t draft_batch_[1 + kMaxDraftTokens] = {};
  ReanchorTimings reanchor_timings_;
};

}  // namespace sotto
