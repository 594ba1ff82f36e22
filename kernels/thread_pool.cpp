#include "kernels/thread_pool.h"

#if SOTTO_THREADS
#  include <pthreadpool.h>
#endif

namespace sotto {

bool threads_available() { return SOTTO_THREADS != 0; }

#if SOTTO_THREADS

// A ThreadPool is the object of pthreadpool under another name.
static pthreadpool_t unwrap(ThreadPool* pool) { return reinterpret_cast<pthreadpool_t>(pool); }

ThreadPool* create_thread_pool(uint32_t thread_count, const HostExecutor* executor) {
  if (thread_count <= 1) return nullptr;
  if (executor == nullptr) {
    return reinterpret_cast<ThreadPool*>(pthreadpool_create(thread_count));
  }
  // pthreadpool copies the executor but keeps the pointer to its context.
  pthreadpool_executor host = {executor->num_threads, executor->schedule};
  return reinterpret_cast<ThreadPool*>(pthreadpool_create_v2(&host, executor->context, thread_count));
}

void destroy_thread_pool(ThreadPool* pool) {
  if (pool != nullptr) pthreadpool_destroy(unwrap(pool));
}

#else

ThreadPool* create_thread_pool(uint32_t, const HostExecutor*) { return nullptr; }
void destroy_thread_pool(ThreadPool*) {}

#endif

void parallel_for(ThreadPool* pool, size_t count, void (*task)(void* context, size_t index), void* context) {
#if SOTTO_THREADS
  if (pool != nullptr && count > 1) {
    return pthreadpool_parallelize_1d(unwrap(pool), task, context, count, /*flags=*/0);
  }
#endif
  (void)pool;
  for (size_t index = 0; index < count; ++index) task(context, index);
}

}  // namespace sotto
