// The functions of kernels/math.h for one number.
#pragma once

#include <bit>
#include <cmath>
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

// For |x| < 2^22.
inline int32_t round_to_int(float x) { return static_cast<int32_t>((x + kRoundToInteger) - kRoundToInteger); }

}  // namespace sotto::reference
