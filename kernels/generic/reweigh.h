// The parts of sampling that give logits a new shape, or ask for theirs.
#pragma once

#include <cfloat>

#include "kernels/generic/block.h"
#include "kernels/kernels.h"

namespace sotto::generic {

template <class V>
inline FiniteSum sum_finite(const float* x, size_t n, double shift, bool squares) {
  using Doubles = typename V::Doubles;
  const V most = V::broadcast(FLT_MAX), one = V::broadcast(1), zero = V::zero();
  const V infinity = V::broadcast(__builtin_inff());
  const Doubles shifts = Doubles::broadcast(shift);
  typename V::DoubleSums sums;
  V counts = zero;
  const auto add = [&](size_t i, auto extent, auto power) {
    const V value = merge(V::load(x + i, extent), extent, infinity);
    const V size = abs(value);
    const V is_finite = select_ge(most, size, one, zero);
    counts = counts + is_finite;
    const Doubles d = Doubles::of(select_ge(most, size, value, zero)) - shifts;
    sums.add(power(d) * Doubles::of(is_finite));
  };
  if (squares) {
    for_each_block<V>(n, [&](size_t i, auto extent) { add(i, extent, [](Doubles d) { return d * d; }); });
  } else {
    for_each_block<V>(n, [&](size_t i, auto extent) { add(i, extent, [](Doubles d) { return d; }); });
  }
  return {sums.fold(), static_cast<size_t>(fold_add(counts))};
}

template <class V>
inline void smooth(float* x, size_t n, float max, double square, double cube) {
  using Doubles = typename V::Doubles;
  const V least = V::broadcast(-FLT_MAX), lowest = V::broadcast(-__builtin_inff());
  const Doubles tops = Doubles::of(V::broadcast(max));
  const Doubles squares = Doubles::broadcast(square), cubes = Doubles::broadcast(cube);
  for_each_block<V>(n, [&](size_t i, auto extent) {
    const V l = V::load(x + i, extent);
    const Doubles d = Doubles::of(l) - tops;
    const V smoothed = (tops + d * d * (squares + cubes * d)).to_floats();
    select_ge(l, least, smoothed, lowest).store(x + i, extent);
  });
}

template <class V>
inline void aim(const float* shares, size_t n, float scale, float goal, float* p, float* x) {
  const V scales = V::broadcast(scale), goals = V::broadcast(goal);
  const V slope = V::broadcast(1 / 0.3f), one = V::broadcast(1), five = V::broadcast(5);
  const V ten = V::broadcast(10), least = V::broadcast(-FLT_MAX);
  const V lowest = V::broadcast(-__builtin_inff());
  for_each_block<V>(n, [&](size_t i, auto extent) {
    const V probability = V::load(shares + i, extent) * scales;
    probability.store(p + i, extent);
    const V d = abs(probability - goals) * slope;
    const V l = five - ten * (d * d) / (one + d);
    select_ge(V::load(x + i, extent), least, l, lowest).store(x + i, extent);
  });
}

}  // namespace sotto::generic
