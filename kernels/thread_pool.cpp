#include "kernels/thread_pool.h"

#include <pthreadpool.h>

namespace sotto {

// ThreadPool is pthreadpool's own object under our name.
static pthreadpool_t unwrap(ThreadPool* pool) { return reinterpret_cast<pthreadpool_t>(pool); }

bool threads_available() { return SOTTO_THREADS != 0; }

ThreadPool* create_thread_pool(uint32_t thread_count, const HostExecutor* executor) {
  if (thread_count <= 1 || !threads_available()) return nullptr;
  if (executor == nullptr) {
    return reinterpret_cast<ThreadPool*>(pthreadpool_create(thread_count));
  }
  // Copied by pthreadpool; only the executor's own context is kept by reference.
  pthreadpool_executor host = {executor->num_threads, executor->schedule};
  return reinterpret_cast<ThreadPool*>(pthreadpool_create_v2(&host, executor->context, thread_count));
}

void destroy_thread_pool(ThreadPool* pool) {
  if (pool != nullptr) pthreadpool_destroy(unwrap(pool));
}

void parallel_for(ThreadPool* pool, size_t count, void (*task)(void* context, size_t index), void* context) {
  if (pool == nullptr || count <= 1) {
    for (size_t index = 0; index < count; ++index) task(context, index);
    return;
  }
  pthreadpool_parallelize_1d(unwrap(pool), task, context, count, /*flags=*/0);
}

}  // namespace sotto
