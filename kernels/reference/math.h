// The functions of kernels/math.h for a single number, and the lanes of a reduction.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "kernels/math.h"

namespace sotto::reference {

inline float exp(float x) {
  if (!(x >= kExpMin)) return 0.0f;
  const float t = std::fma(x, kLog2E, kRoundToInteger);
  const float n = t - kRoundToInteger;
  float r = std::fma(-n, kLn2High, x);
  r = std::fma(-n, kLn2Low, r);
  float p = kExp[6];
  for (int k = 5; k >= 0; --k) p = std::fma(p, r, kExp[k]);
  return p * std::bit_cast<float>((std::bit_cast<uint32_t>(t) + kExponentBias) << 23);
}

inline float exp_or_infinity(float x) { return x <= kExpMax ? exp(x) : std::numeric_limits<float>::infinity(); }

inline float clamp(float x, float low, float high) {
  const float y = x > low ? x : low;
  return y < high ? y : high;
}

// Requires |x| < 2^22.
inline int32_t round_to_int(float x) { return static_cast<int32_t>((x + kRoundToInteger) - kRoundToInteger); }

// The 16 virtual lanes of a reduction: element i belongs to lane i % 16, and the lanes are folded as a tree.
class Lanes {
 public:
  // Returns the lane of element `i`. Lanes start at 0.
  float& operator[](size_t i) { return values_[i % kLanes]; }

  float fold() const {
    float v[kLanes];
    for (int j = 0; j < kLanes; ++j) v[j] = values_[j];
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int j = 0; j < half; ++j) v[j] = v[j] + v[j + half];
    }
    return v[0];
  }

 private:
  float values_[kLanes] = {};
};

}  // namespace sotto::reference
