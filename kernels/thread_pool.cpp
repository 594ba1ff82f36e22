// A pool for loops that take 10 to 100 microseconds. parallel_for() gives every thread an equal range of indices,
// because a thread that reads weights in order can prefetch them. A thread with no indices left takes some from the
// ends of the other ranges, so a suspended thread delays the loop by one index at most, and a helper that never starts
// does not delay it. Helpers spin for some microseconds before they sleep.
#include "kernels/thread_pool.h"

#if SOTTO_THREADS
#  include <algorithm>
#  include <atomic>
#  include <cassert>
#  include <new>

#  include "kernels/threads.h"
#endif

namespace sotto {

bool threads_available() { return SOTTO_THREADS != 0; }

#if SOTTO_THREADS

namespace {

// The `pause` of x86 takes 20 to 60 nanoseconds, and the `yield` of ARM about one. All spins together last about as
// long as waking a thread.
#  if defined(__x86_64__) || defined(__i386__)
constexpr int kSpins = 1000;
void relax() { __builtin_ia32_pause(); }
#  elif defined(__aarch64__) || defined(__arm__)
constexpr int kSpins = 20000;
void relax() { asm volatile("yield"); }
#  else
constexpr int kSpins = 10000;
void relax() {}
#  endif

// Indices of the current loop: `left` of them, from `next` on. The owner takes them from the front, and other threads
// from the back. Decrementing `left` makes a thread the owner of one index. The loop cannot end before this index is
// done, so its fields stay valid until then.
struct IndexRange {
  uint32_t next = 0;
  std::atomic<uint32_t> end = 0;
  std::atomic<uint32_t> left = 0;

