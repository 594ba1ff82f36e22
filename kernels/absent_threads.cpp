// SOTTO_THREADS=OFF without XNNPACK, which would bring pthreadpool: everything runs on the caller.
#include "kernels/thread_pool.h"

namespace sotto {

bool threads_available() { return false; }
ThreadPool* create_thread_pool(uint32_t, const HostExecutor*) { return nullptr; }
void destroy_thread_pool(ThreadPool*) {}

void parallel_for(ThreadPool*, size_t count, void (*task)(void* context, size_t index), void* context) {
  for (size_t index = 0; index < count; ++index) task(context, index);
}

}  // namespace sotto
