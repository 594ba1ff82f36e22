// Attention of one query over the int8 KV ring (Vaswani et al. 2017, equation 1).
//
// `Dots` multiplies one int8 query with rows of keys on an instruction set. It is constructed from the row stride and
// the query, which must be zero-padded to 256 bytes. dots(keys, count, scores) writes the dot products as floats, and
// reads whole blocks of kHeadAlignment bytes within each row.
#pragma once

#include <algorithm>
#include <cassert>

#include "kernels/generic/layers.h"
#include "kernels/generic/softmax.h"
#include "kernels/kernels.h"

namespace sotto::SOTTO_ISA::generic {

// Number of slots that are prefetched together.
inline constexpr size_t kSlotGroup = 16;

// Calls multiply(i) for groups of rows i ... i + kRows - 1. There must be at least kRows rows. The last group ends at
// the last row, so some rows may be computed twice.
template <size_t kRows, class Multiply>
inline void for_row_groups(size_t count, Multiply multiply) {
  for (size_t i = 0; i + kRows <= count; i += kRows) multiply(i);
  if (count % kRows != 0) multiply(count - kRows);
}

// Prefetches the data of attention in the order of the reads, kPrefetchDistance bytes ahead of them: the keys of all
// spans, the scales of the keys and of the values, the values, and the first keys of the next head. Rows outside the
// spans are not prefetched. The class is a template, so that instruction sets do not share an instance (see vector.h).
template <class V>
class Prefetcher {
 public:
  explicit Prefetcher(const AttentionArgs& args) : args_(args) {
    enter(0);
    advance(kPrefetchDistance, [](const int8_t*, size_t) {});
  }

  // Prefetches as many bytes as the caller is about to read.
  void prefetch(size_t bytes) {
    owed_ += bytes;
    const size_t due = owed_ / kLine * kLine;
    owed_ -= due;
    advance(due, [](const int8_t* from, size_t size) {
      for (size_t i = 0; i < size; i += kLine) __builtin_prefetch(from + i);
    });
  }

 private:
  static constexpr size_t kLine = 64;

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
    if (is_next) begin(args_.next_keys + span.first * args_.row_stride, std::min(rows, kPrefetchDistance));
  }

  void begin(const void* from, size_t size) {
    at_ = static_cast<const int8_t*>(from);
    rest_ = align_up(size, kLine);
  }

  const AttentionArgs& args_;
  const int8_t* at_;  // null when everything has been prefetched
  size_t rest_ = 0;   // remaining bytes of the range, in whole cache lines
  size_t range_;      // number of the current range, which is a kind of data and a span
  size_t owed_ = 0;   // number of bytes that were read but not yet matched by prefetches
};

// Computes the scores of all slots and returns their number.
template <class V, class Dots>
inline size_t score_slots(const AttentionArgs& args, Prefetcher<V>& prefetcher) {
  alignas(64) int8_t query[kMaxHeadSize] = {};
  const float s = quantize_symmetric<V>(args.query, args.head_size, query);
  const V query_scale = V::broadcast(s * args.score_scale);
  const Dots dots(query, args.row_stride);
  float* scores = args.scores;
  for (size_t k = 0; k < args.span_count; ++k) {
    const SlotSpan span = args.spans[k];
    const int8_t* keys = args.keys + span.first * args.row_stride;
    for (size_t i = 0; i < span.count;) {
      const size_t remaining = span.count - i;
      const size_t count = remaining < 2 * kSlotGroup ? remaining : kSlotGroup;
      prefetcher.prefetch(count * args.row_stride);
      dots(keys + i * args.row_stride, count, scores + i);
      i += count;
    }
    prefetcher.prefetch(span.count * sizeof(float));
    const float* key_scales = args.key_scales + span.first;
    for_each_block<V>(span.count, [&](size_t i, auto extent) {
      const V scale = query_scale * V::load(key_scales + i, extent);
      (V::load(scores + i, extent) * scale).store(scores + i, extent);
    });
    scores += span.count;
  }
  return static_cast<size_t>(scores - args.scores);
}

// Multiplies the probabilities in args.scores by the scales of the values, which gives the weights of the int8 values.
template <class V>
inline void weigh_slots(const AttentionArgs& args, Prefetcher<V>& prefetcher) {
  float* weights = args.scores;
  for (size_t k = 0; k < args.span_count; ++k) {
    const SlotSpan span = args.spans[k];
    prefetcher.prefetch(span.count * sizeof(float));
    const float* value_scales = args.value_scales + span.first;
    for_each_block<V>(span.count, [&](size_t i, auto extent) {
      (V::load(weights + i, extent) * V::load(value_scales + i, extent)).store(weights + i, extent);
    });
    weights += span.count;
  }
}

// Computes outputs [first, first + 16 kBlocks), or as many as the head has. The sums stay in registers.
template <class V, size_t kBlocks>
inline void mix_values(const AttentionArgs& args, size_t first, V inverse, Prefetcher<V>& prefetcher) {
  V sums[kBlocks];
#pragma GCC unroll 4
  for (size_t b = 0; b < kBlocks; ++b) sums[b] = V::zero();
  const float* weight = args.scores;
  for (size_t k = 0; k < args.span_count; ++k) {
    const SlotSpan span = args.spans[k];
    const int8_t* row = args.values + span.first * args.row_stride + first;
    for (size_t remaining = span.count; remaining > 0;) {
      const size_t count = std::min(remaining, kSlotGroup);
      if (first == 0) prefetcher.prefetch(count * args.row_stride);  // prefetches whole rows
      for (size_t i = 0; i < count; ++i) {
        const V w = V::broadcast(*weight++);
#pragma GCC unroll 4
        for (size_t b = 0; b < kBlocks; ++b) {
          sums[b] = fma(w, V::load(row + b * kLanes, Whole{}), sums[b]);
        }
        row += args.row_stride;
      }
      remaining -= count;
    }
  }
#pragma GCC unroll 4
  for (size_t b = 0; b < kBlocks; ++b) {
    const size_t d = first + b * kLanes;
    if (d + kLanes <= args.head_size) {
      (sums[b] * inverse).store(args.output + d, Whole{});
    } else {
      (sums[b] * inverse).store(args.output + d, Part{args.head_size - d});
    }
  }
}

template <class V, class Dots>
inline void attention(const AttentionArgs& args) {
  assert(args.head_size <= kMaxHeadSize && args.row_stride % kHeadAlignment == 0);
  assert(args.span_count > 0);
  Prefetcher<V> prefetcher(args);
  const size_t count = score_slots<V, Dots>(args, prefetcher);
  const float m = max<V>(args.scores, count);
  const V sum = V::broadcast(exp_shifted<V>(args.scores, count, m, args.scores));
  weigh_slots<V>(args, prefetcher);

  const V inverse = V::broadcast(1.0f) / sum;
  size_t d = 0;
  for (; d + 4 * kLanes <= args.row_stride; d += 4 * kLanes) {
    mix_values<V, 4>(args, d, inverse, prefetcher);
  }
  switch ((args.row_stride - d) / kLanes) {
    case 3:
      mix_values<V, 3>(args, d, inverse, prefetcher);
      break;
    case 2:
      mix_values<V, 2>(args, d, inverse, prefetcher);
      break;
    case 1:
      mix_values<V, 1>(args, d, inverse, prefetcher);
      break;
  }
}

}  // namespace sotto::SOTTO_ISA::generic
