#include "runtime/grammar/automata/code_points.h"

#include <algorithm>

namespace sotto {
namespace {

constexpr uint32_t kSurrogatesFirst = 0xD800;
constexpr uint32_t kSurrogatesLast = 0xDFFF;

}  // namespace

void normalize_intervals(GrowingArray<Interval>& intervals, uint32_t begin) {
  if (intervals.size() <= begin) return;
  std::sort(intervals.begin() + begin, intervals.end(), [](Interval a, Interval b) { return a.first < b.first; });
  uint32_t last = begin;
  for (uint32_t i = begin + 1; i < intervals.size(); ++i) {
    Interval& joined = intervals[last];
    const Interval next = intervals[i];
    if (next.first <= joined.last || next.first - joined.last == 1) {
      joined.last = std::max(joined.last, next.last);
    } else {
      intervals[++last] = next;
    }
  }
  intervals.truncate(last + 1);
}

void normalize_code_points(GrowingArray<Interval>& intervals, uint32_t begin) {
  for (uint32_t i = begin, end = intervals.size(); i < end; ++i) {
    Interval& interval = intervals[i];
    if (interval.first < kSurrogatesFirst && interval.last > kSurrogatesLast) {
      const Interval upper{kSurrogatesLast + 1, interval.last};
      interval.last = kSurrogatesFirst - 1;
      intervals.push(upper);
    } else if (interval.first >= kSurrogatesFirst && interval.first <= kSurrogatesLast) {
      interval.first = kSurrogatesLast + 1;
    } else if (interval.last >= kSurrogatesFirst && interval.last <= kSurrogatesLast) {
      interval.last = kSurrogatesFirst - 1;
    }
  }
  const auto* kept =
      std::remove_if(intervals.begin() + begin, intervals.end(), [](Interval i) { return i.first > i.last; });
  intervals.truncate(static_cast<size_t>(kept - intervals.begin()));
  normalize_intervals(intervals, begin);
}

void complement_code_points(GrowingArray<Interval>& intervals, uint32_t begin) {
  const uint32_t count = intervals.size() - begin;
  uint32_t free = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const Interval interval = intervals[begin + i];
    if (interval.first > free) intervals.push({free, interval.first - 1});
    free = interval.last + 1;
  }
  if (free <= kMaxCodePoint) intervals.push({free, kMaxCodePoint});
  std::rotate(intervals.begin() + begin, intervals.begin() + begin + count, intervals.end());
  intervals.truncate(intervals.size() - count);
  normalize_code_points(intervals, begin);
}

// Splits the interval in two, unless a single ByteSequence describes the UTF-8 forms of all its code points. Pushes the
// upper part on the stack.
bool Utf8Sequences::split(Interval* interval) {
  const auto cut_after = [&](uint32_t last) {
    stack_[count_++] = {last + 1, interval->last};
    interval->last = last;
    return true;
  };
  for (const uint32_t last : {0x7Fu, 0x7FFu, 0xFFFFu}) {
    if (interval->first <= last && last < interval->last) return cut_after(last);
  }
  if (interval->last < 0x80) return false;
  for (uint32_t shift = 6; shift <= 18; shift += 6) {
    const uint32_t mask = (1u << shift) - 1;
    if ((interval->first & ~mask) == (interval->last & ~mask)) continue;
    if ((interval->first & mask) != 0) return cut_after(interval->first | mask);
    if ((interval->last & mask) != mask) return cut_after((interval->last & ~mask) - 1);
  }
  return false;
}

bool Utf8Sequences::next(ByteSequence* sequence) {
  if (count_ == 0) return false;
  Interval interval = stack_[--count_];
  while (split(&interval)) {
  }
  sequence->size = encode_utf8(interval.first, sequence->first);
  encode_utf8(interval.last, sequence->last);
  return true;
}

}  // namespace sotto
