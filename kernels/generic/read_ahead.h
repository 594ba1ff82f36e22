// Asks for keys and values two pages before they are read, as hardware looks no further than the
// end of a page: from the keys of each span on to those of the next, then to the values, and at
// the end to what is read after this head. Rows that no span has are not asked for.
#pragma once

#include <algorithm>

#include "kernels/kernels.h"

namespace sotto::generic {

// A template, so that no instance is shared between instruction sets: see block.h.
template <class V>
class ReadAhead {
 public:
  explicit ReadAhead(const AttentionArgs& args) : args_(args) {
    enter(0);
    advance(kDistance, [](const int8_t*, size_t) {});
  }

  // While so many bytes are read.
  void ask(size_t bytes) {
    owed_ += bytes;
    const size_t due = owed_ / kLine * kLine;
    owed_ -= due;
    advance(due, [](const int8_t* from, size_t size) {
      for (size_t i = 0; i < size; i += kLine) __builtin_prefetch(from + i);
    });
  }

 private:
  static constexpr size_t kLine = 64;
  static constexpr size_t kDistance = 8192;

  template <class Pass>
  void advance(size_t bytes, Pass&& pass) {
    while (bytes > 0 && at_ != nullptr) {
      const size_t size = std::min(bytes, rest_);
      pass(at_, size);
      at_ += size;
      rest_ -= size;
      bytes -= size;
      if (rest_ == 0) enter(range_ + 1);
    }
  }

  // Ranges are the spans of keys, those of values, and the next head's first keys.
  void enter(size_t range) {
    range_ = range;
    const bool is_own = range < 2 * args_.span_count;
    at_ = range < args_.span_count ? args_.keys : is_own ? args_.values : args_.next_keys;
    if (at_ == nullptr || range > 2 * args_.span_count) {
      at_ = nullptr;
      return;
    }
    const SlotSpan& span = args_.spans[is_own ? range % args_.span_count : 0];
    at_ += span.first * args_.row_stride;
    const size_t size = (span.count * args_.row_stride + kLine - 1) / kLine * kLine;
    rest_ = is_own ? size : std::min(size, kDistance);
  }

  const AttentionArgs& args_;
  const int8_t* at_;  // null: there is nothing left
  size_t rest_ = 0;   // of the range, in whole lines
  size_t range_;
  size_t owed_ = 0;  // bytes read, not yet asked for
};

}  // namespace sotto::generic
