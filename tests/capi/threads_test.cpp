// Tests threads: several sessions on one model, threads of the host, and cancelling from outside. The thread sanitizer
// runs these tests as well.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "tests/capi/open_session.h"

namespace sotto {
namespace {

constexpr ModelShape kShape = {300, 128, 64, 4, 128, 2};

std::vector<sotto_token> run_session(sotto_model* model, uint32_t threads, uint32_t seed,
                                     const sotto_executor* executor = nullptr) {
  OpenSession session(model, [&](sotto_session_params& params) {
    params.context_tokens = 40;
    params.overflow = SOTTO_OVERFLOW_RING;
    params.thread_count = threads;
    params.executor = executor;
  });
  const auto prompt = random_tokens(20, 300, seed);
  EXPECT_EQ(sotto_session_prefill(session.get(), prompt.data(), prompt.size()), SOTTO_OK);
  return session.generate(60);
}

TEST(Threads, CountDoesNotChangeTheText) {
  LoadedModel model(make_model_file(kShape, false));
  const auto expected = run_session(model.get(), 1, 9);
  for (const uint32_t threads : {2u, 3u, 8u}) {
    EXPECT_EQ(run_session(model.get(), threads, 9), expected) << threads;
  }
}

TEST(Threads, ManySessionsShareOneModel) {
  LoadedModel model(make_model_file(kShape, false));
  std::vector<std::vector<sotto_token>> expected, got(4);
  for (uint32_t i = 0; i < 4; ++i) expected.push_back(run_session(model.get(), 1, i));
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] { got[i] = run_session(model.get(), 1 + i % 2, i); });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(got, expected);
}

// A thread pool of the host.
class HostPool {
 public:
  explicit HostPool(int count) : count_(count) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([this] { work(); });
  }
  ~HostPool() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (auto& thread : threads_) thread.join();
  }
  sotto_executor executor() {
    return {sizeof(sotto_executor), 0, [](void* context) -> int32_t { return static_cast<HostPool*>(context)->count_; },
            [](void* context, void* task_context, void (*task)(void*)) {
              static_cast<HostPool*>(context)->schedule(task_context, task);
            },
            this};
  }
  uint64_t scheduled() const { return scheduled_; }

 private:
  struct Task {
    void* context;
    void (*run)(void*);
  };

  void schedule(void* context, void (*run)(void*)) {
    ++scheduled_;
    {
      std::lock_guard lock(mutex_);
      tasks_.push_back({context, run});
    }
    wake_.notify_one();
  }

  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const Task task = tasks_.front();
      tasks_.pop_front();
      lock.unlock();
      task.run(task.context);
    }
  }

  int count_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  bool stopping_ = false;
  std::atomic<uint64_t> scheduled_ = 0;
};

TEST(Threads, HostsCanProvideThreads) {
  LoadedModel model(make_model_file(kShape, false));
  const auto expected = run_session(model.get(), 1, 9);
  HostPool pool(2);
  const sotto_executor executor = pool.executor();
  EXPECT_EQ(run_session(model.get(), 3, 9, &executor), expected);
  EXPECT_GT(pool.scheduled(), 0u);
}

// An executor that runs tasks in an unusual way.
struct OddExecutor {
  enum Way { kOnTheCallingThread, kTwice, kLate, kNegative };
  Way way;
  std::vector<std::thread> threads;
  std::mutex mutex;

  sotto_executor executor() {
    return {sizeof(sotto_executor), 0,
            [](void* self) -> int32_t { return static_cast<OddExecutor*>(self)->way == kNegative ? -4 : 2; },
            [](void* self, void* context, void (*task)(void*)) {
              static_cast<OddExecutor*>(self)->schedule(context, task);
            },
            this};
  }
  void schedule(void* context, void (*task)(void*)) {
    if (way != kLate) task(context);
    if (way == kTwice) task(context);
    if (way != kLate) return;
    const std::lock_guard lock(mutex);
    threads.emplace_back([context, task] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      task(context);
    });
  }
  ~OddExecutor() {
    for (std::thread& thread : threads) thread.join();
  }
};

