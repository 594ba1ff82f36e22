// Wall-clock time, the same in all processes of the machine.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace sotto::bench {

inline uint64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// Repeats `body` until `least_ns` have passed, at least once. Returns the seconds per repetition.
template <typename F>
double seconds_per_call(uint64_t least_ns, F&& body) {
  const uint64_t begin = now_ns();
  uint64_t elapsed = 0;
  size_t count = 0;
  size_t batch = 1;  // repetitions between two readings of the clock
  do {
    for (size_t i = 0; i < batch; ++i) body();
    count += batch;
    elapsed = now_ns() - begin;
    if (elapsed < least_ns / 8) batch *= 2;
  } while (elapsed < least_ns);
  return static_cast<double>(elapsed) / 1e9 / static_cast<double>(count);
}

// Returns the seconds of the fastest of several short repetitions of `body`, which is its time without interruptions.
template <typename F>
double fastest_call(F&& body) {
  constexpr int kRepetitions = 12;
  constexpr uint64_t kMinNs = 200'000;
  double fastest = seconds_per_call(kMinNs, body);
  for (int i = 1; i < kRepetitions; ++i) {
    fastest = std::min(fastest, seconds_per_call(kMinNs, body));
  }
  return fastest;
}

}  // namespace sotto::bench
