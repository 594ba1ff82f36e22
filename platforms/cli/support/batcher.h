// Evaluates the tokens of several sessions of one model in one batch. Each session generates in its own thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <sotto.hpp>
#include <vector>

namespace sotto::cli {

class Batcher {
 public:
  // Generates a text as Session::generate() does, with the same result. `on_piece` returns false to end it.
  Status generate(Session& session, size_t max_tokens, const std::function<bool(const Piece&)>& on_piece);

 private:
  // A session that waits for its next token.
  struct Waiting {
    explicit Waiting(Session& waiting) : session(&waiting) {}
    Session* session;
    Session::Step step;
    std::exception_ptr failure;
    bool is_done = false;
  };

  Session::Step next(Session& session);
  void run_batch(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable changed_;
  size_t text_count_ = 0;  // number of texts that are being generated
  bool is_running_ = false;
  // Time that a batch waits for sessions whose threads are busy, for example with output: a quarter of the last batch's
  // time.
  std::chrono::steady_clock::duration patience_ = {};
  std::vector<Waiting*> waiting_;
};

}  // namespace sotto::cli
