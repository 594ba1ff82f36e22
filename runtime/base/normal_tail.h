// How likely a normally distributed value is to be so large, with the same bits everywhere.
#pragma once

namespace sotto {

// P(Z >= z) for a standard normal Z, to a relative error of 5e-13; 0 beyond z = 37; NaN: 1.
double normal_tail(double z);

}  // namespace sotto
