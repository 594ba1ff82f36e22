#include "tests/bench/machine/workers.h"

#include <barrier>
#include <thread>
#include <vector>

#include "tests/bench/machine/clock.h"

namespace sotto::bench {

double time_on_threads(size_t thread_count, const std::function<void(size_t)>& body) {
  std::barrier<> together(static_cast<ptrdiff_t>(thread_count));
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < thread_count; ++i) {
    threads.emplace_back([&, i] {
      together.arrive_and_wait();
      body(i);
      together.arrive_and_wait();
    });
  }
  together.arrive_and_wait();
  const uint64_t begin = now_ns();
  body(0);
  together.arrive_and_wait();
  return static_cast<double>(now_ns() - begin) / 1e9;
}

}  // namespace sotto::bench
