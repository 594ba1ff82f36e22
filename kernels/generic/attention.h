// Attention of one query over the int8 KV ring (Vaswani et al. 2017, equation 1).
//
// `Dots` is the instruction set's way to multiply one int8 query with rows of keys: built
// from the query, zero-padded to 256, and the row stride; dots(keys, count, scores) leaves
// the dot products as floats, reading whole blocks of kHeadAlignment within each row.
#pragma once

#include <algorithm>
#include <cassert>

#include "kernels/generic/quantize.h"
#include "kernels/generic/read_ahead.h"
#include "kernels/generic/softmax.h"

namespace sotto::generic {

inline constexpr size_t kMaxHeadSize = 256;

// Slots that are asked for at once.
inline constexpr size_t kSlotGroup = 16;

// Dots of all slots, then scores; returns how many.
template <class V, class Dots>
inline size_t score_slots(const AttentionArgs& args, ReadAhead<V>& ahead) {
  alignas(64) int8_t query[kMaxHeadSize] = {};
  const float s = quantize_symmetric<V>(args.query, args.head_size, query);
  const V query_scale = V::broadcast(s * args.score_scale);
  const Dots dots(query, args.row_stride);
  float* scores = args.scores;
  for (size_t k = 0; k < args.span_count; ++k) {
    const SlotSpan span = args.spans[k];
    const int8_t* keys = args.keys + span.first * args.row_stride;
    for (size_t i = 0; i < span.count;) {
      const size_t left = span.count - i;
      const size_t count = left < 2 * kSlotGroup ? left : kSlotGroup;
      ahead.ask(count * args.row_stride);
      dots(keys + i * args.row_stride, count, scores + i);
      i += count;
    }
    ahead.ask(span.count * sizeof(float));
    const float* key_scales = args.key_scales + span.first;
    for_each_block<V>(span.count, [&](size_t i, auto extent) {
      const V scale = query_scale * V::load(key_scales + i, extent);
      (V::load(scores + i, extent) * scale).store(scores + i, extent);
    });
    scores += span.count;
  }
  return static_cast<size_t>(scores - args.scores);
}

// Probabilities in args.scores become weights of the int8 values.
template <class V>
inline void weigh_slots(const AttentionArgs& args, ReadAhead<V>& ahead) {
  float* weights = args.scores;
  for (size_t k = 0; k < args.span_count; ++k) {
    const SlotSpan span = args.spans[k];
    ahead.ask(span.count * sizeof(float));
    const float* value_scales = args.value_scales + span.first;
    for_each_block<V>(span.count, [&](size_t i, auto extent) {
      (V::load(weights + i, extent) * V::load(value_scales + i, extent)).store(weights + i, extent);
    });
    weights += span.count;
  }
}

// Output [first, first + 16 kBlocks), as far as the head goes: the sums stay in registers.
template <class V, size_t kBlocks>
inline void mix_values(const AttentionArgs& args, size_t first, V inverse, ReadAhead<V>& ahead) {
  V sums[kBlocks];
#pragma GCC unroll 4
  for (size_t b = 0; b < kBlocks; ++b) sums[b] = V::zero();
  const float* weight = args.scores;
  for (size_t k = 0; k < args.span_count; ++k) {
    const SlotSpan span = args.spans[k];
    const int8_t* row = args.values + span.first * args.row_stride + first;
    for (size_t left = span.count; left > 0;) {
      const size_t count = std::min(left, kSlotGroup);
      if (first == 0) ahead.ask(count * args.row_stride);  // whole rows
      for (size_t i = 0; i < count; ++i) {
        const V w = V::broadcast(*weight++);
#pragma GCC unroll 4
        for (size_t b = 0; b < kBlocks; ++b) {
          sums[b] = fma(w, V::load(row + b * kLanes, Whole{}), sums[b]);
        }
        row += args.row_stride;
      }
      left -= count;
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
  ReadAhead<V> ahead(args);
  const size_t count = score_slots<V, Dots>(args, ahead);
  const float m = max<V>(args.scores, count);
  const V sum = V::broadcast(exp_shifted<V>(args.scores, count, m, args.scores));
  weigh_slots<V>(args, ahead);

  const V inverse = V::broadcast(1.0f) / sum;
  size_t d = 0;
  for (; d + 4 * kLanes <= args.row_stride; d += 4 * kLanes) {
    mix_values<V, 4>(args, d, inverse, ahead);
  }
  switch ((args.row_stride - d) / kLanes) {
    case 3:
      mix_values<V, 3>(args, d, inverse, ahead);
      break;
    case 2:
      mix_values<V, 2>(args, d, inverse, ahead);
      break;
    case 1:
      mix_values<V, 1>(args, d, inverse, ahead);
      break;
  }
}

}  // namespace sotto::generic
