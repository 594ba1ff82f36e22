// Sorting of shares: into slices of their range, and within each.
#pragma once

#include "kernels/generic/block.h"
#include "kernels/kernels.h"

namespace sotto::generic {

template <class V>
inline void slice_numbers(const float* x, size_t n, const Slices& slices, uint16_t* numbers) {
  const V scale = V::broadcast(slices.scale), last = V::broadcast(kSections - 1);
  const typename V::Table first(slices.first), width(slices.width);
  for_each_block<V>(n, [&](size_t i, auto extent) {
    const V place = min(bits_below_one(V::load(x + i, extent)) * scale, last);
    const V section = floor(place);
    fma(place - section, width.at(section), first.at(section)).store_floor(numbers + i, extent);
  });
}

// Sixteen inputs, 60 comparators, the fewest known (Knuth, The Art of Computer Programming 3,
// 5.3.4), in ten steps.
template <class Columns>
inline void sort_rows(typename Columns::Row (&r)[16]) {
  constexpr uint8_t kPairs[60][2] = {
      {0, 13}, {1, 12}, {2, 15}, {3, 14}, {4, 8},   {5, 6},   {7, 11},  {9, 10},
      {0, 5},  {1, 7},  {2, 9},  {3, 4},  {6, 13},  {8, 14},  {10, 15}, {11, 12},
      {0, 1},  {2, 3},  {4, 5},  {6, 8},  {7, 9},   {10, 11}, {12, 13}, {14, 15},
      {0, 2},  {1, 3},  {4, 10}, {5, 11}, {6, 7},   {8, 9},   {12, 14}, {13, 15},
      {1, 2},  {3, 12}, {4, 6},  {5, 7},  {8, 10},  {9, 11},  {13, 14},
      {1, 4},  {2, 6},  {5, 8},  {7, 10}, {9, 13},  {11, 14},
      {2, 4},  {3, 6},  {9, 12}, {11, 13},
      {3, 5},  {6, 8},  {7, 9},  {10, 12},
      {3, 4},  {5, 6},  {7, 8},  {9, 10}, {11, 12},
      {6, 7},  {8, 9}};
#pragma GCC unroll 60
  for (const auto& pair : kPairs) Columns::order(r[pair[0]], r[pair[1]]);
}

template <class Columns>
inline size_t sort_columns(const float* x, size_t stride, const uint8_t* counts, float* sorted) {
  float* end = sorted;
  for (size_t c = 0; c < kColumns; c += Columns::kCount) {
    const Columns columns(counts + c);
    typename Columns::Row rows[kColumnRows];
#pragma GCC unroll 16
    for (size_t i = 0; i < kColumnRows; ++i) {
      rows[i] = columns.load(x + i * stride + c, static_cast<int>(i));
    }
    sort_rows<Columns>(rows);
    end = Columns::store(rows, counts + c, end);
  }
  return static_cast<size_t>(end - sorted);
}

}  // namespace sotto::generic
