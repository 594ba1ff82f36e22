// Worker threads for kernels, created by pthreadpool or provided by the host. In a build without threads
// (SOTTO_THREADS=OFF), everything runs on the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sotto {

class ThreadPool;

// Has the layout of sotto_executor in sotto_session.h.
struct HostExecutor {
  int32_t (*num_threads)(void* context) = nullptr;
  void (*schedule)(void* context, void* task_context, void (*task)(void* task_context)) = nullptr;
  void* context = nullptr;
};

// Returns whether this build can run more than one thread.
bool threads_available();

// Creates a pool in which the caller and thread_count - 1 workers run tasks. If `executor` is null, the pool creates
// its own threads. The pool is allocated by pthreadpool, outside of any arena. Returns null if the threads cannot be
// created.
ThreadPool* create_thread_pool(uint32_t thread_count, const HostExecutor* executor);
void destroy_thread_pool(ThreadPool* pool);  // `pool` may be null

// Runs task(context, i) for each i in [0, count), in any order, and returns when all of them are done. If `pool` is
// null, they run on the calling thread.
void parallel_for(ThreadPool* pool, size_t count, void (*task)(void* context, size_t index), void* context);

// Does the same for a callable object.
template <typename F>
void parallel_for(ThreadPool* pool, size_t count, F&& body) {
  using Body = std::remove_reference_t<F>;
  parallel_for(
      pool, count, [](void* context, size_t index) { (*static_cast<Body*>(context))(index); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace sotto
