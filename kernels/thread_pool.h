// Worker threads for kernels, started here or provided by the host. In a build without threads (SOTTO_THREADS=OFF),
// everything runs on the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sotto {

class ThreadPool;

// Threads of the host; see sotto_executor in sotto_session.h.
struct HostExecutor {
  uint32_t thread_count = 0;  // the value of num_threads()
  void (*schedule)(void* context, void* task_context, void (*task)(void* task_context)) = nullptr;
  void* context = nullptr;
};

bool threads_available();

inline constexpr uint32_t kMaxThreads = 64;
inline constexpr size_t kThreadPoolBytes = 4096;
inline constexpr size_t kThreadPoolAlignment = 64;

// Creates a pool in the kThreadPoolBytes bytes of `memory`. The caller and at most thread_count - 1 helpers run its
// tasks, where thread_count must be at least 2. If `host` is null, the pool starts threads of its own, and returns null
// if they cannot be started.
ThreadPool* create_thread_pool(void* memory, uint32_t thread_count, const HostExecutor* host);

// Ends the threads, or waits until the host has run all tasks. `pool` may be null. Does nothing in a child of the
// process that created the pool, because a child made by fork() has none of the threads.
void destroy_thread_pool(ThreadPool* pool);

// Runs task(context, i) for each i in [0, count), in any order, and returns when all of them are done. If `pool` is
// null, they run on the calling thread. Tasks must not call this function with the same pool.
void parallel_for(ThreadPool* pool, size_t count, void (*task)(void* context, size_t index), void* context);

// The same for a callable object.
template <typename F>
void parallel_for(ThreadPool* pool, size_t count, F&& body) {
  using Body = std::remove_reference_t<F>;
  parallel_for(
      pool, count, [](void* context, size_t index) { (*static_cast<Body*>(context))(index); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace sotto
