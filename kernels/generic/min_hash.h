// The hash of the self-hash watermark. Integers, which compilers vectorize as well as anyone:
// `V` only makes it a function of its file's instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/kernels.h"

namespace sotto::generic {

template <class V>
inline void min_hash(const MinHash& hash, const int32_t* ids, int32_t first_id, size_t n, int32_t* hashes) {
  constexpr size_t kBatch = 256;
  // mix32, written out: a function shared between files would be of any one's instruction set.
  const auto mix = [](uint32_t h) {
    h = (h ^ h >> 16) * 0x21f0aaad;
    h = (h ^ h >> 15) * 0xd35a2d97;
    return h ^ h >> 15;
  };
  int32_t mixed[kBatch], least[kBatch];
  for (size_t first = 0; first < n; first += kBatch) {
    const size_t count = n - first < kBatch ? n - first : kBatch;
    for (size_t i = 0; i < count; ++i) {
      const auto counted = static_cast<uint32_t>(first_id) + static_cast<uint32_t>(first + i);
      const uint32_t id = ids != nullptr ? static_cast<uint32_t>(ids[first + i]) : counted;
      mixed[i] = static_cast<int32_t>(mix(id ^ hash.in));
      least[i] = INT32_MAX;
    }
    for (size_t a = 0; a < hash.anchor_count; ++a) {
      const int32_t anchor = hash.anchors[a];
      for (size_t i = 0; i < count; ++i) {
        const int32_t m = mixed[i] ^ anchor;
        least[i] = m < least[i] ? m : least[i];
      }
    }
    for (size_t i = 0; i < count; ++i) {
      const auto m = static_cast<uint32_t>(least[i]);
      hashes[first + i] = static_cast<int32_t>(mix(m ^ hash.out) >> 8);
    }
  }
}

}  // namespace sotto::generic
