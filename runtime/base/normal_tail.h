// The upper tail of the normal distribution, with the same bits on every platform.
#pragma once

namespace sotto {

// Returns P(Z >= z) for a standard normal Z, with a relative error of at most 5e-13. Returns 0 for z > 37 and 1 for
// NaN.
double normal_tail(double z);

}  // namespace sotto
