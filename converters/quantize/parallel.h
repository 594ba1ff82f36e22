// Runs loops on several threads. Each index must write only its own results, so that they do not depend on the number
// of threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace sotto {

// Runs body(i) for i in [0, count) on `thread_count` threads.
template <typename Body>
void for_each_index(size_t count, unsigned thread_count, const Body& body) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < count; i = next++) body(i);
  };
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < std::min<size_t>(thread_count, count); ++i) threads.emplace_back(work);
  work();
}

}  // namespace sotto