  bool claim() {
    uint32_t count = left.load(std::memory_order_relaxed);
    while (count > 0) {
      if (left.compare_exchange_weak(count, count - 1, std::memory_order_acquire, std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }
};

}  // namespace

class ThreadPool {
 public:
  bool init(uint32_t thread_count, const HostExecutor* host) {
    mutex_.init();
    work_.init();
    done_.init();
    for (Thread& thread : threads_) thread.pool = this;
    if (host != nullptr) {
      host_ = *host;
      thread_count_ = 1 + std::min(thread_count - 1, host->thread_count);
      return true;
    }
    {
      // The workers block all signals, so that the host's handlers run on threads of the host.
      const BlockedSignals blocked;
      while (thread_count_ < thread_count) {
        Thread* thread = &threads_[thread_count_];
        if (!thread->worker.start(run_worker, thread)) break;
        ++thread_count_;
      }
    }
    if (thread_count_ == thread_count) return true;
    deinit();
    return false;
  }

  void deinit() {
    if (is_child()) return;
    {
      Lock lock(&mutex_);
      stopping_ = true;
      work_.wake_all();
    }
    for (uint32_t i = 1; i < thread_count_; ++i) {
      if (host_.schedule == nullptr) {
        threads_[i].worker.join();
      } else {
        Lock lock(&mutex_);
        while (threads_[i].state != Thread::kFree) done_.wait(&mutex_);
      }
    }
    done_.destroy();
    work_.destroy();
    mutex_.destroy();
  }

  void run(uint32_t count, void (*task)(void* context, size_t index), void* context) {
    task_ = task;
    context_ = context;
    pending_.store(count, std::memory_order_relaxed);
    for (uint32_t i = 0; i < thread_count_; ++i) {
      const auto first = static_cast<uint32_t>(uint64_t{count} * i / thread_count_);
      const auto end = static_cast<uint32_t>(uint64_t{count} * (i + 1) / thread_count_);
      IndexRange& range = threads_[i].range;
      range.next = first;
      range.end.store(end, std::memory_order_relaxed);
      range.left.store(end - first);
    }
    call_helpers();
    work(0);
    wait_for_helpers();
  }

 private:
  // One of the threads that share a loop: the caller (always the first), a worker of the pool, or a task of the host.
  struct Thread {
    enum State : uint32_t { kFree, kScheduled, kRunning };  // of the host's task
    ThreadPool* pool;
    Worker worker;  // unless the caller or the host runs the thread
    std::atomic<uint32_t> state = kFree;
    IndexRange range;
  };

  // Returns whether this process is a child made by fork(). A child has only the thread that called fork().
  bool is_child() const { return process_number() != process_; }

  void call_helpers() {
    if (host_.schedule != nullptr) {
      if (!is_child()) schedule_host_tasks();
    } else if (sleeping_.load() > 0 && !is_child()) {
      Lock lock(&mutex_);
      work_.wake_all();
    }
  }

  void wait_for_helpers() {
    for (int i = 0; i < kSpins; ++i) {
      if (pending_.load(std::memory_order_acquire) == 0) return;
      relax();
    }
    Lock lock(&mutex_);
    is_waiting_.store(true);
    while (pending_.load() != 0) done_.wait(&mutex_);
    is_waiting_.store(false);
  }

  // Runs indices until none is left, those of the thread's own range first.
  void work(uint32_t self) {
    uint32_t count = 0;
    for (IndexRange& own = threads_[self].range; own.claim(); ++count) task_(context_, own.next++);
    for (uint32_t i = 1; i < thread_count_; ++i) {
      IndexRange& other = threads_[(self + i) % thread_count_].range;
      for (; other.claim(); ++count) task_(context_, other.end.fetch_sub(1, std::memory_order_relaxed) - 1);
    }
    if (count == 0 || pending_.fetch_sub(count) != count || !is_waiting_.load()) return;
    Lock lock(&mutex_);
    done_.wake_one();
  }

  // Spins for a while, and returns whether indices have arrived in the range.
  static bool spin_for_work(const IndexRange& own) {
    for (int i = 0; i < kSpins; ++i) {
      if (own.left.load(std::memory_order_relaxed) > 0) return true;
      relax();
    }
    return false;
  }

  static void run_worker(void* argument) {
    auto& thread = *static_cast<Thread*>(argument);
    ThreadPool& pool = *thread.pool;
    const auto self = static_cast<uint32_t>(&thread - pool.threads_);
    // The loops begin some time after the threads, so the first wait does not spin.
    for (bool may_spin = false; pool.wait_for_work(thread.range, may_spin); may_spin = true) pool.work(self);
  }

  // Waits until there are indices for the worker, or returns false if the worker has to end.
  bool wait_for_work(const IndexRange& own, bool may_spin) {
    if (may_spin && spin_for_work(own)) return true;
    Lock lock(&mutex_);
    sleeping_.fetch_add(1);
    while (own.left.load() == 0 && !stopping_) work_.wait(&mutex_);
    sleeping_.fetch_sub(1);
    return !stopping_;
  }

  void schedule_host_tasks() {
    for (uint32_t i = 1; i < thread_count_; ++i) {
      Thread& thread = threads_[i];
      if (thread.range.left.load(std::memory_order_relaxed) == 0) continue;
      uint32_t expected = Thread::kFree;
      if (!thread.state.compare_exchange_strong(expected, Thread::kScheduled)) continue;
      host_.schedule(host_.context, &thread, run_host_task);
    }
  }

  // Runs a task of the host. If the host runs a task twice, the second call does nothing, unless the task has been
  // scheduled again.
  static void run_host_task(void* argument) {
    auto& thread = *static_cast<Thread*>(argument);
    uint32_t expected = Thread::kScheduled;
    if (!thread.state.compare_exchange_strong(expected, Thread::kRunning)) return;
    ThreadPool& pool = *thread.pool;
    const auto self = static_cast<uint32_t>(&thread - pool.threads_);
    do {
      pool.work(self);
    } while (spin_for_work(thread.range));
    Lock lock(&pool.mutex_);
    thread.state = Thread::kFree;
    pool.done_.wake_all();
  }

  decltype(process_number()) process_ = process_number();
  HostExecutor host_;
  uint32_t thread_count_ = 1;
  // Each thread writes to its range for every index. The alignment keeps the ranges of the caller and the first worker
  // in different cache lines.
  alignas(64) Thread threads_[kMaxThreads];

  // The current loop.
  void (*task_)(void* context, size_t index) = nullptr;
  void* context_ = nullptr;
  std::atomic<uint32_t> pending_ = 0;  // indices that are not done

  // A thread that sets or finishes work reads sleeping_ or is_waiting_ afterwards. A thread that goes to sleep first
  // sets them, and then looks for work again. These operations have a single total order, so one of the two threads
  // sees the other.
  std::atomic<uint32_t> sleeping_ = 0;
  std::atomic<bool> is_waiting_ = false;
  Mutex mutex_;
  Condition work_;
  Condition done_;
  bool stopping_ = false;
};

static_assert(sizeof(ThreadPool) <= kThreadPoolBytes && alignof(ThreadPool) <= kThreadPoolAlignment);

ThreadPool* create_thread_pool(void* memory, uint32_t thread_count, const HostExecutor* host) {
  auto* pool = new (memory) ThreadPool;
  return pool->init(thread_count, host) ? pool : nullptr;
}

void destroy_thread_pool(ThreadPool* pool) {
  if (pool != nullptr) pool->deinit();
}

#else

ThreadPool* create_thread_pool(void*, uint32_t, const HostExecutor*) { return nullptr; }
void destroy_thread_pool(ThreadPool*) {}

#endif

void parallel_for(ThreadPool* pool, size_t count, void (*task)(void* context, size_t index), void* context) {
#if SOTTO_THREADS
  if (pool != nullptr && count > 1) {
    assert(count <= UINT32_MAX);
    return pool->run(static_cast<uint32_t>(count), task, context);
  }
#endif
  (void)pool;
  for (size_t index = 0; index < count; ++index) task(context, index);
}

}  // namespace sotto
