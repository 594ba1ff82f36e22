// Compares ln with the C library's in long double.
#include "runtime/base/scalar_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/random.h"
#include "tests/emulated/work.h"

namespace sotto {
namespace {

double error_in_ulp(double x) {
  const long double exact = std::log(static_cast<long double>(x));
  const double rounded = static_cast<double>(exact);
  const double ulp = std::nextafter(std::fabs(rounded), INFINITY) - std::fabs(rounded);
  return static_cast<double>(std::fabs(static_cast<long double>(ln(x)) - exact) / ulp);
}

TEST(Ln, IsWithinTwoUlp) {
  if (std::numeric_limits<long double>::digits <= 53) GTEST_SKIP() << "long double is double";
  double worst = 0;
  for (uint64_t i = 0; i < work<uint64_t>(300000, 30000); ++i) {
    const uint64_t bits = random_bits(3, i);
    const double fraction = static_cast<double>(bits >> 11) * 0x1p-53;
    worst = std::max(worst, error_in_ulp(0.5 + fraction));  // numbers around 1
    worst = std::max(worst, error_in_ulp(1 + 1e-6 * (fraction - 0.5)));
    worst = std::max(worst, error_in_ulp(fraction * 1e5 + 1e-9));  // like the sums of a softmax
    const double any = std::bit_cast<double>(bits >> 1);           // every exponent
    if (std::isfinite(any) && any > 0) worst = std::max(worst, error_in_ulp(any));
  }
  RecordProperty("worst_millionths_of_an_ulp", static_cast<int>(worst * 1e6));
  EXPECT_LE(worst, 2.0);
}

TEST(Ln, HandlesSpecialValues) {
  EXPECT_EQ(ln(1), 0);
  EXPECT_EQ(ln(0), -INFINITY);
  EXPECT_EQ(ln(-0.0), -INFINITY);
  EXPECT_EQ(ln(INFINITY), INFINITY);
  EXPECT_TRUE(std::isnan(ln(-1)));
  EXPECT_TRUE(std::isnan(ln(NAN)));
  EXPECT_NEAR(ln(std::numeric_limits<double>::denorm_min()), -744.4400719213812, 1e-12);
  EXPECT_NEAR(ln(std::numeric_limits<double>::max()), 709.782712893384, 1e-12);
}

}  // namespace
}  // namespace sotto
