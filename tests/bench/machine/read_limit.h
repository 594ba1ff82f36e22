// Measures how fast this machine can read memory: the limit of decoding, which reads every weight once a token.
#pragma once

#include <cstddef>

#include "tests/bench/machine/memory.h"

namespace sotto::bench {

// A block of memory that one or several threads read repeatedly, each its own part, with plain loads in the fastest of
// a few access patterns.
class ReadLimit {
 public:
  // `size` equals the bytes that the compared figures read, so that caches behave alike.
  ReadLimit(size_t size, Pages pages, size_t thread_count);

  // Reads for about `least_seconds`.
  double bytes_per_second(double least_seconds) const;

 private:
  double seconds_per_pass(size_t pattern, double least_seconds) const;

  size_t thread_count_;
  size_t part_size_;
  Memory block_;
  size_t pattern_ = 0;
};

}  // namespace sotto::bench
