// Shares from the largest to the least, and sums of their bends: |(p - next p) - (next p - the p
// after)|. Two ways of sorting have the same results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/sampling/candidates.h"

namespace sotto {

inline constexpr size_t kBendBlock = 256;  // bends under one sum

// By digits, whatever the numbers are.
class DigitSort {
 public:
  // `shares` may be at the beginning of the candidates' keys.
  DigitSort(Candidates& candidates, std::span<const float> shares);
  // Of those that are sorted already, which must stay.
  DigitSort(const Kernels& kernels, std::span<const float> sorted)
      : kernels_(kernels), shares_(sorted.data()), size_(sorted.size()) {}

  size_t size() const { return size_; }
  size_t block_count() const { return (size_ - 2 + kBendBlock - 1) / kBendBlock; }
  size_t block_size(size_t) const { return kBendBlock; }
  double sum_of_bends(size_t block) const;
  // Those from this rank on.
  const float* from(size_t rank) const { return shares_ + rank; }

 private:
  const Kernels& kernels_;
  const float* shares_;
  size_t size_;
};

// By slices of their range, narrow where there are many, which then are sorted as columns of a
// table. Twice as fast, where it works. Its blocks may have other sizes; then all sums are exact.
class SliceSort {
 public:
  // `room`: for the table, 8 bytes a share or not much less.
  SliceSort(Candidates& candidates, std::span<const float> shares, std::span<uint64_t> room);

  // False if the shares are too few or too many, or lie too close together in places. Nothing
  // else may be asked for then.
  bool sort();

  size_t size() const { return shares_.size(); }
  size_t block_count() const { return block_count_; }
  size_t block_size(size_t block) const { return sums_exactly_ ? numbers_[block] : kBendBlock; }
  double sum_of_bends(size_t block) const { return sums_[block]; }
  // kBendBlock + 3 of them, as far as there are; until the next call.
  const float* from(size_t rank);

 private:
  // A share whose column was full, another of the same tile (1 + its place, 0 is none), and how
  // many these are up to here.
  struct Spilled {
    float share;
    uint16_t next;
    uint16_t count;
  };

  bool lay_out();
  bool choose_slices(float* sample);
  void count_sections(const float* sample, size_t sampled, uint32_t* counts);
  bool scatter();
  void spill(size_t slice, float share);
  bool sum_exactly();
  double sum_tile(size_t tile, float* next, size_t* behind);
  void sum_in_order();
  size_t tile_size(size_t tile) const;
  size_t write_tile(size_t tile, float* to) const;

  const Kernels& kernels_;
  std::span<const float> shares_;
  std::span<uint64_t> room_;
  uint16_t* numbers_;  // (kNumbers), of slices; then (block), the sizes of blocks that are tiles
  double* sums_;       // (block)
  size_t block_count_ = 0;
  bool sums_exactly_ = false;  // of blocks of tiles
  Slices slices_;
  float* table_ = nullptr;   // (row, slice)
  size_t slice_count_ = 0;   // a multiple of kColumns
  float* sorted_ = nullptr;  // (kSorted)
  size_t most_spilled_ = 0;
  Spilled* spilled_ = nullptr;  // (most_spilled_)
  size_t spilled_count_ = 0;
  bool has_room_ = true;               // for what is spilled
  uint16_t* first_spilled_ = nullptr;  // (tile), as Spilled::next
  uint8_t* counts_ = nullptr;          // (slice)
  size_t zero_count_ = 0;              // that are not in the table
};

}  // namespace sotto
