// The parts of sampling that look at a whole vocabulary.
#pragma once

#include "kernels/generic/block.h"
#include "kernels/generic/math.h"

namespace sotto::generic {

template <class V>
inline uint64_t exp_weights(const float* x, size_t n, float max, float scale, float* y) {
  const V largest = V::broadcast(max);
  const V scales = V::broadcast(scale);
  const V one = V::broadcast(1.0f);
  typename V::Weights sum;
  for_each_block<V>(n, [&](size_t i, auto extent) {
    const V l = V::load(x + i, extent);
    const V e = merge(select_ge(l, largest, one, exp((l - largest) * scales)), extent, V::zero());
    e.store(y + i, extent);
    sum.add(e);
  });
  return sum.total();
}

template <class V>
inline size_t keep_from(const float* key, float floor, const float* x, const int32_t* ids,
                        int32_t first_id, size_t n, float* kept_x, int32_t* kept_ids) {
  const V least = V::broadcast(floor);
  size_t kept = 0;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const uint32_t mask = greater_equal_mask(V::load(key + i, Whole{}), least);
    if (mask == 0) continue;
    // What is read here is whole before anything is written: x may be kept_x.
    const auto from = first_id + static_cast<int32_t>(i);
    kept += V::compress(mask, x + i, ids != nullptr ? ids + i : nullptr, from, kept_x + kept,
                        kept_ids + kept);
  }
  for (; i < n; ++i) {
    if (!(key[i] >= floor)) continue;
    kept_x[kept] = x[i];
    kept_ids[kept++] = ids != nullptr ? ids[i] : first_id + static_cast<int32_t>(i);
  }
  return kept;
}

}  // namespace sotto::generic
