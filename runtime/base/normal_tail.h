// The upper tail of the normal distribution, with the same bits on every platform.
#pragma once

namespace sotto {

// Returns P(Z >= z) for a standard normal Z, to a relative error of 5e-13; 0 beyond z = 37; NaN: 1.
double normal_tail(double z);

}  // namespace sotto
