// Asks for what attention reads two pages before it does, as hardware looks no further than the end
// of a page: in the order of reading the keys of all spans, their scales, the scales of the values,
// the values, and the next head's first keys. Rows that no span has are not asked for.
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

  void enter(size_t range) {
    range_ = range;
    const SlotSpan& span = args_.spans[range % args_.span_count];
    const size_t scales = span.count * sizeof(float);
    const size_t rows = span.count * args_.row_stride;
    switch (range / args_.span_count) {
      case 0:
        return begin(args_.keys + span.first * args_.row_stride, rows);
      case 1:
        return begin(args_.key_scales + span.first, scales);
      case 2:
        return begin(args_.value_scales + span.first, scales);
      case 3:
        return begin(args_.values + span.first * args_.row_stride, rows);
    }
    at_ = nullptr;
    const bool is_next = range == 4 * args_.span_count && args_.next_keys != nullptr;
    if (is_next) begin(args_.next_keys + span.first * args_.row_stride, std::min(rows, kDistance));
  }

  void begin(const void* from, size_t size) {
    at_ = static_cast<const int8_t*>(from);
    rest_ = (size + kLine - 1) / kLine * kLine;
  }

  const AttentionArgs& args_;
  const int8_t* at_;  // null: there is nothing left
  size_t rest_ = 0;   // of the range, in whole lines
  size_t range_;      // what is read of a span
  size_t owed_ = 0;   // bytes read, not yet asked for
};

}  // namespace sotto::generic
