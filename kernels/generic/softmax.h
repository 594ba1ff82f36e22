// The parts of a softmax over logits, and the greedy choice.
#pragma once

#include <cstdint>

#include "kernels/generic/block.h"
#include "kernels/generic/math.h"

namespace sotto::generic {

// Lane by lane, in four chains to hide latency; order does not matter to a maximum, but
// for the sign of zero.
template <class V>
inline V max_lanes(const float* x, size_t n) {
  V a = V::broadcast(-__builtin_inff());
  V b = a;
  V c = a;
  V d = a;
  size_t i = 0;
  if (n >= 2 * kLanes) {
    // From here on, none lies on two cache lines; some are looked at twice.
    a = max(V::load(x, Whole{}), a);
    i = kLanes - reinterpret_cast<uintptr_t>(x) / sizeof(float) % kLanes;
  }
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    a = max(V::load(x + i, Whole{}), a);
    b = max(V::load(x + i + kLanes, Whole{}), b);
    c = max(V::load(x + i + 2 * kLanes, Whole{}), c);
    d = max(V::load(x + i + 3 * kLanes, Whole{}), d);
  }
  a = max(max(a, b), max(c, d));
  for_each_block<V>(n - i, [&](size_t k, auto extent) { a = max(merge(V::load(x + i + k, extent), extent, a), a); });
  return a;
}

template <class V>
inline float max(const float* x, size_t n) {
  return fold_max(max_lanes<V>(x, n)) + 0.0f;
}

// The first of x equal to m, or n.
template <class V>
inline size_t find(const float* x, size_t n, float m) {
  const V wanted = V::broadcast(m);
  for (size_t i = 0; i < n; i += kLanes) {
    uint32_t found = 0;
    if (i + kLanes <= n) {
      found = equal_mask(V::load(x + i, Whole{}), wanted);
    } else {
      found = equal_mask(V::load(x + i, Part{n - i}), wanted) & ((1u << (n - i)) - 1);
    }
    if (found != 0) return i + static_cast<size_t>(__builtin_ctz(found));
  }
  return n;
}

// One pass for the maximum of each block, then a search in the first block that has it.
template <class V>
inline size_t argmax(const float* x, size_t n) {
  constexpr size_t kBlock = 2048;
  float m = -__builtin_inff();
  size_t best = n;
  for (size_t i = 0; i < n; i += kBlock) {
    const float block = fold_max(max_lanes<V>(x + i, n - i < kBlock ? n - i : kBlock));
    if (block > m) {
      m = block;
      best = i;
    }
  }
  // All -infinity or NaN: the first -infinity, if any.
  if (best == n) best = 0;
  const size_t index = best + find<V>(x + best, n - best, m);
  return index < n ? index : 0;
}

template <class V>
inline float exp_shifted(const float* x, size_t n, float max, float* y) {
  const V shift = V::broadcast(max);
  V sum = V::zero();
  if (y == nullptr) {
    for_each_block<V>(
        n, [&](size_t i, auto extent) { sum = sum + merge(exp(V::load(x + i, extent) - shift), extent, V::zero()); });
  } else {
    for_each_block<V>(n, [&](size_t i, auto extent) {
      const V e = merge(exp(V::load(x + i, extent) - shift), extent, V::zero());
      sum = sum + e;
      e.store(y + i, extent);
    });
  }
  return fold_add(sum);
}

}  // namespace sotto::generic
