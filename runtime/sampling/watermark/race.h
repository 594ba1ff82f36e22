// Races: every token's time is a number that hashes give, divided by its share, and the least time
// wins. Nearly all are out of it by a bound on their time that is cheap to compute.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "runtime/sampling/candidates.h"

namespace sotto {

// The index of the first token with the least time(index, least), which may be infinite where the
// time is not less than `least`. Where ids are indices, write_words(first, count, words) gives
// numbers of which (word >> 8) / 2^24 / share is a bound on the time; `first` is a multiple of 64.
template <typename WriteWords, typename Time>
size_t find_winner(Candidates& candidates, WriteWords write_words, Time time) {
  const float* shares = candidates.shares();
  const size_t count = candidates.count();
  size_t winner = 0;
  double least = std::numeric_limits<double>::infinity();
  const auto run = [&](size_t i) {
    const double t = time(i, least);
    if (!(t < least)) return;
    least = t;
    winner = i;
  };
  if (candidates.ids() != nullptr) {
    for (size_t i = 0; i < count; ++i) run(i);
    return winner;
  }
  constexpr size_t kBatch = 512;
  uint32_t words[kBatch];
  int32_t runners[kBatch];
  // The first batch is short, as in the first all have to run.
  for (size_t first = 0, batch = 64; first < count; first += batch, batch = kBatch) {
    batch = std::min(batch, count - first);
    write_words(first, batch, words);
    // More than least after any rounding.
    const float factor = static_cast<float>(least) * (1 + 0x1p-20f);
    const size_t running =
        candidates.kernels().collect_below(words, shares + first, factor, static_cast<int32_t>(first), batch, runners);
    for (size_t i = 0; i < running; ++i) run(static_cast<size_t>(runners[i]));
  }
  return winner;
}

}  // namespace sotto
