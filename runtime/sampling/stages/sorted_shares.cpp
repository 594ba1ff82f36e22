#include "runtime/sampling/stages/sorted_shares.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <functional>
#include <utility>

namespace sotto {

namespace {

constexpr uint32_t kLargest = 0x3f800000;  // 1

// From the largest.
uint32_t distance(float share) { return kLargest - std::bit_cast<uint32_t>(share); }

constexpr int kDigitBits = 9;
constexpr int kMostDigits = 4;
constexpr size_t kDigits = size_t{1} << kDigitBits;
static_assert(kMostDigits * kDigits * sizeof(uint32_t) <= Candidates::kBuckets * sizeof(uint64_t));
static_assert(kLargest >> kMostDigits * kDigitBits / 2 >> kMostDigits * kDigitBits / 2 == 0);

template <int kCounted>
void count_digits(std::span<const uint32_t> numbers, uint32_t (*counts)[kDigits]) {
  std::fill_n(&counts[0][0], kMostDigits * kDigits, 0);
  for (uint32_t number : numbers) {
    for (int digit = 0; digit < kCounted; ++digit, number >>= kDigitBits) {
      ++counts[digit][number & (kDigits - 1)];
    }
  }
}

// `places`: how many there are of each digit.
template <int kDigit>
void sort_by(std::span<const uint32_t> from, uint32_t* places, uint32_t* to) {
  constexpr size_t kUnrolled = 8;
  uint32_t next = 0;
  for (size_t digit = 0; digit < kDigits; ++digit) next += std::exchange(places[digit], next);
  const auto move = [=](uint32_t number) {
    const size_t digit = number >> kDigit * kDigitBits & (kDigits - 1);
    const uint32_t place = places[digit];
    places[digit] = place + 1;
    to[place] = number;
  };
  size_t i = 0;
  for (; i + kUnrolled <= from.size(); i += kUnrolled) {
    for (size_t k = 0; k < kUnrolled; ++k) move(from[i + k]);
  }
  for (; i < from.size(); ++i) move(from[i]);
}

}  // namespace

// Sorts distances, a digit after the other from the lowest, between two places behind each
// other.
DigitSort::DigitSort(Candidates& candidates, std::span<const float> shares)
    : kernels_(candidates.kernels()), size_(shares.size()) {
  auto* from = reinterpret_cast<uint32_t*>(candidates.keys());
  uint32_t* to = from + size_;
  uint32_t farthest = 0;
  for (size_t i = 0; i < size_; ++i) {
    from[i] = distance(shares[i]);
    farthest |= from[i];
  }
  const int digits = (static_cast<int>(std::bit_width(farthest)) + kDigitBits - 1) / kDigitBits;
  auto* places = reinterpret_cast<uint32_t(*)[kDigits]>(candidates.bucket_sums());
  digits < kMostDigits ? count_digits<kMostDigits - 1>({from, size_}, places)
                       : count_digits<kMostDigits>({from, size_}, places);
  void (*const passes[])(std::span<const uint32_t>, uint32_t*, uint32_t*) = {sort_by<0>, sort_by<1>, sort_by<2>,
                                                                             sort_by<3>};
  for (int digit = 0; digit < digits; ++digit) {
    passes[digit]({from, size_}, places[digit], to);
    std::swap(from, to);
  }
  for (size_t i = 0; i < size_; ++i) from[i] = kLargest - from[i];
  shares_ = reinterpret_cast<const float*>(from);
}

double DigitSort::sum_of_bends(size_t block) const {
  const size_t first = block * kBendBlock;
  return kernels_.sum_bends(shares_ + first, std::min(kBendBlock, size_ - 2 - first));
}

namespace {

constexpr size_t kNumbers = 2 * Candidates::kChunk;  // as many uint16_t as there are bytes
static_assert(kNumbers * sizeof(uint16_t) <= Candidates::kChunk * sizeof(float));
constexpr size_t kFewest = 16384;  // with less, the table is too small beside what is beside it
constexpr size_t kSampled = 4096;
constexpr size_t kSampledTogether = 4;  // neighbours, as they come from memory together
constexpr size_t kMostInTile = 512;     // spilled
constexpr size_t kSorted = 2048;
constexpr size_t kTile = kColumns * kColumnRows;
// A tile with all that may belong to it, what else is asked for, and another tile.
static_assert(kBendBlock + 3 + 2 * (kTile + kMostInTile) <= kSorted);
// Two blocks that are not summed yet, and another tile.
static_assert(2 * kBendBlock + 2 + kTile + kMostInTile <= kSorted);
constexpr size_t kMostShares = Candidates::kBuckets * kBendBlock;
constexpr size_t kMostSlices = 1 << 16;

}  // namespace

SliceSort::SliceSort(Candidates& candidates, std::span<const float> shares, std::span<uint64_t> room)
    : kernels_(candidates.kernels()),
      shares_(shares),
      room_(room),
      numbers_(reinterpret_cast<uint16_t*>(candidates.chunk())),
      sums_(reinterpret_cast<double*>(candidates.bucket_sums())) {}

bool SliceSort::sort() {
  if (shares_.size() < kFewest || shares_.size() > kMostShares) return false;
  if (!lay_out() || !scatter()) return false;
  if (!sum_exactly()) sum_in_order();
  return true;
}

// Chooses the slices, and where everything is in the room.
bool SliceSort::lay_out() {
  most_spilled_ = std::min(shares_.size() / 96, size_t{UINT16_MAX});
  const size_t fixed = kSorted * sizeof(float) + most_spilled_ * sizeof(Spilled);
  constexpr size_t kPerTile = kTile * sizeof(float) + kColumns + sizeof(uint16_t);
  const size_t tiles = std::min((room_.size_bytes() - fixed) / kPerTile, kMostSlices / kColumns);
  slice_count_ = tiles * kColumns;
  table_ = reinterpret_cast<float*>(room_.data());
  sorted_ = table_ + tiles * kTile;
  spilled_ = reinterpret_cast<Spilled*>(sorted_ + kSorted);
  first_spilled_ = reinterpret_cast<uint16_t*>(spilled_ + most_spilled_);
  counts_ = reinterpret_cast<uint8_t*>(first_spilled_ + tiles);
  std::fill_n(first_spilled_, tiles, uint16_t{0});
  std::fill_n(counts_, slice_count_, uint8_t{0});
  return choose_slices(table_);
}

// By a sample, for as many shares in every slice. The last section has one slice, for all that
// are less than what the other sections hold.
bool SliceSort::choose_slices(float* sample) {
  const size_t stride = (shares_.size() / kSampled + 1) * kSampledTogether;
  size_t sampled = 0;
  for (size_t i = 0; i + kSampledTogether <= shares_.size(); i += stride) {
    std::memcpy(sample + sampled, shares_.data() + i, kSampledTogether * sizeof *sample);
    sampled += kSampledTogether;
  }
  int32_t farthest = 0;  // signed, for the baseline's vectors
  uint32_t zeros = 0;
  for (size_t i = 0; i < sampled; ++i) {
    const auto d = static_cast<int32_t>(distance(sample[i]));
    const bool is_zero = d == static_cast<int32_t>(kLargest);
    farthest = std::max(farthest, is_zero ? 0 : d);
    zeros += is_zero ? 1 : 0;
  }
  if (zeros > sampled / 64 || farthest == 0) return false;
  constexpr size_t kLast = kSections - 1;
  uint32_t counts[kSections];
  slices_.scale = float{kLast} / static_cast<float>(farthest);
  for (int attempt = 0; attempt < 4; ++attempt) {
    count_sections(sample, sampled, counts);
    // Few that are far away must not widen all sections.
    size_t last = kLast;
    for (size_t few = sampled / 512 + zeros; counts[last] <= few; --last) few -= counts[last];
    if (last + kSections / 4 > kLast) break;
    slices_.scale *= float{kLast} / static_cast<float>(last + 1);
  }
  const auto most = static_cast<uint32_t>(slice_count_ - kSections - 1);
  uint32_t first = 0;
  for (size_t section = 0; section < kSections; ++section) {
    const uint64_t share = section == kLast ? 0 : uint64_t{counts[section]} * most / sampled;
    const auto part = static_cast<uint32_t>(share);
    slices_.first[section] = static_cast<float>(first);
    slices_.width[section] = static_cast<float>(part + 1);
    first += part + 1;
  }
  assert(first < slice_count_);
  return true;
}

void SliceSort::count_sections(const float* sample, size_t sampled, uint32_t* counts) {
  for (size_t section = 0; section < kSections; ++section) {
    slices_.first[section] = static_cast<float>(section);
    slices_.width[section] = 0;
  }
  std::fill_n(counts, kSections, 0u);
  uint32_t odd[kSections] = {};  // so that few additions wait for another
  for (size_t first = 0; first < sampled; first += kNumbers) {
    const size_t count = std::min(kNumbers, sampled - first);
    kernels_.slice_numbers(sample + first, count, slices_, numbers_);
    for (size_t i = 0; i + 2 <= count; i += 2) {
      ++counts[numbers_[i]];
      ++odd[numbers_[i + 1]];
    }
  }
  for (size_t section = 0; section < kSections; ++section) counts[section] += odd[section];
}

bool SliceSort::scatter() {
  // Where sums will be.
  auto* const left = reinterpret_cast<LeftShare*>(sums_);
  constexpr size_t kMoved = Candidates::kBuckets;
  static_assert(sizeof(LeftShare) <= sizeof(*sums_));
  for (size_t first = 0; first < shares_.size(); first += kMoved) {
    const size_t count = std::min(kMoved, shares_.size() - first);
    const size_t left_count =
        kernels_.move_to_columns(shares_.data() + first, count, slices_, table_, slice_count_, counts_, left);
    for (size_t i = 0; i < left_count; ++i) spill(left[i].column, left[i].share);
    if (!has_room_) return false;
  }
  return true;
}

void SliceSort::spill(size_t slice, float share) {
  if (share == 0) {
    ++zero_count_;
    return;
  }
  uint16_t& first = first_spilled_[slice / kColumns];
  const size_t in_tile = first == 0 ? 0 : spilled_[first - 1].count;
  if (spilled_count_ == most_spilled_ || in_tile == kMostInTile) {
    has_room_ = false;
    return;
  }
  spilled_[spilled_count_++] = {share, first, static_cast<uint16_t>(in_tile + 1)};
  first = static_cast<uint16_t>(spilled_count_);
}

size_t SliceSort::tile_size(size_t tile) const {
  uint64_t counts[kColumns / 8];
  static_assert(kColumns == 16 && kColumns * kColumnRows < 1 << 16);
  std::memcpy(counts, counts_ + tile * kColumns, sizeof counts);
  constexpr uint64_t kEven = 0x00ff00ff00ff00ff;
  const uint64_t bytes = counts[0] + counts[1];  // 32 at most
  const auto size = static_cast<size_t>(((bytes & kEven) + (bytes >> 8 & kEven)) * 0x0001000100010001 >> 48);
  const size_t first = first_spilled_[tile];
  return first == 0 ? size : size + spilled_[first - 1].count;
}

// May write up to kTile behind it, too.
size_t SliceSort::write_tile(size_t tile, float* to) const {
  const size_t first = tile * kColumns;
  size_t size = kernels_.sort_columns(table_ + first, slice_count_, counts_ + first, to);
  for (size_t s = first_spilled_[tile]; s != 0; s = spilled_[s - 1].next) {
    const float share = spilled_[s - 1].share;
    float* place = std::upper_bound(to, to + size, share, std::greater<float>());
    std::memmove(place + 1, place, static_cast<size_t>(to + size - place) * sizeof *place);
    *place = share;
    ++size;
  }
  return size;
}

// From the last tile to the first, each by itself: as long as no share is too small, sums of bends
// are few multiples of its lowest bit, and no addition rounds in any order.
bool SliceSort::sum_exactly() {
  constexpr float kLeast = 0x1p-28f;  // of which a bit is 2^-51; all bends together are less than 2
  if (kernels_.sum_column_bends == nullptr) return false;
  size_t tiles = slice_count_ / kColumns;
  const size_t tiles_together = tiles / Candidates::kBuckets + 1;
  size_t size = 0;
  while (tiles > 0 && (size = write_tile(tiles - 1, sorted_)) == 0) --tiles;
  if (size == 0 || sorted_[size - 1] < kLeast) return false;
  block_count_ = (tiles + tiles_together - 1) / tiles_together;
  float next[2] = {0, 0};
  size_t behind = zero_count_;
  for (size_t block = block_count_; block-- > 0;) {
    const size_t first = block * tiles_together, end = std::min(first + tiles_together, tiles);
    const size_t before = behind;
    double sum = 0;
    for (size_t tile = end; tile-- > first;) sum += sum_tile(tile, next, &behind);
    sums_[block] = sum;
    numbers_[block] = static_cast<uint16_t>(behind - before);
  }
  sums_exactly_ = true;
  return true;
}

// The bends that begin in the tile. `next`: the first two from the tile on, before of those behind
// it; `behind`: how many there are.
double SliceSort::sum_tile(size_t tile, float* next, size_t* behind) {
  const size_t first = tile * kColumns;
  if (first_spilled_[tile] == 0) {
    const double sum = kernels_.sum_column_bends(table_ + first, slice_count_, counts_ + first, next);
    if (sum >= 0) {
      *behind += tile_size(tile);
      return sum;
    }
  }
  const size_t size = write_tile(tile, sorted_);
  std::copy_n(next, 2, sorted_ + size);
  std::copy_n(sorted_, 2, next);
  const size_t most = *behind + size;
  *behind = most;
  return most < 3 ? 0 : kernels_.sum_bends(sorted_, std::min(size, most - 2));
}

void SliceSort::sum_in_order() {
  block_count_ = (shares_.size() - 2 + kBendBlock - 1) / kBendBlock;
  size_t begin = 0, end = 0, block = 0;
  const auto sum_blocks = [&] {
    for (; end - begin >= 2 * kBendBlock + 2; begin += 2 * kBendBlock, block += 2) {
      kernels_.sum_bends_twice(sorted_ + begin, kBendBlock, sums_ + block);
    }
    if (kSorted - end >= kTile + kMostInTile) return;
    std::memmove(sorted_, sorted_ + begin, (end - begin) * sizeof *sorted_);
    end -= std::exchange(begin, 0);
  };
  for (size_t tile = 0; tile * kColumns < slice_count_; ++tile) {
    end += write_tile(tile, sorted_ + end);
    sum_blocks();
  }
  for (size_t left = zero_count_; left > 0;) {
    const size_t count = std::min(left, kTile);
    std::fill_n(sorted_ + end, count, 0.0f);
    end += count;
    left -= count;
    sum_blocks();
  }
  for (; end - begin > 2; begin += std::min(kBendBlock, end - begin - 2)) {
    const size_t count = std::min(kBendBlock, end - begin - 2);
    sums_[block++] = kernels_.sum_bends(sorted_ + begin, count);
  }
}

const float* SliceSort::from(size_t rank) {
  constexpr size_t kAsked = kBendBlock + 3;
  const size_t tiles = slice_count_ / kColumns;
  size_t tile = 0, first = 0;
  if (sums_exactly_) {
    size_t block = 0;
    while (block < block_count_ && first + numbers_[block] <= rank) first += numbers_[block++];
    tile = std::min(block * (tiles / Candidates::kBuckets + 1), tiles);
  }
  for (; tile < tiles; ++tile) {
    const size_t next = first + tile_size(tile);
    if (next > rank) break;
    first = next;
  }
  if (tile == tiles) first = rank;  // zeros
  size_t end = 0;
  const size_t least = rank - first + kAsked;
  for (; end < least && tile < tiles; ++tile) end += write_tile(tile, sorted_ + end);
  if (end < least) std::fill(sorted_ + end, sorted_ + least, 0.0f);
  return sorted_ + (rank - first);
}

}  // namespace sotto
