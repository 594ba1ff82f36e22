#include "runtime/session/session_batch.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/base/clock.h"

namespace sotto {
namespace {

// Collects streams and evaluates them as soon as they fill a batch.
class StreamBatch {
 public:
  explicit StreamBatch(ThreadPool* pool) : pool_(pool) {}

  void add(TokenStream& stream) {
    if (!stream.can_evaluate_with_others()) return;
    streams_[count_++] = &stream;
    if (count_ == std::min(streams_.size(), streams_[0]->kv().forward().row_capacity())) evaluate();
  }
  void evaluate() {
    if (count_ > 0) TokenStream::evaluate_each({streams_.data(), count_}, pool_);
    count_ = 0;
  }

 private:
  ThreadPool* pool_;
  std::array<TokenStream*, KvSequence::kMaxSequences> streams_;
  size_t count_ = 0;
};

}  // namespace

SessionBatch::~SessionBatch() {
  while (first_ != nullptr) {
    first_->uses_.end();
    first_ = std::exchange(first_->next_in_batch_, nullptr);
  }
}

bool SessionBatch::contains(const Session* session) const {
  const Session* member = first_;
  while (member != nullptr && member != session) member = member->next_in_batch_;
  return session != nullptr && member == session;
}

Status SessionBatch::add(Session* session, Error* error) {
  if (session->is_in_use()) {
    if (contains(session) || contains(session->guide_) || contains(session->drafter_) || contains(session->client_)) {
      return fail(error, Status::kInvalidArgument, "sessions[", count_,
                  "] is given twice, or as the guide or draft session of another one");
    }
    return fail_in_use(error, "sessions[", count_, "]");
  }
  if (first_ != nullptr && &session->stream_.model() != &first_->stream_.model()) {
    return fail(error, Status::kInvalidArgument, "sessions[", count_,
                "] has another model; it must have the one of sessions[0]");
  }
  session->uses_.begin();
  *end_ = session;
  end_ = &session->next_in_batch_;
  ++count_;
  return Status::kOk;
}

void SessionBatch::evaluate() {
  if (first_ == nullptr) return;
  const uint64_t begin_ns = monotonic_ns();
  StreamBatch batch(first_->pool_);
  for (Session* session = first_; session != nullptr; session = session->next_in_batch_) {
    if (!session->stream_.has_pending() || !session->needs_logits()) continue;
    session->step_begin_ns_ = begin_ns;
    batch.add(session->stream_);
    TokenStream* guide = session->stream_.guide();
    if (guide != nullptr && &guide->model() == &session->stream_.model()) batch.add(*guide);
  }
  batch.evaluate();
}

Status SessionBatch::next(Session* session, Error* error) {
  const Status status = session->next(error);
  session->step_begin_ns_ = 0;
  return status;
}

}  // namespace sotto
