// The parts of sampling that look at a whole vocabulary.
#pragma once

#include "kernels/generic/block.h"
#include "kernels/generic/math.h"
#include "kernels/kernels.h"

namespace sotto::generic {

template <class V>
inline uint64_t exp_weights(const float* x, size_t n, float max, float scale, float* y) {
  const V largest = V::broadcast(max);
  const V scales = V::broadcast(scale);
  const V one = V::broadcast(1.0f);
  typename V::Weights sum(kWeightBase);
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

template <class V>
inline Split split(const float* x, float floor, float ceiling, const float* values, double base,
                   size_t n, float* between_x, int32_t* between) {
  const V least = V::broadcast(floor), most = V::broadcast(ceiling);
  typename V::Weights sum(base);
  size_t collected = 0;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const V number = V::load(x + i, Whole{});
    sum.add(select_ge(number, most, V::load(values + i, Whole{}), V::zero()));
    const uint32_t above = greater_equal_mask(number, most);
    // Also where it is empty: a branch could not be predicted.
    const uint32_t mask = greater_equal_mask(number, least) & ~above;
    collected += V::compress(mask, x + i, nullptr, static_cast<int32_t>(i), between_x + collected,
                             between + collected);
  }
  if (i < n) {
    const Part rest = {n - i};
    sum.add(select_ge(V::load(x + i, rest), most, V::load(values + i, rest), V::zero()));
  }
  for (; i < n; ++i) {
    if (x[i] >= ceiling || !(x[i] >= floor)) continue;
    between_x[collected] = x[i];
    between[collected++] = static_cast<int32_t>(i);
  }
  return {sum.total(), collected};
}

}  // namespace sotto::generic
