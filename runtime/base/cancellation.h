// Cancellation of a running call from another thread or from a callback.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/base/status.h"

namespace sotto {

// A request to stop the call in progress or the next one, which another thread may make.
class Cancellation {
 public:
  void request() { flag_.store(1, std::memory_order_relaxed); }
  // Returns whether a request was made, and clears it.
  bool take() { return flag_.exchange(0, std::memory_order_relaxed) != 0; }
  // Clears the request if `status` is its result. Returns `status`.
  Status consume(Status status) {
    if (status == Status::kStopCancelled) flag_.store(0, std::memory_order_relaxed);
    return status;
  }
  bool is_requested() const { return flag_.load(std::memory_order_relaxed) != 0; }

 private:
  std::atomic<uint32_t> flag_ = 0;
};

}  // namespace sotto
