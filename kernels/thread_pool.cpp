#include "kernels/thread_pool.h"

#if SOTTO_THREADS
#  include <pthread.h>
#  include <pthreadpool.h>
#  include <unistd.h>

#  include <atomic>
#  include <new>
#endif

namespace sotto {

bool threads_available() { return SOTTO_THREADS != 0; }

#if SOTTO_THREADS

namespace {

struct PoolTask {
  void* context;
  void (*run)(void* context);
};

}  // namespace

// pthreadpool divides the work between threads that an executor provides: the host's, or the workers of this object.
// It could start threads itself, but it ignores failures to start them, and then waits for them when it is destroyed.
class ThreadPool {
 public:
  bool init(uint32_t thread_count, const HostExecutor* host) {
    process_ = getpid();
    if (host == nullptr && !start_workers(thread_count - 1)) return false;
    if (host != nullptr) host_ = *host;
    pthreadpool_executor executor = {count_workers, schedule};
    if (host != nullptr) executor = {count_host_threads, schedule_on_host};
    tasks_ = pthreadpool_create_v2(&executor, this, thread_count);
    if (tasks_ != nullptr) return true;
    stop_workers();
    return false;
  }

  void deinit() {
    // A child process has none of the threads, so nothing ends the tasks that they were running.
    if (getpid() != process_) return;
    pthreadpool_release_executor_threads(tasks_);
    stop_workers();
    pthreadpool_destroy(tasks_);
  }

  pthreadpool_t tasks() { return tasks_; }

 private:
  static constexpr uint32_t kMaxWorkers = kMaxThreads - 1;

  bool start_workers(uint32_t count) {
    pthread_mutex_init(&mutex_, nullptr);
    pthread_cond_init(&wake_, nullptr);
    owns_workers_ = true;
    while (worker_count_ < count && pthread_create(&workers_[worker_count_], nullptr, work, this) == 0) ++worker_count_;
    if (worker_count_ == count) return true;
    stop_workers();
    return false;
  }

  // Ends the workers after they have run all tasks of the queue.
  void stop_workers() {
    if (!owns_workers_) return;
    pthread_mutex_lock(&mutex_);
    stopping_ = true;
    pthread_cond_broadcast(&wake_);
    pthread_mutex_unlock(&mutex_);
    for (uint32_t i = 0; i < worker_count_; ++i) pthread_join(workers_[i], nullptr);
    pthread_cond_destroy(&wake_);
    pthread_mutex_destroy(&mutex_);
  }

  static int32_t count_workers(void* self) {
    return static_cast<int32_t>(static_cast<const ThreadPool*>(self)->worker_count_);
  }

  static void schedule(void* self, void* context, void (*run)(void* context)) {
    auto& pool = *static_cast<ThreadPool*>(self);
    if (getpid() != pool.process_) return;  // In a child process, the calling thread does all the work.
    pthread_mutex_lock(&pool.mutex_);
    pool.queue_[(pool.first_task_ + pool.task_count_) % kMaxWorkers] = {context, run};
    ++pool.task_count_;
    pthread_cond_signal(&pool.wake_);
    pthread_mutex_unlock(&pool.mutex_);
  }

  static int32_t count_host_threads(void* self) {
    const HostExecutor& host = static_cast<const ThreadPool*>(self)->host_;
    return host.num_threads(host.context);
  }

  static void schedule_on_host(void* self, void* context, void (*run)(void* context)) {
    auto& pool = *static_cast<ThreadPool*>(self);
    if (getpid() != pool.process_) return;
    for (HostTask& task : pool.host_tasks_) {
      int32_t expected = HostTask::kFree;
      if (!task.state.compare_exchange_strong(expected, HostTask::kTaken)) continue;
      task.task = {context, run};
      task.state = HostTask::kScheduled;
      return pool.host_.schedule(pool.host_.context, &task, run_host_task);
    }
    run(context);
  }

  // Ignores a task that the host runs again. If the slot has been scheduled again, this call counts for that.
  static void run_host_task(void* self) {
    auto& host_task = *static_cast<HostTask*>(self);
    int32_t expected = HostTask::kScheduled;
    if (!host_task.state.compare_exchange_strong(expected, HostTask::kTaken)) return;
    const PoolTask task = host_task.task;
    host_task.state = HostTask::kFree;
    task.run(task.context);
  }

  static void* work(void* self) {
    auto& pool = *static_cast<ThreadPool*>(self);
    pthread_mutex_lock(&pool.mutex_);
    for (;;) {
      while (pool.task_count_ == 0 && !pool.stopping_) pthread_cond_wait(&pool.wake_, &pool.mutex_);
      if (pool.task_count_ == 0) break;
      const PoolTask task = pool.queue_[pool.first_task_];
      pool.first_task_ = (pool.first_task_ + 1) % kMaxWorkers;
      --pool.task_count_;
      pthread_mutex_unlock(&pool.mutex_);
      task.run(task.context);
      pthread_mutex_lock(&pool.mutex_);
    }
    pthread_mutex_unlock(&pool.mutex_);
    return nullptr;
  }

  pthreadpool_t tasks_ = nullptr;
  pid_t process_ = 0;
  bool owns_workers_ = false;
  uint32_t worker_count_ = 0;
  pthread_t workers_[kMaxWorkers];

  // The queue on which the workers wait. pthreadpool schedules one task per worker, and again only after the worker has
  // begun it.
  pthread_mutex_t mutex_;
  pthread_cond_t wake_;
  bool stopping_ = false;
  uint32_t first_task_ = 0;
  uint32_t task_count_ = 0;
  PoolTask queue_[kMaxWorkers];

  // Tasks that the host has been asked to run.
  struct HostTask {
    enum State : int32_t { kFree, kTaken, kScheduled };
    std::atomic<int32_t> state = kFree;
    PoolTask task;
  };
  HostExecutor host_;
  HostTask host_tasks_[kMaxThreads];
};

static_assert(sizeof(ThreadPool) <= kThreadPoolBytes && alignof(ThreadPool) <= kThreadPoolAlignment);

ThreadPool* create_thread_pool(void* memory, uint32_t thread_count, const HostExecutor* host) {
  auto* pool = new (memory) ThreadPool;
  return pool->init(thread_count, host) ? pool : nullptr;
}

void destroy_thread_pool(ThreadPool* pool) {
  if (pool != nullptr) pool->deinit();
}

pthreadpool* pthreadpool_of(ThreadPool* pool) { return pool == nullptr ? nullptr : pool->tasks(); }

#else

ThreadPool* create_thread_pool(void*, uint32_t, const HostExecutor*) { return nullptr; }
void destroy_thread_pool(ThreadPool*) {}
pthreadpool* pthreadpool_of(ThreadPool*) { return nullptr; }

#endif

void parallel_for(ThreadPool* pool, size_t count, void (*task)(void* context, size_t index), void* context) {
#if SOTTO_THREADS
  if (pool != nullptr && count > 1) {
    return pthreadpool_parallelize_1d(pool->tasks(), task, context, count, /*flags=*/0);
  }
#endif
  (void)pool;
  for (size_t index = 0; index < count; ++index) task(context, index);
}

}  // namespace sotto
