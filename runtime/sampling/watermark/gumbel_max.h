// The Gumbel-max trick (Gumbel 1954; Maddison et al. 2014, "A* sampling"), in its form with exponential clocks. If u is
// uniform, -ln(u) / p is exponentially distributed with rate p, and the token whose clock rings first is a draw from p.
// The maximum form, argmax ln p - ln(-ln u), and the form argmax u^(1/p) put the tokens in the same order.
#pragma once

#include <cstddef>
#include <limits>

namespace sotto {

// Returns the index with the smallest arrival(index, earliest), the lowest one among equals. `earliest` is the smallest
// arrival so far. A function that finds its arrival to be no earlier may return any number of at least `earliest`.
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
