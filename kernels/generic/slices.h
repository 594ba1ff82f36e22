// Sorting of shares: into slices of their range, and within each.
#pragma once

#include "kernels/dispatch/op_choice.h"
#include "kernels/generic/block.h"
#include "kernels/kernels.h"

namespace sotto::generic {

template <class V>
class Slicer {
 public:
  explicit Slicer(const Slices& slices)
      : scale_(V::broadcast(slices.scale)),
        last_(V::broadcast(kSections - 1)),
        first_(slices.first),
        width_(slices.width) {}

  template <class Extent>
  void write(const float* x, Extent extent, uint16_t* numbers) const {
    const V place = min(bits_below_one(V::load(x, extent)) * scale_, last_);
    const V section = floor(place);
    fma(place - section, width_.at(section), first_.at(section)).store_floor(numbers, extent);
  }

 private:
  V scale_;
  V last_;
  typename V::Table first_;
  typename V::Table width_;
};

template <class V>
inline void slice_numbers(const float* x, size_t n, const Slices& slices, uint16_t* numbers) {
  const Slicer<V> slicer(slices);
  for_each_block<V>(n, [&](size_t i, auto extent) { slicer.write(x + i, extent, numbers + i); });
}

// A batch is moved while vectors make the numbers of the next.
template <class V>
inline size_t move_to_columns(const float* x, size_t n, const Slices& slices, float* table, size_t stride,
                              uint8_t* counts, LeftShare* left) {
  constexpr size_t kBatch = 32;
  const Slicer<V> slicer(slices);
  alignas(64) uint16_t numbers[2 * kBatch];
  LeftShare* left_end = left;
  const auto move = [&](size_t column, float share) {
    const size_t row = counts[column];
    if (row == kColumnRows) [[unlikely]] {
      *left_end++ = {static_cast<uint32_t>(column), share};
      return;
    }
    counts[column] = static_cast<uint8_t>(row + 1);
    float* const place = table + row * stride + column;
    // Stores wait for one another, and each for its cache line, which may come before.
    __builtin_prefetch(place, 1);
    *place = share;
  };
  const auto number_batch = [&](size_t first) {
    uint16_t* to = numbers + first % (2 * kBatch);
    for (size_t i = 0; i < kBatch; i += kLanes) slicer.write(x + first + i, Whole{}, to + i);
  };
  const auto move_batch = [&](size_t first) {
    const uint16_t* of = numbers + first % (2 * kBatch);
#pragma GCC unroll 32
    for (size_t k = 0; k < kBatch; ++k) move(of[k], x[first + k]);
  };
  size_t first = 0;
  if (n >= kBatch) {
    number_batch(0);
    for (first = kBatch; first + kBatch <= n; first += kBatch) {
      number_batch(first);
      move_batch(first - kBatch);
    }
    move_batch(first - kBatch);
  }
  for_each_block<V>(n - first, [&](size_t i, auto extent) { slicer.write(x + first + i, extent, numbers + i); });
  for (size_t i = 0; first + i < n; ++i) move(numbers[i], x[first + i]);
  return static_cast<size_t>(left_end - left);
}

// Sixteen inputs, 60 comparators, the fewest known (Knuth, The Art of Computer Programming 3,
// 5.3.4), in ten steps.
template <class Columns>
inline void sort_rows(typename Columns::Row (&r)[16]) {
  constexpr uint8_t kPairs[60][2] = {
      {0, 13},  {1, 12},  {2, 15},  {3, 14},  {4, 8},   {5, 6},   {7, 11}, {9, 10},  {0, 5},   {1, 7},
      {2, 9},   {3, 4},   {6, 13},  {8, 14},  {10, 15}, {11, 12}, {0, 1},  {2, 3},   {4, 5},   {6, 8},
      {7, 9},   {10, 11}, {12, 13}, {14, 15}, {0, 2},   {1, 3},   {4, 10}, {5, 11},  {6, 7},   {8, 9},
      {12, 14}, {13, 15}, {1, 2},   {3, 12},  {4, 6},   {5, 7},   {8, 10}, {9, 11},  {13, 14}, {1, 4},
      {2, 6},   {5, 8},   {7, 10},  {9, 13},  {11, 14}, {2, 4},   {3, 6},  {9, 12},  {11, 13}, {3, 5},
      {6, 8},   {7, 9},   {10, 12}, {3, 4},   {5, 6},   {7, 8},   {9, 10}, {11, 12}, {6, 7},   {8, 9}};
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

// Sorted columns stay in registers.
template <class Columns>
inline double sum_column_bends(const float* x, size_t stride, const uint8_t* counts, float* next) {
  static_assert(Columns::kCount == kColumns);
  const Columns columns(counts);
  if (columns.any_is_empty()) return -1;
  typename Columns::Row rows[kColumnRows];
#pragma GCC unroll 16
  for (size_t i = 0; i < kColumnRows; ++i) {
    rows[i] = columns.load(x + i * stride, static_cast<int>(i));
  }
  sort_rows<Columns>(rows);
  return columns.sum_bends(rows, next);
}

template <class Columns>
constexpr auto sum_column_bends_or_null() {
  double (*op)(const float*, size_t, const uint8_t*, float*) = nullptr;
  if constexpr (kHasSamplerOps && requires { &Columns::sum_bends; }) op = sum_column_bends<Columns>;
  return op;
}

}  // namespace sotto::generic
