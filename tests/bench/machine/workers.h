// Runs the same work on several threads at once and times it.
#pragma once

#include <cstddef>
#include <functional>

namespace sotto::bench {

// Calls body(i) for i in [0, thread_count), each on its own thread. One of them is the calling thread. Returns the
// seconds from the moment when all threads are ready until all are done.
double time_on_threads(size_t thread_count, const std::function<void(size_t)>& body);

}  // namespace sotto::bench
