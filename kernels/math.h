// Elementary functions, defined by their constants and the order of their operations. Each operation is a correctly
// rounded IEEE operation, so all implementations that follow the order return the same bits.
//
// exp(x), for x <= kExpMax (Cody and Waite 1980):
//   t = fma(x, kLog2E, kRoundToInteger); n = t - kRoundToInteger
//   r = fma(-n, kLn2High, x); r = fma(-n, kLn2Low, r)
//   p = kExp[6]; then for k = 5 ... 0: p = fma(p, r, kExp[k])
//   exp = p * 2^n, where 2^n has the bits (bits(t) + kExponentBias) << 23; as both factors and
//   the product are normal, its bits are bits(p) + (bits(t) << 23)
// The result is 0 unless x >= kExpMin: results below FLT_MIN are flushed, and 2^n is never denormal.
//
// exp_or_infinity(x), for any x, is exp(x) if x <= kExpMax, and infinity otherwise, NaN included.
//
// gelu_tanh(x):
//   s = x * x; u = x * fma(s, kGeluCubic, kGeluLinear), which is -2 sqrt(2/pi) (x + 0.044715 x^3)
//   gelu = x / (1 + exp_or_infinity(u))
// A large |x| makes u infinite and the result x or -0.
//
// gelu_erf(x), with a = |x| and e = 1 - erf(a / sqrt 2) = P(t) t exp(-x^2/2), which keeps the relative accuracy of the
// left tail:
//   t = 1 / fma(a, kErfcSlope, 1)
//   p = kErfc[8]; then for k = 7 ... 0: p = fma(p, t, kErfc[k])
//   e = (p * t) * exp((x * x) * -0.5)
//   gelu = (x > 0 ? x : 0) - (a * 0.5) * e
//
// silu(x) = x / (1 + exp_or_infinity(-x)); quick_gelu(x) = x / (1 + exp_or_infinity(x * kQuickGeluFactor))
//
// tanh(x), with a = |x|:
//   if a >= kTanhLimit: t = 1 - 2 / (1 + exp_or_infinity(a + a)); tanh = x >= 0 ? t : 0 - t
//   otherwise: s = x * x; p = kTanhRatio[4]; then for k = 3 ... 0: p = fma(p, s, kTanhRatio[k])
//     tanh = x * fma(p, s, 1)
//
// relu(x) = 0 > x ? 0 : x; squared_relu(x) = relu(x) * relu(x)
//
// clamp(x, low, high) is y = x > low ? x : low; y < high ? y : high. It maps NaN to low. The max of an array starts
// with m = -infinity and takes m = x > m ? x : m for each element. At the end it adds 0, so that -0 becomes 0.
#pragma once

#include <bit>
#include <cfloat>
#include <cstdint>

#ifdef __FAST_MATH__
#  error "the kernels promise equal bits everywhere: build without -ffast-math"
#endif

namespace sotto {

static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 16, "float is evaluated as float");

// A reduction has 16 partial sums, the lanes: element i belongs to lane i % 16. They are folded as a tree.
inline constexpr int kLanes = 16;
inline float fold_lanes(float (&lanes)[kLanes]) {
  for (int half = kLanes / 2; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) lanes[j] = lanes[j] + lanes[j + half];
  }
  return lanes[0];
}

// The number of fraction bits of a weight in fixed point. A weight is an unnormalized probability from 0 to 1, which is
// rounded to a multiple of 2^-kFixedBits so that sums are exact in any order. The last bit of a double in [2^12, 2^13)
// is 2^-40, so adding 2^12 performs the rounding.
inline constexpr int kFixedBits = 40;
inline uint64_t to_fixed(float weight) {
  constexpr double kBase = 0x1p12;
  return std::bit_cast<uint64_t>(static_cast<double>(weight) + kBase) - std::bit_cast<uint64_t>(kBase);
}

// 1.5 * 2^23. After adding it, the low bits are the nearest integer, ties to even.
inline constexpr float kRoundToInteger = 12582912.0f;
inline constexpr uint32_t kExponentBias = 127;

inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kLn2High = 0x1.62e430p-1f;
inline constexpr float kLn2Low = -0x1.05c610p-29f;

// The bounds of exp: ln FLT_MIN, rounded up, and a number slightly less than 127.5 ln 2, above which n would be 128.
inline constexpr float kExpMin = -0x1.5d589ep+6f;
inline constexpr float kExpMax = 88.375f;

// The minimax polynomial of exp on |r| <= ln(2)/2, with a relative error of 3e-9.
inline constexpr float kExp[7] = {
    1.0f, 1.0f, 0x1.fffffcp-2f, 0x1.555492p-3f, 0x1.5558f2p-5f, 0x1.123a20p-7f, 0x1.6a23d0p-10f,
};

inline constexpr float kGeluLinear = -1.5957691216f;  // -2 sqrt(2/pi)
inline constexpr float kGeluCubic = -1.5957691216f * 0.044715f;

inline constexpr float kQuickGeluFactor = -1.702f;

// The minimax polynomial of (tanh(x)/x - 1) / x^2 in x^2 below the limit, with a relative error of tanh of 5e-9.
inline constexpr float kTanhLimit = 0.625f;
inline constexpr float kTanhRatio[5] = {
    -0x1.555532p-2f, 0x1.110726p-3f, -0x1.b83c5ap-5f, 0x1.52269cp-6f, -0x1.75e1cep-8f,
};

// The minimax polynomial of erfc(a / sqrt 2) exp(a^2 / 2) / t on a in [0, 13.4], with a relative error of 8e-8.
inline constexpr float kErfcSlope = 0.28125f;
inline constexpr float kErfc[9] = {
    0.22436137f, 0.2251819f,  0.20108086f,  0.19126232f, 0.087762974f,
    0.07194488f, 0.10672982f, -0.15123942f, 0.04291536f,
};

}  // namespace sotto
