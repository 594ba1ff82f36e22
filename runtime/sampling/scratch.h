// Scratch memory shared by stages, selections and Ranking, with undefined contents between calls.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/arena.h"

namespace sotto {

inline constexpr int kBucketBits = 10;
inline constexpr size_t kBucketCount = size_t{1} << kBucketBits;

struct SamplerScratch {
  void layout(Arena& arena, size_t vocabulary_size) {
    arena.overlay([&](Arena& part) { keys = part.take<uint64_t>(vocabulary_size); },
                  [&](Arena& part) { words = part.take<uint32_t>(2 * vocabulary_size); },
                  [&](Arena& part) { floats = part.take<float>(vocabulary_size); });
    arena.overlay([&](Arena& part) { bucket_sums = part.take<uint64_t>(kBucketCount); },
                  [&](Arena& part) { bucket_totals = part.take<double>(kBucketCount); });
  }

  // These share memory, so only one of them is in use at a time.
  uint64_t* keys = nullptr;   // (vocabulary)
  uint32_t* words = nullptr;  // (2, vocabulary)
  float* floats = nullptr;    // (vocabulary)
  // These share memory too.
  uint64_t* bucket_sums = nullptr;  // (kBucketCount)
  double* bucket_totals = nullptr;  // (kBucketCount)
};

}  // namespace sotto
