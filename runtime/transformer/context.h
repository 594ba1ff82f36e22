// The evaluated tokens of one stream: feeds them to the forward pass in batches, and keeps
// them within the KV ring by one of the three overflow rules of sotto.h. Sequences may branch
// off its end, for searches.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/transformer/branch_tree.h"
#include "runtime/transformer/forward.h"

namespace sotto {

// As sotto_overflow.
enum class Overflow : int32_t { kStop = 0, kRing = 1, kShift = 2 };

struct ContextParams {
  uint32_t context_tokens = 0;
  uint32_t batch_tokens = 0;
  uint32_t sink_tokens = 0;
  Overflow overflow = Overflow::kStop;
  uint32_t sequence_count = 0;   // most branches at once; 0: none
  uint32_t sequence_tokens = 0;  // most tokens of each
  uint32_t features = 0;         // kFeatureHiddenHistory, kFeatureLayerStates
  uint32_t draft_tokens = 0;     // most drafts at once; 0: none
};

// Tokens evaluated again by re-anchoring, and the time it took.
struct ReanchorTimings {
  uint64_t tokens = 0;
  uint64_t ns = 0;
};

class Context {
 public:
  // Takes the context's memory from `arena`, which may only measure.
  void lay_out(const ModelConfig& config, const ContextParams& params, Arena* arena);
  // After lay_out over real memory. `pool` may be null.
  Status init(const Model& model, ThreadPool* pool, Error* error);

  static constexpr uint32_t kMaxDraftTokens = 15;

  void clear();

  // Evaluates tokens after those already there. logits() are those after the last one; they
  // may be missing without `want_logits`.
  // kStopContextFull: they do not all fit (Overflow::kStop), nothing is done.
  // kStopCancelled: token_count() tells how far it came.
  Status append(std::span<const int32_t> tokens, const std::atomic<uint32_t>& cancelled, bool want_logits = true);

  // The same for as many of the first tokens as one batch takes, `count` of them: rows
  // 0 ... count - 1 of the batch, for what is asked about rows below. Logits are there only
  // with `want_logits`. On failure `count` is 0.
  Status append_batch(std::span<const int32_t> tokens, bool want_logits, size_t* count,
                      const std::atomic<uint32_t>& cancelled);

  // append() of one token, in one batch with guesses of what follows it. If exactly these are
  // appended next, one by one, nothing is left to evaluate; whatever else happens, they have
  // left no trace.
  Status append_with_drafts(int32_t token, std::span<const int32_t> drafts, const std::atomic<uint32_t>& cancelled,
                            bool want_logits = true);
  // As many as it takes now: drafts never overwrite a slot.
  size_t draft_room() const;
  // Drafts that append() would find evaluated.
  std::span<const int32_t> drafts() const { return {draft_batch_ + batch_row_count_, drafts_left()}; }
  size_t drafts_left() const { return draft_rows_ == 0 ? 0 : draft_rows_ - batch_row_count_; }
  bool is_drafted(int32_t token) const { return drafts_left() > 0 && drafts()[0] == token; }
  // For drafting by the model's own first layers: what they make of a token `ahead` places
  // behind the stream's last; those between went the same way before. logits() are gone;
  // the stream is as it was.
  Status draft_by_first_layers(int32_t token, uint32_t ahead, uint32_t layer_count,
                               const std::atomic<uint32_t>& cancelled, std::span<const float>* logits);

  // Makes logits() those after the last token again. Needs a token.
  Status ensure_logits(const std::atomic<uint32_t>& cancelled);

  // After the last token, only the logits that `mask` allows, where pays_to_restrict(): *logits
  // is (vocabulary) with the others undefined, until the next call. There are no logits().
  bool pays_to_restrict(const TokenMask& mask) const { return forward_.pays_to_restrict(mask); }
  Status compute_allowed_logits(const TokenMask& mask, const std::atomic<uint32_t>& cancelled,
                                std::span<const float>* logits);

