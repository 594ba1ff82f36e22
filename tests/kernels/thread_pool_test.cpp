// Tests the pool of threads: every index runs once, with any behavior of the helpers.
#include "kernels/thread_pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

namespace sotto {
namespace {

class OpenPool {
 public:
  explicit OpenPool(uint32_t thread_count, const HostExecutor* host = nullptr)
      : pool_(create_thread_pool(memory_, thread_count, host)) {}
  ~OpenPool() { destroy_thread_pool(pool_); }
  OpenPool(const OpenPool&) = delete;
  OpenPool& operator=(const OpenPool&) = delete;

  ThreadPool* get() { return pool_; }

 private:
  alignas(kThreadPoolAlignment) uint8_t memory_[kThreadPoolBytes];
  ThreadPool* pool_;
};

// Runs a loop, and returns how often it ran each index.
std::vector<int> run_loop(ThreadPool* pool, size_t count, std::chrono::microseconds first_takes = {}) {
  std::vector<std::atomic<int>> runs(count);
  parallel_for(pool, count, [&](size_t index) {
    if (index == 0 && first_takes.count() > 0) std::this_thread::sleep_for(first_takes);
    ++runs[index];
  });
  return {runs.begin(), runs.end()};
}

TEST(ThreadPool, RunsEachIndexOnce) {
  std::mt19937 random(1);
  for (const uint32_t thread_count : {2u, 3u, 8u, kMaxThreads}) {
    if (!threads_available()) GTEST_SKIP() << "built without threads";
    OpenPool pool(thread_count);
    ASSERT_NE(pool.get(), nullptr);
    for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, size_t{63}, size_t{70000}}) {
      EXPECT_EQ(run_loop(pool.get(), count), std::vector<int>(count, 1)) << thread_count << " threads, " << count;
    }
    for (int i = 0; i < 300; ++i) {
      const size_t count = random() % 200;
      ASSERT_EQ(run_loop(pool.get(), count), std::vector<int>(count, 1)) << thread_count << " threads, loop " << i;
    }
  }
}

// A signal for the process goes to a thread that does not block it. If the test's thread blocks it, no other is left.
TEST(ThreadPool, ThreadsBlockSignals) {
  if (!threads_available()) GTEST_SKIP() << "built without threads";
  static std::atomic<int> handled;
  handled = 0;
  struct sigaction action = {}, old_action;
  action.sa_handler = [](int) { ++handled; };
  ASSERT_EQ(sigaction(SIGUSR1, &action, &old_action), 0);
  {
    OpenPool pool(4);
    sigset_t signals, old_signals, pending;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &signals, &old_signals), 0);
    EXPECT_EQ(sigismember(&old_signals, SIGUSR1), 0);  // starting the pool left the mask as it was
    ASSERT_EQ(kill(getpid(), SIGUSR1), 0);
    EXPECT_EQ(run_loop(pool.get(), 1000), std::vector<int>(1000, 1));
    EXPECT_EQ(handled, 0);
    sigpending(&pending);
    EXPECT_EQ(sigismember(&pending, SIGUSR1), 1);
    pthread_sigmask(SIG_SETMASK, &old_signals, nullptr);
    EXPECT_EQ(handled, 1);
  }
  sigaction(SIGUSR1, &old_action, nullptr);
}

// Pauses let the helpers fall asleep, and a slow index lets the caller fall asleep.
TEST(ThreadPool, WakesThreadsThatSleep) {
  if (!threads_available()) GTEST_SKIP() << "built without threads";
  OpenPool pool(4);
  for (int i = 0; i < 40; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 3));
    ASSERT_EQ(run_loop(pool.get(), 16, std::chrono::milliseconds(i % 4)), std::vector<int>(16, 1)) << "loop " << i;
  }
}

TEST(ThreadPool, HelpersTakeTheIndicesOfASlowThread) {
  if (!threads_available()) GTEST_SKIP() << "built without threads";
  OpenPool pool(2);
  std::atomic<int> done = 0;
  // Index 0 ends only when all other indices are done, those of its own range included.
  parallel_for(pool.get(), 100, [&](size_t index) {
    if (index == 0) {
      while (done != 99) std::this_thread::yield();
    }
    ++done;
  });
  EXPECT_EQ(done, 100);
}

// A host that runs its tasks in an unusual way.
struct OddHost {
  enum Way { kThread, kOnTheCallingThread, kTwice, kLate, kLater };
  Way way;
  std::vector<std::thread> threads;
  std::vector<void*> later;
  void (*later_run)(void* context) = nullptr;

  HostExecutor executor() {
    return {
        2, [](void* self, void* context, void (*task)(void*)) { static_cast<OddHost*>(self)->schedule(context, task); },
        this};
  }
  void schedule(void* context, void (*run)(void*)) {
    later_run = run;
    if (way == kOnTheCallingThread || way == kTwice) run(context);
    if (way == kTwice) run(context);
    if (way == kLater) later.push_back(context);
    if (way != kThread && way != kLate) return;
    threads.emplace_back([=, this] {
      if (way == kLate) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      run(context);
    });
  }
};

TEST(ThreadPool, HostsMayRunTasksInAnyWay) {
  if (!threads_available()) GTEST_SKIP() << "built without threads";
  for (const auto way :
       {OddHost::kThread, OddHost::kOnTheCallingThread, OddHost::kTwice, OddHost::kLate, OddHost::kLater}) {
    OddHost host = {way, {}, {}};
    const HostExecutor executor = host.executor();
    {
      OpenPool pool(5, &executor);
      for (size_t count = 2; count < 40; ++count) {
        ASSERT_EQ(run_loop(pool.get(), count), std::vector<int>(count, 1)) << "way " << way << ", " << count;
      }
      // Tasks that never ran are not scheduled again.
      EXPECT_EQ(host.later.size(), way == OddHost::kLater ? 2u : 0u);
      for (void* context : host.later) host.later_run(context);
    }
    for (std::thread& thread : host.threads) thread.join();
  }
}

}  // namespace
}  // namespace sotto
