// The last step of attention_rows.cpp: what the values add up to with their weights. Unnamed
// namespace: see kernels/generic/block.h.
#pragma once

#include <algorithm>

#include "kernels/kernels.h"
#include "kernels/x86/avx512/vector.h"

namespace sotto::avx512vnni {
namespace {

constexpr size_t kMixWidth = 2 * kLanes;
constexpr size_t kMixRows = 8;
constexpr size_t kMixSlots = 96;

struct Mix {
  alignas(64) float sums[kAttentionRows][kMixWidth];
  alignas(64) float values[kMixSlots][kMixWidth];  // widened by the first rows that see them
};

// The first slots of those whose values, in part or all, are widened at a time.
struct Slots {
  const int8_t* values;  // (slot), stride apart
  size_t stride;
  size_t count;
  size_t widened;
};

template <size_t kBlocks>
using Sums = avx512::Vector[kMixRows][kBlocks];

// Adds the products of a slot for kMixRows rows: weights are (lane).
template <size_t kBlocks>
[[gnu::always_inline]] inline void add_slot(const float* weights, const avx512::Vector (&values)[kBlocks],
                                            Sums<kBlocks>& sums) {
#pragma GCC unroll 8
  for (size_t r = 0; r < kMixRows; ++r) {
    const avx512::Vector w = avx512::Vector::broadcast(weights[r]);
#pragma GCC unroll 2
    for (size_t b = 0; b < kBlocks; ++b) sums[r][b] = fma(w, values[b], sums[r][b]);
  }
}

// What is widened already is taken from `values`, the rest is left there.
template <size_t kBlocks>
[[gnu::always_inline]] inline void add_slots(const float* weights, const Slots& slots, float (*values)[kMixWidth],
                                             Sums<kBlocks>& sums) {
  size_t t = 0;
  avx512::Vector v[kBlocks];
  for (const size_t end = std::min(slots.widened, slots.count); t < end; ++t) {
#pragma GCC unroll 2
    for (size_t b = 0; b < kBlocks; ++b) {
      v[b] = avx512::Vector::load(values[t] + b * kLanes, generic::Whole{});
    }
    add_slot(weights + t * kLanes, v, sums);
  }
  const int8_t* from = slots.values + t * slots.stride;
  for (; t < slots.count; ++t, from += slots.stride) {
#pragma GCC unroll 2
    for (size_t b = 0; b < kBlocks; ++b) {
      v[b] = avx512::Vector::load(from + b * kLanes, generic::Whole{});
      v[b].store(values[t] + b * kLanes, generic::Whole{});
    }
    add_slot(weights + t * kLanes, v, sums);
  }
}

// To what there is, or to zeros.
template <size_t kBlocks>
void add_slots(const float* weights, const Slots& slots, bool to_zeros, size_t row, Mix* mix) {
  Sums<kBlocks> sums;
#pragma GCC unroll 8
  for (size_t r = 0; r < kMixRows; ++r) {
#pragma GCC unroll 2
    for (size_t b = 0; b < kBlocks; ++b) {
      const float* at = mix->sums[row + r] + b * kLanes;
      sums[r][b] = to_zeros ? avx512::Vector::zero() : avx512::Vector::load(at, generic::Whole{});
    }
  }
  add_slots(weights, slots, mix->values, sums);
#pragma GCC unroll 8
  for (size_t r = 0; r < kMixRows; ++r) {
#pragma GCC unroll 2
    for (size_t b = 0; b < kBlocks; ++b) {
      sums[r][b].store(mix->sums[row + r] + b * kLanes, generic::Whole{});
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
  const size_t count = args.slots_of(args.row_count - 1);
  for (size_t first = 0; first < count; first += kMixSlots) {
    Slots slots = {args.values + first * args.row_stride + d, args.row_stride, 0, 0};
    for (size_t row = 0; row < args.row_count; row += kMixRows) {
      const size_t end = args.slots_of(std::min(row + kMixRows, args.row_count) - 1);
      if (end <= first) continue;
      if (first == 0) ask_for_outputs(args, row, d);
      slots.widened = slots.count;
      slots.count = std::min(end - first, kMixSlots);
      const float* weights = args.scores + (row / kLanes * count + first) * kLanes + row % kLanes;
      if (args.row_stride - d > kLanes) {
        add_slots<2>(weights, slots, first == 0, row, &mix);
      } else {
        add_slots<1>(weights, slots, first == 0, row, &mix);
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