  // Rows of the last batch, as long as nothing else has been evaluated; 0 then. The last row
  // is the stream's last token.
  size_t batch_row_count() const { return batch_row_count_; }
  // Logits after rows of the last batch, at most logit_row_count() at a time, as
  // row_logits(0), ... until the next call. logits() are gone unless the first row is the last.
  Status compute_row_logits(size_t first_row, size_t count);
  size_t logit_row_count() const { return forward_.logit_row_count(); }
  std::span<const float> row_logits(size_t index) const { return forward_.logits(index); }
  // Hidden states of rows behind the final norm, (row, embedding), until the next call.
  std::span<const float> final_states(size_t first_row, size_t count) {
    return forward_.final_states(first_row, count);
  }
  // Evaluates the last token again, unless it is the last batch's last row.
  Status ensure_last_row(const std::atomic<uint32_t>& cancelled);
  // With kFeatureLayerStates, after ensure_last_row(); see Forward.
  Status compute_premature_logits(std::span<const uint32_t> layers) {
    return forward_.compute_premature_logits(batch_row_count_ - 1, layers);
  }
  std::span<float> premature_logits(size_t index) { return forward_.premature_logits(index); }

  // Lets branches begin behind the last token: none lives yet. They live until the stream
  // changes; the stream does not see them. Needs a token. The logits, where there are any, are
  // branch_logits(0), to be overwritten at will.
  void begin_branches();
  // Tokens that a branch can have before the model's positions end.
  uint32_t branch_room() const { return position_count_ - position_; }
  // Evaluates one token a step (1 ... sequence_count), in one batch; they are the live
  // sequences then, and branch_logits(i) those after step i. On failure the old ones live on,
  // without logits. The stream's logits are gone either way.
  Status grow_branches(std::span<const BranchStep> steps, const std::atomic<uint32_t>& cancelled);
  // Only this one lives on, as sequence 0; branch_logits() stay where they are.
  void keep_branch(uint32_t sequence) { branches_.keep(sequence); }
  std::span<float> branch_logits(uint32_t sequence) { return forward_.logits(sequence); }
  // With kFeatureHiddenHistory: the largest cosine between the final hidden state of the last
  // token of step i of the last grow_branches() and those of the tokens it saw.
  float branch_similarity(uint32_t step) const;

  // Whether the stream can be cut to its first `count` tokens.
  bool can_rewind(uint64_t count) const;
  // Cuts it. Logits are gone.
  void rewind(uint64_t count);

  uint64_t token_count() const { return token_count_; }
  bool has_logits() const { return has_logits_; }
  std::span<const float> logits() const { return forward_.logits(logit_row_); }

  // A token of the stream, one of the newest 2 * context_tokens.
  int32_t token_at(uint64_t index) const { return history_[index % history_size_]; }
  // The newest tokens, at most `count` and at most context_tokens, in at most two pieces.
  void newest(uint64_t count, std::span<const int32_t>* older, std::span<const int32_t>* newer) const;

  // Tokens whose keys and values are in the ring.
  uint32_t cached_tokens() const;
  uint64_t reanchor_count() const { return reanchor_count_; }
  const ReanchorTimings& reanchor_timings() const { return reanchor_timings_; }
  void reset_reanchor_timings() { reanchor_timings_ = {}; }

 private:
  friend class ContextImage;

  void remember(int32_t token);
  void forget_rows();
  void enter_draft_row(size_t row);
  Status evaluate_chunk(std::span<const int32_t> tokens, bool want_logits, const std::atomic<uint32_t>& cancelled);
  Status reanchor(const std::atomic<uint32_t>& cancelled);
  uint32_t newest_kept() const;
  int32_t kept_token(uint32_t index, uint32_t newest) const;

  ContextParams params_;
  uint32_t position_limit_ = 0;  // positions at which the ring is full or ends
  uint32_t position_count_ = 0;  // of the model
  Forward forward_;
  size_t history_size_ = 0;
  int32_t* history_ = nullptr;       // (stream index % history_size): twice the context, so
                                     // that a rewind finds what a window of it needs
  int32_t* sinks_ = nullptr;         // (sink)
  int32_t* chunk_tokens_ = nullptr;  // (batch): kept tokens on their way back in

  uint64_t token_count_ = 0;   // of the stream
  uint32_t position_ = 0;      // of the next token
  uint64_t anchor_ = 0;        // token_count_ when positions last began anew
  bool reanchor_due_ = false;  // a re-anchoring was cancelled half-way
  bool has_logits_ = false;
  size_t batch_row_count_ = 0;  // rows of the last batch, if the last one is the last token
  size_t logit_row_ = 0;        // where logits() are
  size_t draft_rows_ = 0;       // rows of the last batch with its drafts, which have logits
  int32_t draft_batch_[1 + kMaxDraftTokens] = {};
  BranchTree branches_;
  BranchRow* branch_rows_ = nullptr;  // (sequence)
  uint64_t reanchor_count_ = 0;
  ReanchorTimings reanchor_timings_;
};

}  // namespace sotto
