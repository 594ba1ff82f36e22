// The Gumbel-max trick (Gumbel 1954; Maddison et al. 2014, "A* sampling"), in its form with exponential clocks. If u is
// uniform, the arrival time -ln(u) / p is exponentially distributed with rate p. The token with the smallest arrival
// time is then a draw from p. The forms argmax ln p - ln(-ln u) and argmax u^(1/p) select the same token.
#pragma once

#include <cstddef>
#include <limits>

namespace sotto {

// Returns the index with the smallest arrival(index, earliest), and the lowest index among equals. `earliest` is the
// smallest arrival so far. If its arrival is not earlier, the function may return any number >= earliest.
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
