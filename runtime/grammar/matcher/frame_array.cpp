#include "runtime/grammar/matcher/frame_array.h"

#include <algorithm>

namespace sotto {

void FrameCounts::layout(Arena& arena, uint32_t capacity, const CompiledGrammar& grammar) {
  counts = grammar.counts().loops > 0 ? arena.take<FrameCount>(capacity) : nullptr;
  high = grammar.has_large_sets() ? arena.take<uint32_t>(capacity) : nullptr;
}

void FrameArray::copy(FrameSpan from, uint32_t to) {
  for (const StackFrame frame : from) set(to++, frame);
}

// Sorts frames with counts by Shellsort (Shell 1959) with Knuth's gaps 1, 4, 13, 40, ... Most lists are very short, and
// a list of n frames takes at most O(n^1.5) steps.
void FrameArray::sort_columns(uint32_t first, uint32_t count) {
  uint32_t distance = 1;
  while (distance < count / 3) distance = 3 * distance + 1;
  for (; distance > 0; distance /= 3) {
    for (uint32_t i = first + distance; i < first + count; ++i) {
      const StackFrame frame = (*this)[i];
      uint32_t to = i;
      for (; to >= first + distance && frame_less(frame, (*this)[to - distance]); to -= distance) {
        set(to, (*this)[to - distance]);
      }
      set(to, frame);
    }
  }
}

uint32_t FrameArray::sort(uint32_t first, uint32_t count) {
  if (columns_.counts.counts == nullptr) {
    const auto key = [](const PlainFrame& frame) { return uint64_t{frame.parent} << 32 | frame.state; };
    const auto less = [&](const PlainFrame& a, const PlainFrame& b) { return key(a) < key(b); };
    const auto equal = [&](const PlainFrame& a, const PlainFrame& b) { return key(a) == key(b); };
    PlainFrame* begin = columns_.plain + first;
    PlainFrame* end = begin + count;
    if (!std::is_sorted(begin, end, less)) std::sort(begin, end, less);
    return static_cast<uint32_t>(std::unique(begin, end, equal) - begin);
  }
  sort_columns(first, count);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const StackFrame frame = (*this)[first + i];
    if (kept == 0 || !(frame == (*this)[first + kept - 1])) set(first + kept++, frame);
  }
  return kept;
}

}  // namespace sotto
