// Which slots hold the tokens of sequences that branch off the stream. The tokens form a tree,
// one slot a token, so that sequences which agree so far share it and a reordering copies
// nothing; a slot is free again when no live sequence needs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/transformer/kv_ring.h"

namespace sotto {

// One more token behind live sequence `from`, or behind the stream.
struct BranchStep {
  static constexpr uint32_t kStream = UINT32_MAX;

  uint32_t from = kStream;
  int32_t token = 0;
};

class BranchTree {
 public:
  // Room for `sequence_count` live sequences of at most `sequence_tokens` tokens each.
  void lay_out(uint32_t sequence_count, uint32_t sequence_tokens, Arena* arena);
  // The slots are numbered from `first_slot`. No sequence lives; all begin behind a token
  // that sees `window`.
  void begin(uint32_t first_slot, const SlotWindow& window);

  // Gives a slot to each of at most sequence_count steps. They are the live sequences once
  // commit() is called; until then, and after roll_back(), the old ones are.
  void grow(std::span<const BranchStep> steps);
  void commit();
  void roll_back();
  // Only this one lives on, as sequence 0.
  void keep(uint32_t sequence);

  uint32_t live_count() const { return live_count_; }
  uint32_t depth(uint32_t sequence) const { return live_[sequence].depth; }  // tokens
  uint32_t slot(uint32_t sequence) const { return first_slot_ + live_[sequence].node; }

  // Of the sequences that grow() made: tokens before the new one, its slot, and what it sees,
  // until the next grow().
  uint32_t grown_depth(size_t step) const { return grown_[step].depth - 1; }
  uint32_t grown_slot(size_t step) const { return first_slot_ + grown_[step].node; }
  std::span<const SlotSpan> grown_window(size_t step);

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Tip {
    uint32_t node = kNone;
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
  uint32_t* parents_ = nullptr;  // (node): kNone behind the stream
  uint32_t* uses_ = nullptr;     // (node): children and live tips; 0: free
  Tip* live_ = nullptr;          // (sequence)
  Tip* grown_ = nullptr;         // (sequence)
  SlotSpan* spans_ = nullptr;    // (sequence, kMaxStreamSpans + sequence_tokens)
};

}  // namespace sotto
