// Runs the same work on several threads at once and times it.
#pragma once

#include <cstddef>
#include <functional>

namespace sotto::bench {

// Calls body(i) for i in [0, thread_count), each on a thread of its own, one of which is the caller's. Returns the
// seconds from the moment when all are ready until all are done.
double time_on_threads(size_t thread_count, const std::function<void(size_t)>& body);

}  // namespace sotto::bench
