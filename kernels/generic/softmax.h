// Computes the parts of a softmax over logits, selects the largest logit, and selects candidates by their weights.
#pragma once

#include <cstdint>

#include "kernels/generic/vector.h"
#include "kernels/kernels.h"

namespace sotto::SOTTO_ISA::generic {

// Returns the maximum of each lane, computed in four chains that hide latency. The order of the chains affects only the
// sign of zero.
template <class V>
inline V max_lanes(const float* x, size_t n) {
  V a = V::broadcast(-__builtin_inff());
  V b = a;
  V c = a;
  V d = a;
  size_t i = 0;
  if (n >= 2 * kLanes) {
    // After the first block, the loop continues at a boundary of 64 bytes, so that none of its loads crosses a cache
    // line. Reading some elements twice does not change a maximum.
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

// Returns the index of the first element of x that equals m, or n if there is none.
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

// Computes the maximum of each block, then searches the first block that contains the overall maximum.
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
  // If all elements are -infinity or NaN, the result is the first -infinity, or 0.
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

// Sums to_fixed(x) over lanes with values from 0 to 1. A float cannot represent an integer of that size, so x is split:
// first x is rounded to a multiple of 2^-20, and then the remainder, which is exact, to a multiple of 2^-40. Together,
// the two steps round x to nearest, ties to even. Adding kCoarse or kFine performs the rounding.
template <class V>
class FixedSum {
 public:
  void add(V x) {
    const V one[] = {x};
    add(one);
  }
  template <size_t kCount>
  [[gnu::always_inline]] void add(const V (&x)[kCount]) {
    if (added_ + kCount > kMaxAdditions) flush();
    added_ += kCount;
    const V coarse = V::broadcast(kCoarse), fine = V::broadcast(kFine);
#pragma GCC unroll 4
    for (const V& number : x) {
      const V rounded = number + coarse;
      coarse_bits_.add(rounded);
      fine_bits_.add((number - (rounded - coarse)) + fine);
    }
  }
  uint64_t total() {
    flush();
    return total_;
  }

 private:
  static constexpr float kCoarse = 0x1.8p3f;
  static constexpr float kFine = 0x1.8p-17f;
  static constexpr uint32_t kMaxAdditions = 512;  // number of additions during which no lane's sum exceeds 32 bits

  void flush() {
    uint32_t coarse[kLanes], fine[kLanes];
    coarse_bits_.store(coarse);
    fine_bits_.store(fine);
    const uint32_t coarse_base = added_ * bits_of(kCoarse), fine_base = added_ * bits_of(kFine);
    uint64_t coarse_sum = 0;
    int64_t fine_sum = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      coarse_sum += coarse[lane] - coarse_base;
      fine_sum += static_cast<int32_t>(fine[lane] - fine_base);
    }
    total_ += (coarse_sum << 20) + static_cast<uint64_t>(fine_sum);
    coarse_bits_ = {};
    fine_bits_ = {};
    added_ = 0;
  }
  static uint32_t bits_of(float x) { return __builtin_bit_cast(uint32_t, x); }

  typename V::BitSums coarse_bits_;
  typename V::BitSums fine_bits_;
  uint32_t added_ = 0;
  uint64_t total_ = 0;
};

// Computes y = exp(exponent(x)) and the sum of to_fixed(y). Always inlined, because `exponent` captures vectors.
template <class V, class Exponent>
[[gnu::always_inline]] inline uint64_t sum_exps(const float* x, size_t n, float* y, Exponent exponent) {
  FixedSum<V> sum;
  size_t begin = 0;
  // If the instruction set has exp_each(), four vectors are computed at the same time.
  if constexpr (requires(V(&four)[4]) { exp_each(four); }) {
    for (; begin + 4 * kLanes <= n; begin += 4 * kLanes) {
      V e[4];
#pragma GCC unroll 4
      for (size_t i = 0; i < 4; ++i) e[i] = exponent(V::load(x + begin + i * kLanes, Whole{}));
      exp_each(e);
#pragma GCC unroll 4
      for (size_t i = 0; i < 4; ++i) e[i].store(y + begin + i * kLanes, Whole{});
      sum.add(e);
    }
  }
  x += begin;
  y += begin;
  for_each_block<V>(n - begin, [&](size_t i, auto extent) {
    const V e = merge(exp(exponent(V::load(x + i, extent))), extent, V::zero());
    e.store(y + i, extent);
    sum.add(e);
  });
  return sum.total();
}

template <class V>
inline uint64_t exp_weights(const float* x, size_t n, float max, float scale, float* y) {
  const V largest = V::broadcast(max), scales = V::broadcast(scale);
  if (scale == 1 && __builtin_isfinite(max)) return sum_exps<V>(x, n, y, [=](V l) { return l - largest; });
  return sum_exps<V>(x, n, y, [=](V l) { return select_ge(l, largest, V::zero(), (l - largest) * scales); });
}

template <class V>
inline size_t keep_from(const float* key, float floor, const float* x, const int32_t* ids, int32_t first_id, size_t n,
                        float* kept_x, int32_t* kept_ids) {
  const V lower = V::broadcast(floor);
  const bool in_place = kept_x == x && kept_ids == ids;
  size_t kept = 0;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const uint32_t mask = greater_equal_mask(V::load(key + i, Whole{}), lower);
    if (mask == 0) continue;
    if (in_place && kept == i && mask == 0xffff) {
      kept += kLanes;
      continue;
    }
    // compress() reads all 16 elements before it writes any, so kept_x may be x.
    const auto from = first_id + static_cast<int32_t>(i);
    kept += V::compress(mask, x + i, ids != nullptr ? ids + i : nullptr, from, kept_x + kept, kept_ids + kept);
  }
  for (; i < n; ++i) {
    if (!(key[i] >= floor)) continue;
    kept_x[kept] = x[i];
    kept_ids[kept++] = ids != nullptr ? ids[i] : first_id + static_cast<int32_t>(i);
  }
  return kept;
}

template <class V>
inline CollectedSum sum_and_collect(const float* x, float floor, float ceiling, const float* weights, int32_t first,
                                    size_t n, int32_t* indices) {
  const V lower = V::broadcast(floor), upper = V::broadcast(ceiling);
  FixedSum<V> sum;
  if (floor >= ceiling) {  // no element lies between them
    for_each_block<V>(n, [&](size_t i, auto extent) {
      sum.add(select_ge(V::load(x + i, extent), upper, V::load(weights + i, extent), V::zero()));
    });
    return {sum.total(), 0};
  }
  size_t collected = 0;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const V number = V::load(x + i, Whole{});
    sum.add(select_ge(number, upper, V::load(weights + i, Whole{}), V::zero()));
    const uint32_t above = greater_equal_mask(number, upper);
    // Empty masks are compressed too: a branch on them would be mispredicted too often.
    const uint32_t mask = greater_equal_mask(number, lower) & ~above;
    collected += V::compress_ids(mask, first + static_cast<int32_t>(i), indices + collected);
  }
  if (i < n) {
    const Part rest = {n - i};
    sum.add(select_ge(V::load(x + i, rest), upper, V::load(weights + i, rest), V::zero()));
  }
  for (; i < n; ++i) {
    if (!(x[i] >= floor) || x[i] >= ceiling) continue;
    indices[collected++] = first + static_cast<int32_t>(i);
  }
  return {sum.total(), collected};
}

}  // namespace sotto::SOTTO_ISA::generic
