// Lists of frames: what contexts are made of. In grammars without loops they are kept without
// counts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/arena.h"
#include "runtime/grammar/compiler/compiled_grammar.h"

namespace sotto {

// Where a rule's text leads to when it is complete.
struct StackFrame {
  uint32_t state;
  uint32_t parent;  // a node
  uint32_t loop = kNoLoop;
  uint32_t count = 0;  // texts of the loop before this one

  bool operator==(const StackFrame&) const = default;
};

// In no loop.
struct PlainFrame {
  uint32_t state;
  uint32_t parent;

  bool operator==(const PlainFrame&) const = default;
};

inline bool frame_less(const StackFrame& a, const StackFrame& b) {
  if (a.parent != b.parent) return a.parent < b.parent;
  if (a.state != b.state) return a.state < b.state;
  if (a.loop != b.loop) return a.loop < b.loop;
  return a.count < b.count;
}

// Frames of either kind, one after the other.
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
  FrameSpan(const PlainFrame* frames, size_t size) : plain_(frames), size_(size) {}

  size_t size() const { return size_; }
  StackFrame operator[](size_t i) const {
    return plain_ == nullptr ? frames_[i] : StackFrame{plain_[i].state, plain_[i].parent};
  }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size_}; }

 private:
  const StackFrame* frames_ = nullptr;
  const PlainFrame* plain_ = nullptr;
  size_t size_;
};

class FrameArray {
 public:
  void lay_out(Arena& arena, uint32_t capacity, bool has_loops);

  FrameSpan span(uint32_t first, uint32_t count) const {
    return has_loops_ ? FrameSpan(frames_ + first, count) : FrameSpan(plain_ + first, count);
  }
  StackFrame operator[](uint32_t i) const {
    return has_loops_ ? frames_[i] : StackFrame{plain_[i].state, plain_[i].parent};
  }
  uint32_t& parent(uint32_t i) { return has_loops_ ? frames_[i].parent : plain_[i].parent; }
  void set(uint32_t i, const StackFrame& frame) {
    if (has_loops_) {
      frames_[i] = frame;
    } else {
      plain_[i] = {frame.state, frame.parent};
    }
  }
  void copy(FrameSpan from, uint32_t to);

  // Sorts a list by frame_less and leaves out what is there twice; returns how many are left.
  uint32_t sort(uint32_t first, uint32_t count);

 private:
  bool has_loops_ = false;
  StackFrame* frames_ = nullptr;
  PlainFrame* plain_ = nullptr;
};

}  // namespace sotto
