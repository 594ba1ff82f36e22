#include "runtime/grammar/matcher/frames.h"

namespace sotto {

void FrameArray::lay_out(Arena& arena, uint32_t capacity, bool has_loops) {
  has_loops_ = has_loops;
  frames_ = arena.take<StackFrame>(has_loops ? capacity : 0);
  plain_ = arena.take<PlainFrame>(has_loops ? 0 : capacity);
}

void FrameArray::copy(FrameSpan from, uint32_t to) {
  for (const StackFrame frame : from) set(to++, frame);
}

// By falling distances (Shell 1959): most lists are very short. With distances of 1, 4, 13, 40, ...
// (Knuth) no list takes more than some count^1.5 steps.
uint32_t FrameArray::sort(uint32_t first, uint32_t count) {
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
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const StackFrame frame = (*this)[first + i];
    if (kept == 0 || !(frame == (*this)[first + kept - 1])) set(first + kept++, frame);
  }
  return kept;
}

}  // namespace sotto
