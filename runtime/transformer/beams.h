// Sequences that continue one stream in several ways at once, for beam search, parallel samples and contrastive search.
//
// The tokens of all sequences form a tree with one KV slot per token. Sequences share the slots of their common tokens,
// so reordering beams copies no keys or values. A slot becomes free when no live sequence needs it.
//
// Example: the sequences "a b c" and "a b d" take four slots, because they share those of a and b.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/cancellation.h"
#include "runtime/base/workspace.h"
#include "runtime/transformer/kv_sequence.h"

namespace sotto {

// A request to append `token` to the live sequence `from`, or to the stream itself (kStream).
struct BeamStep {
  static constexpr uint32_t kStream = UINT32_MAX;

  uint32_t from = kStream;
  int32_t token = 0;
};

// Assigns slots to the tokens of beams. A slot is a node of the tree of tokens.
class BeamSlots {
 public:
  // Reserves memory for at most `sequence_count` live sequences with at most `sequence_tokens` tokens each.
  void layout(Arena& arena, uint32_t sequence_count, uint32_t sequence_tokens);
  // Ends all sequences. Afterwards, slots are numbered from `first_slot`, and new sequences follow the token that has
  // the window `window`.
  void begin(uint32_t first_slot, const SlotWindow& window);

  // Assigns slots to at most sequence_count steps. commit() makes the steps the live sequences, and roll_back() drops
  // them.
  void grow(std::span<const BeamStep> steps);
  void commit();
  void roll_back();
  // Keeps one sequence as sequence 0, and ends all others.
  void keep(uint32_t sequence);

  // Returns the number of tokens of a sequence.
  uint32_t depth(uint32_t sequence) const { return live_[sequence].depth; }
  uint32_t slot(uint32_t sequence) const { return first_slot_ + live_[sequence].node; }

  // Results of the last grow() for a step: the number of tokens before the new token, and the window of the new token,
  // which ends with its own slot. The window is valid until the next grow().
  uint32_t grown_depth(size_t step) const { return grown_[step].depth - 1; }
  std::span<const SlotSpan> grown_window(size_t step);

 private:
  // The newest token of a sequence.
  struct Tip {
    uint32_t node = kNoIndex;
    uint32_t depth = 0;
  };

  uint32_t take(uint32_t parent);
  uint32_t find_free(uint32_t parent);
  void release(uint32_t node);

  uint32_t sequence_count_ = 0;
  uint32_t sequence_tokens_ = 0;
  uint32_t node_count_ = 0;
  uint32_t first_slot_ = 0;
  uint32_t cursor_ = 0;
  uint32_t live_count_ = 0;
  uint32_t grown_count_ = 0;
  SlotWindow window_;
  uint32_t* parents_ = nullptr;  // parent of each node; kNoIndex if the parent is the stream
  uint32_t* uses_ = nullptr;     // number of children and live tips of each node; 0 if the node is free
  Tip* live_ = nullptr;          // one per sequence
  Tip* grown_ = nullptr;         // one per sequence
  SlotSpan* spans_ = nullptr;    // (sequence, kMaxStreamSpans + sequence_tokens)
};

// Evaluates beams that continue a KvSequence, without changing it. The beams are valid until the KvSequence changes.
class Beams {
 public:
  // `sequence` must outlive this object.
  void layout(Arena& arena, uint32_t sequence_count, uint32_t sequence_tokens, KvSequence* sequence);

  // Ends all beams. Afterwards logits(0) are the logits after the last token of the stream. Sets `*capacity` to the
  // number of tokens that a beam can have before the model's positions are exhausted. The stream must not be empty.
  Status begin(const Cancellation& cancellation, uint32_t* capacity);

  // Evaluates 1 to sequence_count steps in one batch. The steps are then the live beams. logits(i) are the logits after
  // step i, and the caller may overwrite them. On failure the old beams stay live but lose their logits. The logits of
  // the stream are lost in either case.
  Status grow(std::span<const BeamStep> steps, const Cancellation& cancellation);
  std::span<float> logits(uint32_t beam) { return sequence_->forward().logits(beam); }

  // Keeps one beam as beam 0, and ends all others. The indices of logits() do not change.
  void keep(uint32_t beam) { slots_.keep(beam); }

  // Compares the final hidden state of a step of the last grow() with those of the earlier tokens in its window, and
  // returns the largest cosine similarity. Requires kFeatureHiddenHistory.
  float similarity(uint32_t step) const;

 private:
  KvSequence* sequence_ = nullptr;
  BeamSlots slots_;
  TokenRow* rows_ = nullptr;  // (sequence)
};

}  // namespace sotto
