// Wall-clock time, the same in all processes of the machine.
#pragma once

#include <time.h>

#include <cstddef>
#include <cstdint>

namespace sotto::bench {

inline uint64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// Repeats `body` until that has taken `least_ns`, once at least; seconds a time.
template <typename F>
double seconds_per_call(uint64_t least_ns, F&& body) {
  const uint64_t begin = now_ns();
  uint64_t elapsed = 0;
  size_t count = 0;
  size_t batch = 1;  // between two looks at the clock
  do {
    for (size_t i = 0; i < batch; ++i) body();
    count += batch;
    elapsed = now_ns() - begin;
    if (elapsed < least_ns / 8) batch *= 2;
  } while (elapsed < least_ns);
  return static_cast<double>(elapsed) / 1e9 / static_cast<double>(count);
}

}  // namespace sotto::bench
