// Worker threads for kernels, own or lent by the host. Over pthreadpool; in a build
// without threads (SOTTO_THREADS=OFF) everything runs on the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sotto {

class ThreadPool;

// As sotto_executor in sotto.h.
struct HostExecutor {
  int32_t (*num_threads)(void* context) = nullptr;
  void (*schedule)(void* context, void* task_context, void (*task)(void* task_context)) = nullptr;
  void* context = nullptr;
};

// Whether this build can run more than one thread.
bool threads_available();

// A pool in which the caller and thread_count - 1 workers run tasks; `executor` may be
// null: the pool makes its own threads. The pool is kept by pthreadpool, outside any
// arena. Null when the threads cannot be had. destroy: null is fine.
ThreadPool* create_thread_pool(uint32_t thread_count, const HostExecutor* executor);
void destroy_thread_pool(ThreadPool* pool);

// Runs task(context, i) for i in [0, count), in any order, and returns when all are
// done. `pool` may be null: on the caller.
void parallel_for(ThreadPool* pool, size_t count, void (*task)(void* context, size_t index), void* context);

// parallel_for over a callable.
template <typename F>
void parallel_for(ThreadPool* pool, size_t count, F&& body) {
  using Body = std::remove_reference_t<F>;
  parallel_for(
      pool, count, [](void* context, size_t index) { (*static_cast<Body*>(context))(index); },
      const_cast<void*>(static_cast<const void*>(&body)));
}

}  // namespace sotto
