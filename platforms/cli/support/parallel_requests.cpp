#include "platforms/cli/support/parallel_requests.h"

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

struct Line {
  std::string text;
  uint64_t number;
  bool is_taken = false;
  std::optional<std::string> answer;
};

// Lines between their reading and the writing of their answers.
class Lines {
 public:
  explicit Lines(const std::vector<AnswerRequest>& workers) : capacity_(4 * workers.size()) {
    try {
      for (const AnswerRequest& worker : workers) threads_.emplace_back([this, &worker] { work(worker); });
    } catch (...) {  // there are no more threads
      end();
      throw;
    }
  }
  ~Lines() { end(); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // Waits for space. Returns false if a worker has failed.
  bool add(std::string text, uint64_t number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return lines_.size() < capacity_ || failure_; });
    lines_.push_back({std::move(text), number, false, std::nullopt});
    changed_.notify_all();
    return !failure_;
  }

  // Waits for all answers and returns whether all lines were valid. Throws the exception of a worker, if any.
  bool finish() {
    end();
    if (failure_) std::rethrow_exception(failure_);
    return all_valid_;
  }

 private:
  void end() {
    {
      const std::lock_guard guard(mutex_);
      is_ended_ = true;
      changed_.notify_all();
    }
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

  // Returns the next line that no worker has taken, or null at the end. Pointers into lines_ stay valid.
  Line* take(std::unique_lock<std::mutex>& lock) {
    while (!failure_) {
      for (Line& line : lines_) {
        if (!std::exchange(line.is_taken, true)) return &line;
      }
      if (is_ended_) return nullptr;
      changed_.wait(lock);
    }
    return nullptr;
  }

  void work(const AnswerRequest& worker) {
    std::unique_lock lock(mutex_);
    while (Line* const line = take(lock)) {
      lock.unlock();
      bool all_valid = true;
      std::string answer;
      std::exception_ptr failure;
      try {
        answer = answer_request_line(worker, line->text, line->number, all_valid).dump();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      line->answer = std::move(answer);
      all_valid_ = all_valid_ && all_valid;
      if (failure && !failure_) failure_ = failure;
      write();
      changed_.notify_all();
    }
  }

  // Writes the answers before the first line that has none yet.
  void write() {
    try {
      while (!failure_ && !lines_.empty() && lines_.front().answer) {
        std::printf("%s\n", lines_.front().answer->c_str());
        flush_output();
        lines_.pop_front();
      }
    } catch (...) {
      failure_ = std::current_exception();
    }
  }

  size_t capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Line> lines_;
  bool is_ended_ = false;
  bool all_valid_ = true;
  std::exception_ptr failure_;
  std::vector<std::thread> threads_;
};

}  // namespace

bool answer_requests_in_parallel(const std::vector<AnswerRequest>& workers) {
  const Input input("-");
  Lines lines(workers);
  std::string text;
  for (uint64_t number = 1; read_line(input, number, text); ++number) {
    if (!lines.add(text, number)) break;
  }
  return lines.finish();
}

}  // namespace sotto::cli
