// The parts of sampling that look at a whole vocabulary.
#pragma once

#include "kernels/generic/block.h"
#include "kernels/generic/math.h"
#include "kernels/kernels.h"

namespace sotto::generic {

// The sum of integer_of(x, base) over lanes of 0 ... base / 1024. As a float has no room for an
// integer of that size, x is rounded to the next multiple of 2^-32 base, which is an integer,
// and what that leaves, exactly, to one of 2^-52 base: together x to the nearest even.
template <class V>
class IntegerSum {
 public:
  explicit IntegerSum(double base)
      : coarse_(static_cast<float>(base * (1.5 * 0x1p-9))), fine_(static_cast<float>(base * (1.5 * 0x1p-29))) {}

  void add(V x) {
    const V one[] = {x};
    add(one);
  }
  template <size_t kCount>
  [[gnu::always_inline]] void add(const V (&x)[kCount]) {
    if (added_ + kCount > kMost) flush();
    added_ += kCount;
    const V coarse = V::broadcast(coarse_), fine = V::broadcast(fine_);
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
  static constexpr uint32_t kMost = 512;  // with which no lane's sum exceeds 32 bits

  void flush() {
    uint32_t coarse[kLanes], fine[kLanes];
    coarse_bits_.store(coarse);
    fine_bits_.store(fine);
    const uint32_t coarse_base = added_ * bits_of(coarse_), fine_base = added_ * bits_of(fine_);
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

  float coarse_;
  float fine_;
  typename V::BitSums coarse_bits_;
  typename V::BitSums fine_bits_;
  uint32_t added_ = 0;
  uint64_t total_ = 0;
};

// Adds nothing.
template <class V>
class NoSum {
 public:
  explicit NoSum(double) {}
  template <class Numbers>
  void add(const Numbers&) {}
  uint64_t total() const { return 0; }
};

// `exponent(l)`: of the logits l, what y is exp() of. Inline, as it holds vectors.
template <class V, class Sum, class Exponent>
[[gnu::always_inline]] inline uint64_t sum_exps(const float* x, size_t n, float* y, Exponent exponent) {
  Sum sum(kWeightBase);
  size_t begin = 0;
  // Several at once where there is an exp() of them.
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
inline bool is_plain_exp(float max, float scale) {
  return scale == 1 && __builtin_fabsf(max) <= FLT_MAX;
}

template <class V>
inline uint64_t exp_weights(const float* x, size_t n, float max, float scale, float* y) {
  const V largest = V::broadcast(max), scales = V::broadcast(scale);
  if (is_plain_exp<V>(max, scale)) {
    return sum_exps<V, IntegerSum<V>>(x, n, y, [=](V l) { return l - largest; });
  }
  return sum_exps<V, IntegerSum<V>>(x, n, y,
                                    [=](V l) { return select_ge(l, largest, V::zero(), (l - largest) * scales); });
}

template <class V>
inline void exp_shares(const float* x, size_t n, float max, float scale, float* y) {
  if (!is_plain_exp<V>(max, scale)) return static_cast<void>(exp_weights<V>(x, n, max, scale, y));
  const V largest = V::broadcast(max);
  sum_exps<V, NoSum<V>>(x, n, y, [=](V l) { return l - largest; });
}

template <class V>
inline size_t keep_from(const float* key, float floor, const float* x, const int32_t* ids, int32_t first_id, size_t n,
                        float* kept_x, int32_t* kept_ids) {
  const V least = V::broadcast(floor);
  const bool in_place = kept_x == x && kept_ids == ids;
  size_t kept = 0;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const uint32_t mask = greater_equal_mask(V::load(key + i, Whole{}), least);
    if (mask == 0) continue;
    if (in_place && kept == i && mask == 0xffff) {
      kept += kLanes;
      continue;
    }
    // What is read here is whole before anything is written: x may be kept_x.
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
inline Split split(const float* x, float floor, float ceiling, const float* values, double base, int32_t first,
                   size_t n, int32_t* between) {
  const V least = V::broadcast(floor), most = V::broadcast(ceiling);
  IntegerSum<V> sum(base);
  if (floor >= ceiling) {  // there is nothing between
    for_each_block<V>(n, [&](size_t i, auto extent) {
      sum.add(select_ge(V::load(x + i, extent), most, V::load(values + i, extent), V::zero()));
    });
    return {sum.total(), 0};
  }
  size_t collected = 0;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const V number = V::load(x + i, Whole{});
    sum.add(select_ge(number, most, V::load(values + i, Whole{}), V::zero()));
    const uint32_t above = greater_equal_mask(number, most);
    // Also where it is empty: a branch could not be predicted.
    const uint32_t mask = greater_equal_mask(number, least) & ~above;
    collected += V::compress_ids(mask, first + static_cast<int32_t>(i), between + collected);
  }
  if (i < n) {
    const Part rest = {n - i};
    sum.add(select_ge(V::load(x + i, rest), most, V::load(values + i, rest), V::zero()));
  }
  for (; i < n; ++i) {
    if (!(x[i] >= floor) || x[i] >= ceiling) continue;
    between[collected++] = first + static_cast<int32_t>(i);
  }
  return {sum.total(), collected};
}

// (max - l) * scale, 0 where l >= max.
template <class V>
class Gap {
 public:
  Gap(float max, float scale) : max_(V::broadcast(max)), scale_(V::broadcast(scale)) {}
  V operator()(V l) const { return select_ge(l, max_, V::zero(), (max_ - l) * scale_); }

 private:
  V max_;
  V scale_;
};

template <class V>
inline double sum_gaps(const float* x, const float* y, size_t n, float max, float scale) {
  const Gap<V> gap(max, scale);
  const V least = V::broadcast(FLT_MIN);
  typename V::DoubleSums sums;
  for_each_block<V>(n, [&](size_t i, auto extent) {
    const V share = V::load(y + i, extent);
    sums.add(select_ge(share, least, share * gap(V::load(x + i, extent)), V::zero()));
  });
  return sums.fold();
}

template <class V, class Extent>
inline V bends(const float* p, Extent extent) {
  const V middle = V::load(p + 1, extent);
  return abs((V::load(p, extent) - middle) - (middle - V::load(p + 2, extent)));
}

template <class V>
inline double sum_bends(const float* p, size_t n) {
  typename V::DoubleSums sums;
  for_each_block<V>(n, [&](size_t i, auto extent) { sums.add(bends<V>(p + i, extent)); });
  return sums.fold();
}

// A sum waits for its last addition: there are two that do not wait for each other.
template <class V>
inline void sum_bends_twice(const float* p, size_t n, double sums[2]) {
  typename V::DoubleSums first, second;
  for_each_block<V>(n, [&](size_t i, auto extent) {
    first.add(bends<V>(p + i, extent));
    second.add(bends<V>(p + n + i, extent));
  });
  sums[0] = first.fold();
  sums[1] = second.fold();
}

template <class V>
inline uint64_t surprises(const float* x, const float* shares, size_t n, float max, float scale, float offset,
                          double base, float* y) {
  const Gap<V> gap(max, scale);
  const V least = V::broadcast(FLT_MIN), offsets = V::broadcast(offset);
  IntegerSum<V> sum(base);
  for_each_block<V>(n, [&](size_t i, auto extent) {
    const V share = V::load(shares + i, extent);
    const V all = share * (gap(V::load(x + i, extent)) + offsets);
    const V surprise = select_ge(share, least, all, V::zero());
    surprise.store(y + i, extent);
    sum.add(surprise);
  });
  return sum.total();
}

template <class V>
inline void nearness(const float* x, size_t n, float top, float scale, float center, float* y) {
  const Gap<V> gap(top, scale);
  const V centers = V::broadcast(center), lowest = V::broadcast(-__builtin_inff());
  for_each_block<V>(n, [&](size_t i, auto extent) {
    const V near = V::broadcast(-0.0f) - abs(gap(V::load(x + i, extent)) - centers);
    max(near, lowest).store(y + i, extent);  // of NaN, the second
  });
}

}  // namespace sotto::generic
