// Elapsed time, for statistics and time limits.
#pragma once

#include <cstdint>

namespace sotto {

// Returns nanoseconds of a monotonic clock, or 0 on platforms without one: time limits never apply there.
uint64_t monotonic_ns();

// Adds its own lifetime in nanoseconds to a counter.
class Stopwatch {
 public:
  explicit Stopwatch(uint64_t* total) : total_(total), begin_(monotonic_ns()) {}
  ~Stopwatch() { *total_ += monotonic_ns() - begin_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  uint64_t* total_;
  uint64_t begin_;
};

}  // namespace sotto
