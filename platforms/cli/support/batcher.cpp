#include "platforms/cli/support/batcher.h"

#include <utility>

namespace sotto::cli {

Status Batcher::generate(Session& session, size_t max_tokens, const std::function<bool(const Piece&)>& on_piece) {
  // Counts a text in its lifetime.
  struct Text {
    explicit Text(Batcher& owner) : batcher(owner) {
      const std::lock_guard guard(batcher.mutex_);
      ++batcher.text_count_;
    }
    ~Text() {
      const std::lock_guard guard(batcher.mutex_);
      --batcher.text_count_;
      batcher.changed_.notify_all();
    }
    Batcher& batcher;
  } text(*this);
  session.set_limit(max_tokens);
  while (true) {
    const Session::Step step = next(session);
    if (step.error) throw *step.error;
    const bool has_piece = step.status == Status::ok || !step.piece.text().empty();
    const bool keeps_going = !has_piece || on_piece(step.piece);
    if (step.status != Status::ok) return step.status;
    if (!keeps_going) return Status::callback;
  }
}

// One of the waiting threads runs the batch for all of them.
Session::Step Batcher::next(Session& session) {
  Waiting own(session);
  std::unique_lock lock(mutex_);
  waiting_.push_back(&own);
  changed_.notify_all();
  while (!own.is_done) {
    if (is_running_) {
      changed_.wait(lock);
    } else {
      run_batch(lock);
    }
  }
  if (own.failure) std::rethrow_exception(own.failure);
  return own.step;
}

void Batcher::run_batch(std::unique_lock<std::mutex>& lock) {
  is_running_ = true;
  changed_.wait_for(lock, patience_, [&] { return waiting_.size() >= text_count_; });
  const std::vector<Waiting*> batch = std::exchange(waiting_, {});
  lock.unlock();
  const auto begin = std::chrono::steady_clock::now();
  std::exception_ptr failure;
  std::vector<Session::Step> steps(batch.size());
  try {
    std::vector<Session*> sessions;
    for (const Waiting* waiting : batch) sessions.push_back(waiting->session);
    steps = Session::next_of(sessions);
  } catch (...) {
    failure = std::current_exception();
  }
  lock.lock();
  patience_ = (std::chrono::steady_clock::now() - begin) / 4;
  for (size_t i = 0; i < batch.size(); ++i) {
    batch[i]->step = std::move(steps[i]);
    batch[i]->failure = failure;
    batch[i]->is_done = true;
  }
  is_running_ = false;
  changed_.notify_all();
}

}  // namespace sotto::cli
