// The last step of attention_rows.cpp: what the values add up to with their weights. Unnamed
// namespace: see kernels/generic/block.h.
#pragma once

#include <algorithm>

#include "kernels/avx512/vector.h"
#include "kernels/kernels.h"

namespace sotto::avx512vnni {
namespace {

constexpr size_t kMixWidth = 32;
constexpr size_t kMixRows = 8;
constexpr size_t kMixSlots = 96;

struct Mix {
  alignas(64) float sums[kAttentionRows][kMixWidth];
  alignas(64) float values[kMixSlots][kMixWidth];  // widened
};

// Adds the products of kSlots slots for kMixRows rows: weights are (slot, lane).
template <size_t kBlocks, size_t kSlots>
[[gnu::always_inline]] inline void add_slots(const float* weights, const float* values,
                                             avx512::Vector (&sums)[kMixRows][kBlocks]) {
#pragma GCC unroll 4
  for (size_t t = 0; t < kSlots; ++t) {
    avx512::Vector v[kBlocks];
#pragma GCC unroll 2
    for (size_t b = 0; b < kBlocks; ++b) {
      v[b] = avx512::Vector::load(values + t * kMixWidth + b * kLanes, generic::Whole{});
    }
#pragma GCC unroll 8
    for (size_t r = 0; r < kMixRows; ++r) {
      const avx512::Vector w = avx512::Vector::broadcast(weights[t * kLanes + r]);
#pragma GCC unroll 2
      for (size_t b = 0; b < kBlocks; ++b) sums[r][b] = fma(w, v[b], sums[r][b]);
    }
  }
}

// To what there is, or to zeros.
template <size_t kBlocks>
void add_slots(const float* weights, const float* values, size_t count, bool to_zeros, float* at) {
  avx512::Vector sums[kMixRows][kBlocks];
#pragma GCC unroll 8
  for (size_t r = 0; r < kMixRows; ++r) {
#pragma GCC unroll 2
    for (size_t b = 0; b < kBlocks; ++b) sums[r][b] = avx512::Vector::zero();
  }
  if (!to_zeros) {
#pragma GCC unroll 8
    for (size_t r = 0; r < kMixRows; ++r) {
#pragma GCC unroll 2
      for (size_t b = 0; b < kBlocks; ++b) {
        sums[r][b] = avx512::Vector::load(at + r * kMixWidth + b * kLanes, generic::Whole{});
      }
    }
  }
  size_t t = 0;
  for (; t + 4 <= count; t += 4) {
    add_slots<kBlocks, 4>(weights + t * kLanes, values + t * kMixWidth, sums);
  }
  for (; t < count; ++t) {
    add_slots<kBlocks, 1>(weights + t * kLanes, values + t * kMixWidth, sums);
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < kMixRows; ++r) {
#pragma GCC unroll 2
    for (size_t b = 0; b < kBlocks; ++b) {
      sums[r][b].store(at + r * kMixWidth + b * kLanes, generic::Whole{});
    }
  }
}

// Outputs of these rows come from memory, before they are written.
inline void ask_for_outputs(const AttentionRowsArgs& args, size_t row, size_t d) {
  const size_t end = std::min(row + kMixRows, args.row_count);
  for (; row < end; ++row) {
    const float* output = args.outputs + row * args.output_stride + d;
    for (size_t i = 0; i < kMixWidth; i += kLanes) __builtin_prefetch(output + i, 1);
  }
}

// Outputs [d, d + kMixWidth), as far as there are any. Scores, now weights, are (group of
// 16 rows, slot, row). Adding 0 times a value that a row does not see changes no bit: no sum
// is -0.
void mix_rows(const AttentionRowsArgs& args, size_t d, const float* inverses) {
  Mix mix;
  const size_t width = std::min(args.row_stride - d, kMixWidth);
  const size_t count = args.slots_of(args.row_count - 1);
  for (size_t first = 0; first < count; first += kMixSlots) {
    const int8_t* from = args.values + first * args.row_stride + d;
    const size_t slots = std::min(count - first, kMixSlots);
    for (size_t t = 0; t < slots; ++t, from += args.row_stride) {
#pragma GCC unroll 4
      for (size_t i = 0; i < kMixWidth; i += kLanes) {
        if (i >= width) break;
        avx512::Vector::load(from + i, generic::Whole{}).store(mix.values[t] + i, generic::Whole{});
      }
    }
    for (size_t row = 0; row < args.row_count; row += kMixRows) {
      const size_t end = args.slots_of(std::min(row + kMixRows, args.row_count) - 1);
      if (end <= first) continue;
      if (first == 0) ask_for_outputs(args, row, d);
      const size_t seen = std::min(end - first, kMixSlots);
      const float* weights = args.scores + (row / kLanes * count + first) * kLanes + row % kLanes;
      size_t i = 0;
      for (; i + 2 * kLanes <= width; i += 2 * kLanes) {
        add_slots<2>(weights, mix.values[0] + i, seen, first == 0, mix.sums[row] + i);
      }
      if (i < width) {
        add_slots<1>(weights, mix.values[0] + i, seen, first == 0, mix.sums[row] + i);
      }
    }
  }
  const size_t outputs = d < args.head_size ? std::min(args.head_size - d, kMixWidth) : 0;
  for (size_t r = 0; r < args.row_count; ++r) {
    const avx512::Vector inverse = avx512::Vector::broadcast(inverses[r]);
    float* output = args.outputs + r * args.output_stride + d;
    generic::for_each_block<avx512::Vector>(outputs, [&](size_t i, auto extent) {
      (avx512::Vector::load(mix.sums[r] + i, generic::Whole{}) * inverse).store(output + i, extent);
    });
  }
}

}  // namespace
}  // namespace sotto::avx512vnni
