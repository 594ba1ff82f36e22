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

// Returns whether Session::next() would need the logits after the pending token.
bool needs_logits(const SessionParts& parts) {
  return !parts.cancellation.is_requested() && !parts.output.ending().has_ended() &&
         parts.stream.guide_status() == Status::kOk && !parts.output.is_ready() && parts.decoder.needs_logits();
}

}  // namespace

SessionBatch::~SessionBatch() {
  while (first_ != nullptr) {
    first_->in_use = false;
    first_ = std::exchange(first_->next_in_batch, nullptr);
  }
}

bool SessionBatch::contains(const SessionParts* parts) const {
  const SessionParts* member = first_;
  while (member != nullptr && member != parts) member = member->next_in_batch;
  return parts != nullptr && member == parts;
}

Status SessionBatch::add(Session* session, Error* error) {
  SessionParts& parts = session->parts();
  if (parts.is_in_use()) {
    if (contains(&parts) || contains(parts.guide) || contains(parts.drafter) || contains(parts.client)) {
      return fail(error, Status::kInvalidArgument, "sessions[", count_,
                  "] is given twice, or as the guide or draft session of another one");
    }
    return fail(error, Status::kInvalidState, "sessions[", count_,
                "] is in use: it cannot be called from a callback of its sampler, search or executor");
  }
  if (first_ != nullptr && &parts.stream.model() != &first_->stream.model()) {
    return fail(error, Status::kInvalidArgument, "sessions[", count_,
                "] has another model; it must have the one of sessions[0]");
  }
  parts.in_use = true;
  *end_ = &parts;
  end_ = &parts.next_in_batch;
  ++count_;
  return Status::kOk;
}

void SessionBatch::evaluate() {
  if (first_ == nullptr) return;
  const uint64_t begin_ns = monotonic_ns();
  StreamBatch batch(first_->pool);
  for (SessionParts* parts = first_; parts != nullptr; parts = parts->next_in_batch) {
    if (!parts->stream.has_pending() || !needs_logits(*parts)) continue;
    parts->step_begin_ns = begin_ns;
    batch.add(parts->stream);
    TokenStream* guide = parts->stream.guide();
    if (guide != nullptr && &guide->model() == &parts->stream.model()) batch.add(*guide);
  }
  batch.evaluate();
}

Status SessionBatch::next(Session* session) {
  SessionParts& parts = session->parts();
  parts.in_use = false;
  const Status status = session->run_and_record_error([&](Error*) { return session->next(); });
  parts.in_use = true;
  parts.step_begin_ns = 0;
  return status;
}

}  // namespace sotto
