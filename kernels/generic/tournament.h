// What watermarks and draws by hashes do with a whole vocabulary.
#pragma once

#include "kernels/generic/block.h"

namespace sotto::generic {

// Integers, which compilers vectorize where the instruction set multiplies 64 bits; written
// out, as in min_hash.h.
template <class V>
inline void mix_words(uint64_t seed, bool high, const int32_t* ids, int32_t first_id, size_t n,
                      uint32_t* words) {
  constexpr size_t kBatch = 256;
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15;
  uint64_t mixed[kBatch], steps[kBatch];
  for (size_t i = 0; i < kBatch; ++i) steps[i] = i * kStep;
  for (size_t first = 0; first < n; first += kBatch) {
    const size_t count = n - first < kBatch ? n - first : kBatch;
    if (ids != nullptr) {
      for (size_t i = 0; i < count; ++i) {
        mixed[i] = seed + (uint64_t{static_cast<uint32_t>(ids[first + i])} + 1) * kStep;
      }
    } else {
      const auto begin = static_cast<uint32_t>(first_id) + static_cast<uint32_t>(first);
      const uint64_t base = seed + (uint64_t{begin} + 1) * kStep;
      for (size_t i = 0; i < count; ++i) mixed[i] = base + steps[i];
    }
    const int shift = high ? 32 : 0;
    for (size_t i = 0; i < count; ++i) {
      uint64_t z = mixed[i];
      z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
      z = (z ^ z >> 27) * 0x94d049bb133111eb;
      words[first + i] = static_cast<uint32_t>((z ^ z >> 31) >> shift);
    }
  }
}

template <class V>
inline size_t collect_below(const uint32_t* words, const float* y, float factor, int32_t first,
                            size_t n, int32_t* below) {
  const V factors = V::broadcast(factor), unit = V::broadcast(0x1p-24f);
  size_t collected = 0;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const V x = V::from_high_bits(words + i) * unit;
    const uint32_t mask = greater_equal_mask(V::load(y + i, Whole{}) * factors, x);
    if (mask == 0) continue;
    collected += V::compress_ids(mask, first + static_cast<int32_t>(i), below + collected);
  }
  for (; i < n; ++i) {
    const float x = static_cast<float>(words[i] >> 8) * 0x1p-24f;
    if (x <= y[i] * factor) below[collected++] = first + static_cast<int32_t>(i);
  }
  return collected;
}

// What vectors can do comes first, so that the sums wait for nothing but each other.
template <class V>
inline void add_by_bits(const uint32_t* words, uint32_t shift, uint32_t bits, const float* p,
                        size_t n, double* sums) {
  constexpr size_t kBatch = 128;
  uint32_t places[kBatch];
  double numbers[kBatch];
  const uint32_t mask = (1u << bits) - 1;
  size_t first = 0;
  for (; first + kBatch <= n; first += kBatch) {
    for (size_t i = 0; i < kBatch; ++i) places[i] = words[first + i] >> shift & mask;
    for (size_t i = 0; i < kBatch; ++i) numbers[i] = static_cast<double>(p[first + i]);
    for (size_t i = 0; i < kBatch; i += 8) {
      for (size_t k = i; k < i + 8; ++k) sums[places[k]] += numbers[k];
    }
  }
  for (; first < n; ++first) sums[words[first] >> shift & mask] += static_cast<double>(p[first]);
}

template <class V>
inline void scale_by_bits(const uint32_t* words, uint32_t shift, uint32_t bits, const float* low,
                          const float* high, float least, size_t n, const float* p, float* y) {
  const V lowest = V::broadcast(least);
  const uint32_t mask = (1u << bits) - 1;
  const typename V::Factors factors(low, high, mask);
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const V scaled = V::load(p + i, Whole{}) * factors.of(words + i, shift, mask);
    select_ge(scaled, lowest, scaled, V::zero()).store(y + i, Whole{});
  }
  for (; i < n; ++i) {
    const uint32_t b = words[i] >> shift & mask;
    const float scaled = p[i] * (low[b % 32] * high[b / 32]);
    y[i] = scaled >= least ? scaled : 0.0f;
  }
}

}  // namespace sotto::generic
