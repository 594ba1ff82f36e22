// Sets of Unicode scalar values as intervals, and their UTF-8 byte sequences.
//
// Example: the UTF-8 forms of U+0061 to U+07FF are [61-7F] and [C2-DF][80-BF].
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/utf8.h"
#include "runtime/base/workspace.h"

namespace sotto {

// The numbers from `first` to `last`.
struct Interval {
  uint32_t first;
  uint32_t last;  // the last code point of the interval, inclusive
};

inline constexpr Interval kAllCodePoints[] = {{0, kMaxCodePoint}};

// Sorts and merges the intervals from `begin` on, and removes the surrogates.
void normalize_code_points(GrowingArray<Interval>& intervals, uint32_t begin);

// Replaces the intervals from `begin` on, which must be normalized, by their complement.
void complement_code_points(GrowingArray<Interval>& intervals, uint32_t begin);

// Sorts and merges intervals of arbitrary numbers.
void normalize_intervals(GrowingArray<Interval>& intervals, uint32_t begin);

// A range of bytes for each position: the UTF-8 forms of a part of an interval.
struct ByteSequence {
  uint8_t first[4];
  uint8_t last[4];
  uint32_t size;
};

// Splits an interval of scalar values into byte sequences.
class Utf8Sequences {
 public:
  explicit Utf8Sequences(Interval interval) { stack_[count_++] = interval; }
  bool next(ByteSequence* sequence);

 private:
  bool split(Interval* interval);

  Interval stack_[16];
  uint32_t count_ = 0;
};

}  // namespace sotto
