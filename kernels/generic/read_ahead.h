// Asks for keys and values two pages before they are read, as hardware looks no further than the
// end of a page: from the keys of each span on to those of the next, then to the values, and at
// the end to what is read after this head. Rows that no span has are not asked for.
#pragma once

#include "kernels/kernels.h"

namespace sotto::generic {

// A template, so that no instance is shared between instruction sets: see block.h.
template <class V>
class ReadAhead {
 public:
  explicit ReadAhead(const AttentionArgs& args) : args_(args) {
    enter(0);
    skip(kDistance);
  }

  // While so many bytes are read.
  void ask(size_t bytes) {
    for (owed_ += bytes; owed_ >= kLine; owed_ -= kLine) {
      __builtin_prefetch(at_);
      at_ += kLine;
      if (at_ >= end_) enter(range_ + 1);
    }
  }

 private:
  static constexpr size_t kLine = 64;
  static constexpr size_t kDistance = 8192;

  // Ranges are the spans of keys, those of values, and the next head.
  void enter(size_t range) {
    range_ = range;
    if (range < 2 * args_.span_count) {
      const bool is_key = range < args_.span_count;
      const SlotSpan& span = args_.spans[is_key ? range : range - args_.span_count];
      at_ = (is_key ? args_.keys : args_.values) + span.first * args_.row_stride;
      end_ = at_ + span.count * args_.row_stride;
      return;
    }
    // Without a next head, lines that are in use anyway.
    const bool goes_on = args_.next_keys != nullptr && range == 2 * args_.span_count;
    at_ = goes_on ? args_.next_keys + args_.spans[0].first * args_.row_stride
                  : reinterpret_cast<const int8_t*>(args_.scores);
    end_ = at_ + (goes_on ? kDistance : kLine);
  }

  void skip(size_t bytes) {
    while (range_ < 2 * args_.span_count) {
      const auto rest = static_cast<size_t>(end_ - at_);
      if (bytes < rest) {
        at_ += bytes;
        return;
      }
      bytes -= rest;
      enter(range_ + 1);
    }
  }

  const AttentionArgs& args_;
  const int8_t* at_;
  const int8_t* end_;
  size_t range_;
  size_t owed_ = 0;  // bytes read, not yet asked for
};

}  // namespace sotto::generic
