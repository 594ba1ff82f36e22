// Measures the speed at which this machine reads memory: the limit of decoding, because each token reads every weight
// once.
#pragma once

#include <cstddef>

#include "tests/bench/machine/memory.h"

namespace sotto::bench {

// A block of memory that one or several threads read repeatedly, with plain loads. Each thread reads its own part. The
// fastest of a few access patterns counts.
class ReadLimit {
 public:
  // `size` should be the number of bytes that the compared figures read, so that caches have the same effect.
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
