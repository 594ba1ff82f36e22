// The Gumbel-max trick (Gumbel 1954; Maddison et al. 2014, "A* sampling") in its form with exponential clocks. With u
// uniform, -ln(u) / p is exponentially distributed with rate p, and the token whose clock rings first is a draw from p.
// Its maximum form, argmax ln p - ln(-ln u), and u^(1/p) order the tokens in the same way.
#pragma once

#include <cstddef>
#include <limits>

namespace sotto {

// Returns the lowest index with the least arrival(index, earliest), where `earliest` is the least so far. If an arrival
// is not earlier, the function may return any number of at least `earliest`.
template <typename Arrival>
size_t find_first_arrival(size_t count, Arrival arrival) {
  size_t winner = 0;
  double earliest = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < count; ++i) {
    const double time = arrival(i, earliest);
    if (!(time < earliest)) continue;
    earliest = time;
    winner = i;
  }
  return winner;
}

}  // namespace sotto
