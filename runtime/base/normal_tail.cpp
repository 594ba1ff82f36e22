#include "runtime/base/normal_tail.h"

#include <bit>
#include <cmath>
#include <cstdint>

namespace sotto {

namespace {

// Returns exp(x) for -708 < x <= 0 as 2^n exp(r) with |r| <= ln(2) / 2, by Taylor's series.
double exp_negative(double x) {
  constexpr double kLn2High = 0x1.62e42fefp-1;  // has 32 bits, so that its product with n is exact
  constexpr double kLn2Low = 0x1.473de6af278edp-34;
  const double n = std::ceil(x * 0x1.71547652b82fep+0 - 0.5);
  const double r = (x - n * kLn2High) - n * kLn2Low;
  double sum = 1;
  for (int k = 14; k >= 1; --k) sum = 1 + r * sum / k;
  return sum * std::bit_cast<double>(static_cast<uint64_t>(1023 + static_cast<int64_t>(n)) << 52);
}

}  // namespace

double normal_tail(double z) {
  if (!(z >= 0)) return z < 0 ? 1 - normal_tail(-z) : 1;
  if (z > 37) return 0;
  constexpr double kDensityAtZero = 0.39894228040143267794;  // 1 / sqrt(2 pi)
  const double density = kDensityAtZero * exp_negative(-z * z / 2);
  if (z < 2.5) {
    // The series is 1/2 - density (z + z^3/3 + z^5/(3 5) + ...).
    double term = z, sum = z;
    for (int k = 3; k < 81; k += 2) {
      term *= z * z / k;
      sum += term;
    }
    return 0.5 - density * sum;
  }
  // The continued fraction is density / (z + 1/(z + 2/(z + 3/(z + ...)))) (Laplace 1805).
  double fraction = z;
  for (int k = 160; k >= 1; --k) fraction = z + k / fraction;
  return density / fraction;
}

}  // namespace sotto
