// What a tournament watermark does with a whole vocabulary.
#pragma once

#include "kernels/generic/block.h"

namespace sotto::generic {

// Integers, which compilers vectorize where the instruction set multiplies 64 bits; written
// out, as in min_hash.h.
template <class V>
inline void mix_words(uint64_t seed, bool high, const int32_t* ids, int32_t first_id, size_t n,
                      uint32_t* words) {
  constexpr size_t kBatch = 256;
  uint64_t mixed[kBatch];
  for (size_t first = 0; first < n; first += kBatch) {
    const size_t count = n - first < kBatch ? n - first : kBatch;
    const auto begin = static_cast<uint32_t>(first_id) + static_cast<uint32_t>(first);
    for (size_t i = 0; i < count; ++i) {
      mixed[i] = ids != nullptr ? static_cast<uint32_t>(ids[first + i])
                                : begin + static_cast<uint32_t>(i);
    }
    for (size_t i = 0; i < count; ++i) {
      uint64_t z = seed + (mixed[i] + 1) * 0x9e3779b97f4a7c15;
      z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
      z = (z ^ z >> 27) * 0x94d049bb133111eb;
      mixed[i] = z ^ z >> 31;
    }
    const int shift = high ? 32 : 0;
    for (size_t i = 0; i < count; ++i) words[first + i] = static_cast<uint32_t>(mixed[i] >> shift);
  }
}

template <class V>
inline void scale_by_bits(const uint32_t* words, uint32_t shift, uint32_t bits,
                          const float* factors, float least, size_t n, float* p) {
  const V lowest = V::broadcast(least);
  const uint32_t mask = (1u << bits) - 1;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const V scaled = V::load(p + i, Whole{}) * V::look_up(factors, words + i, shift, mask);
    select_ge(scaled, lowest, scaled, V::zero()).store(p + i, Whole{});
  }
  for (; i < n; ++i) {
    const float scaled = p[i] * factors[words[i] >> shift & mask];
    p[i] = scaled >= least ? scaled : 0.0f;
  }
}

}  // namespace sotto::generic
