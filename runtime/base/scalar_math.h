// Transcendental functions with the same bits on every platform, unlike those of the C library.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace sotto {

inline constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// Returns the natural logarithm of x, with an error of at most 1 ulp. It is NaN for NaN and negative numbers, and
// -infinity for 0.
inline double ln(double x) {
  if (!(x >= 0)) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return -std::numeric_limits<double>::infinity();
  if (x > std::numeric_limits<double>::max()) return x;
  int64_t exponent = 0;
  if (x < std::numeric_limits<double>::min()) {
    x *= 0x1p54;
    exponent = -54;
  }
  // x = 2^exponent * m with m in [sqrt(1/2), sqrt(2)).
  const auto bits = std::bit_cast<uint64_t>(x);
  constexpr uint64_t kSqrtHalf = 0x3fe6a09e667f3bcd;  // the bits of sqrt(1/2)
  const int64_t scale = static_cast<int64_t>(bits - kSqrtHalf) >> 52;
  exponent += scale;
  const double m = std::bit_cast<double>(bits - (static_cast<uint64_t>(scale) << 52));
  // ln m = f - s (f - r), with f = m - 1, s = f / (2 + f) and r = 2 (s^2/3 + s^4/5 + ...).
  const double f = m - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  double r = 0;
  for (int n = 23; n >= 3; n -= 2) r = z * (2.0 / n + r);
  constexpr double kLnTwoHigh = 0x1.62e42fefp-1;  // has 33 bits, so that its product with any exponent is exact
  constexpr double kLnTwoLow = 0x1.473de6af278edp-34;
  const auto k = static_cast<double>(exponent);
  return k * kLnTwoHigh + (f - (s * (f - r) - k * kLnTwoLow));
}

// Returns e^x, with an error of at most 2 ulp for -708 <= x <= 709. Below this range the result is 0, and above it
// infinity.
inline double e_to(double x) {
  if (!(x <= 709)) return x > 709 ? std::numeric_limits<double>::infinity() : x;
  if (x < -708) return 0;
  // e^x = 2^n e^r with x = n ln 2 + r and |r| <= ln(2) / 2; the series computes e^r.
  constexpr double kNearestInteger = 0x1.8p52;
  const double shifted = x * 0x1.71547652b82fep+0 + kNearestInteger;
  const double n = shifted - kNearestInteger;
  const double r = (x - n * 0x1.62e42fefp-1) - n * 0x1.473de6af278edp-34;
  double power = 1;
  for (int k = 14; k >= 1; --k) power = 1 + power * r / k;
  const auto exponent = std::bit_cast<uint64_t>(shifted) << 52;  // n, shifted to the position of the exponent bits
  return std::bit_cast<double>(std::bit_cast<uint64_t>(power) + exponent);
}

// Returns x^y for x > 0.
inline double power_of(double x, double y) { return e_to(y * ln(x)); }

// Returns base^exponent, computed by squaring and limited to the largest float.
inline double bounded_power(double base, uint64_t exponent) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  double power = 1;
  for (double square = base; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) power = std::min(power * square, kLargest);
    square = std::min(square * square, kLargest);
  }
  return power;
}

// Returns x if the condition holds and 0 otherwise, in a form that compilers vectorize.
inline float zero_unless(bool condition, float x) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(x) & (condition ? UINT32_MAX : 0));
}

// Returns the next float above x, for x < infinity.
inline float next_above(float x) {
  const auto bits = std::bit_cast<uint32_t>(x + 0.0f);  // turns -0 into 0
  return std::bit_cast<float>((bits >> 31) != 0 ? bits - 1 : bits + 1);
}

// Computes a sum in a fixed order that compilers can vectorize: term i is added to the partial sum i % 8, and the eight
// partial sums are folded as a tree.
class FoldedSum {
 public:
  void add(size_t i, double term) { sums_[i % 8] += term; }
  double fold() const {
    return ((sums_[0] + sums_[4]) + (sums_[2] + sums_[6])) + ((sums_[1] + sums_[5]) + (sums_[3] + sums_[7]));
  }

 private:
  double sums_[8] = {};
};

}  // namespace sotto
