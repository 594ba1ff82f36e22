// Arrays of stack frames, stored by column. A grammar takes memory only for the columns that its frames need: frames
// outside of loops have no counts, and most counts fit 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/arena.h"
#include "runtime/grammar/compiler/compiled_grammar.h"

namespace sotto {

// The return address of a rule: the caller's next state and the node below it. The frame of a tail call has the state
// kTail instead, because the rule returns to the frames of the parent.
struct StackFrame {
  static constexpr uint32_t kTail = UINT32_MAX;

  uint32_t state;
  uint32_t parent;  // node below that state
  uint32_t loop = kNoLoop;
  uint64_t count = 0;  // number of repetitions of the loop before the current one, or set of members (GrammarLoop)

  bool is_tail() const { return state == kTail; }
  bool operator==(const StackFrame&) const = default;
};

inline bool frame_less(const StackFrame& a, const StackFrame& b) {
  if (a.parent != b.parent) return a.parent < b.parent;
  if (a.state != b.state) return a.state < b.state;
  if (a.loop != b.loop) return a.loop < b.loop;
  return a.count < b.count;
}

// A frame that belongs to no loop.
struct PlainFrame {
  uint32_t state;
  uint32_t parent;
};

// The loop of a frame, with the low half of its count.
struct FrameCount {
  uint32_t loop;
  uint32_t low;
};

// The loops and counts of frames. A grammar has only the columns that its frames need: none without loops, and high
// halves of counts only if there are sets of more than 32 members.
struct FrameCounts {
  FrameCount* counts = nullptr;
  uint32_t* high = nullptr;

  void layout(Arena& arena, uint32_t capacity, const CompiledGrammar& grammar);
  FrameCounts from(uint32_t first) const {
    return {counts == nullptr ? nullptr : counts + first, high == nullptr ? nullptr : high + first};
  }
  // Returns frame `i`, given the part that is not stored here.
  StackFrame join(const PlainFrame& plain, size_t i) const {
    if (counts == nullptr) return {plain.state, plain.parent};
    const uint64_t above = high == nullptr ? 0 : uint64_t{high[i]} << 32;
    return {plain.state, plain.parent, counts[i].loop, above | counts[i].low};
  }
  void set(size_t i, const StackFrame& frame) const {
    if (counts == nullptr) return;
    counts[i] = {frame.loop, static_cast<uint32_t>(frame.count)};
    if (high != nullptr) high[i] = static_cast<uint32_t>(frame.count >> 32);
  }
};

// Frames, stored by column.
struct FrameColumns {
  PlainFrame* plain = nullptr;
  FrameCounts counts;

  void layout(Arena& arena, uint32_t capacity, const CompiledGrammar& grammar) {
    plain = arena.take<PlainFrame>(capacity);
    counts.layout(arena, capacity, grammar);
  }
  FrameColumns from(uint32_t first) const { return {plain + first, counts.from(first)}; }
  StackFrame operator[](size_t i) const { return counts.join(plain[i], i); }
  void set(size_t i, const StackFrame& frame) const {
    plain[i] = {frame.state, frame.parent};
    counts.set(i, frame);
  }
};

// A view of consecutive frames, in an array or in columns.
class FrameSpan {
 public:
  class Iterator {
   public:
    Iterator(const FrameSpan& span, size_t index) : span_(&span), index_(index) {}
    StackFrame operator*() const { return (*span_)[index_]; }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    bool operator==(const Iterator& other) const { return index_ == other.index_; }

   private:
    const FrameSpan* span_;
    size_t index_;
  };

  FrameSpan(const StackFrame* frames, size_t size) : frames_(frames), size_(size) {}
  FrameSpan(const FrameColumns& columns, size_t size) : columns_(columns), size_(size) {}

  size_t size() const { return size_; }
  StackFrame operator[](size_t i) const { return frames_ == nullptr ? columns_[i] : frames_[i]; }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }

 private:
  const StackFrame* frames_ = nullptr;
  FrameColumns columns_;
  size_t size_;
};

// An array of frames.
class FrameArray {
 public:
  void layout(Arena& arena, uint32_t capacity, const CompiledGrammar& grammar) {
    columns_.layout(arena, capacity, grammar);
  }

  const FrameColumns& columns() const { return columns_; }
  FrameSpan span(uint32_t first, uint32_t count) const { return {columns_.from(first), count}; }
  StackFrame operator[](uint32_t i) const { return columns_[i]; }
  uint32_t& parent(uint32_t i) { return columns_.plain[i].parent; }
  void set(uint32_t i, const StackFrame& frame) { columns_.set(i, frame); }
  void copy(FrameSpan from, uint32_t to);

  // Sorts a list by frame_less and removes duplicates. Returns the number of remaining frames.
  uint32_t sort(uint32_t first, uint32_t count);

 private:
  void sort_columns(uint32_t first, uint32_t count);

  FrameColumns columns_;
};

}  // namespace sotto
