#include "tests/bench/machine/dot_limit.h"

#include "tests/bench/machine/workers.h"

namespace sotto::bench {
namespace {

constexpr size_t kChains = 8;

void run_scalar(size_t iterations) {
  int32_t sums[kChains] = {};
  int32_t a = 3, b = 5;
  for (size_t i = 0; i < iterations; ++i) {
    for (int32_t& sum : sums) {
      asm volatile("" : "+r"(a), "+r"(b));
      sum += static_cast<int8_t>(a) * static_cast<int8_t>(b);
    }
    asm volatile("" : : "r"(sums) : "memory");
  }
}

}  // namespace

DotLoop scalar_dot_loop() { return {run_scalar, kChains}; }

double macs_per_second(const DotLoop& loop, size_t thread_count, double least_seconds) {
  size_t iterations = 10'000;
  double seconds = 0;
  // Doubles the repetitions until they take long enough.
  while ((seconds = time_on_threads(thread_count, [&](size_t) { loop.run(iterations); })) < least_seconds) {
    iterations *= 2;
  }
  return static_cast<double>(loop.macs_per_iteration) * static_cast<double>(iterations) *
         static_cast<double>(thread_count) / seconds;
}

}  // namespace sotto::bench