TEST(Threads, OddExecutorsDoNotChangeTheText) {
  LoadedModel model(make_model_file(kShape, false));
  const auto expected = run_session(model.get(), 1, 9);
  for (const auto way : {OddExecutor::kOnTheCallingThread, OddExecutor::kTwice, OddExecutor::kLate}) {
    OddExecutor odd = {way, {}, {}};
    const sotto_executor executor = odd.executor();
    EXPECT_EQ(run_session(model.get(), 3, 9, &executor), expected) << way;
  }
}

TEST(Threads, ANegativeNumberOfThreadsIsRejected) {
  LoadedModel model(make_model_file(kShape, false));
  OddExecutor odd = {OddExecutor::kNegative, {}, {}};
  const sotto_executor executor = odd.executor();
  sotto_session_params params;
  sotto_session_params_init(&params, sizeof params);
  params.thread_count = 3;
  params.executor = &executor;
  size_t size = 0;
  ASSERT_EQ(sotto_session_memory_size(model.get(), &params, &size, nullptr), SOTTO_OK);
  AlignedBytes memory(size);
  sotto_session* session = nullptr;
  sotto_error error = {sizeof error, SOTTO_OK, 0, ""};
  EXPECT_EQ(sotto_session_init(model.get(), &params, memory.data(), size, &session, &error), SOTTO_INVALID_ARGUMENT);
  EXPECT_NE(std::string_view(error.message).find("num_threads returned -4"), std::string_view::npos) << error.message;
}

TEST(Threads, CancelFromAnotherThreadEndsGeneration) {
  LoadedModel model(make_model_file(kShape, false));
  OpenSession session(model.get(), [](sotto_session_params& params) {
    params.context_tokens = 40;
    params.overflow = SOTTO_OVERFLOW_RING;
  });
  const sotto_token prompt[] = {1, 2, 3};
  std::atomic<bool> running = false;
  std::thread other([&] {
    while (!running) std::this_thread::yield();
    sotto_session_cancel(session.get());
  });
  const sotto_status status = sotto_session_generate(
      session.get(), prompt, 3, SIZE_MAX,
      [](void* user_data, const sotto_piece*) -> int32_t {
        *static_cast<std::atomic<bool>*>(user_data) = true;
        return 0;
      },
      &running);
  other.join();
  EXPECT_EQ(status, SOTTO_STOP_CANCELLED);
  EXPECT_EQ(session.generate(5).size(), 5u);
}

TEST(Threads, CancelledPrefillsCanContinue) {
  LoadedModel model(make_model_file(kShape, false));
  const auto prompt = random_tokens(2000, 300, 10);
  const auto ring = [](sotto_session_params& params) {
    params.context_tokens = 64;
    params.batch_tokens = 16;
    params.overflow = SOTTO_OVERFLOW_RING;
  };
  OpenSession whole(model.get(), ring);
  ASSERT_EQ(sotto_session_prefill(whole.get(), prompt.data(), prompt.size()), SOTTO_OK);
  OpenSession session(model.get(), ring);
  std::atomic<bool> began = false, done = false;
  std::thread other([&] {
    auto pause = std::chrono::microseconds(700);
    for (; !done; pause += pause / 4) {  // the pauses grow, so that a slow machine finishes too
      sotto_session_cancel(session.get());
      began = true;
      std::this_thread::sleep_for(pause);
    }
  });
  while (!began) std::this_thread::yield();
  int cancelled = 0;
  for (uint64_t at = 0; at < prompt.size(); at = session.info().token_count) {
    const sotto_status status = sotto_session_prefill(session.get(), prompt.data() + at, prompt.size() - at);
    ASSERT_TRUE(status == SOTTO_OK || status == SOTTO_STOP_CANCELLED) << status;
    cancelled += status == SOTTO_STOP_CANCELLED;
  }
  done = true;
  other.join();
  EXPECT_GT(cancelled, 0);
  const sotto_piece* piece;
  if (sotto_session_next(session.get(), &piece) == SOTTO_STOP_CANCELLED) {  // a cancellation that came late
    ASSERT_EQ(sotto_session_next(session.get(), &piece), SOTTO_OK);
  }
  const sotto_piece* expected;
  ASSERT_EQ(sotto_session_next(whole.get(), &expected), SOTTO_OK);
  EXPECT_EQ(piece->token, expected->token);
  EXPECT_EQ(session.logits(), whole.logits());
}

}  // namespace
}  // namespace sotto
