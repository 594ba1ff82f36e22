#include "runtime/session/session_batch.h"

#include <algorithm>
#include <array>

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
  return !parts.cancellation.is_requested() && !ends_text(parts.stop) && parts.stream.guide_status() == Status::kOk &&
         !parts.output.is_ready() && parts.decoder.needs_logits();
}

}  // namespace

SessionBatch::~SessionBatch() {
  for (size_t i = 0; i < marked_count_; ++i) sessions_[i].parts_.in_use = false;
}

Status SessionBatch::begin(Error* error) {
  for (size_t i = 0; i < sessions_.count; ++i) {
    if (sessions_[i].is_in_use()) {
      return fail(error, Status::kInvalidState, "sessions[", i,
                  "] is in use: it cannot be called from a callback of its sampler, search or executor");
    }
    if (&sessions_[i].stream().model() != &sessions_[0].stream().model()) {
      return fail(error, Status::kInvalidArgument, "sessions[", i,
                  "] has another model; it must have the one of sessions[0]");
    }
  }
  for (size_t i = 0; i < sessions_.count; ++i) {
    // This is also true if a guide, drafter or client of the session has been marked.
    if (sessions_[i].is_in_use()) {
      return fail(error, Status::kInvalidArgument, "sessions[", i,
                  "] is given twice, or as the guide or draft session of another one");
    }
    sessions_[i].parts_.in_use = true;
    ++marked_count_;
  }
  return Status::kOk;
}

void SessionBatch::evaluate() {
  if (sessions_.count == 0) return;
  const uint64_t begin_ns = monotonic_ns();
  StreamBatch batch(sessions_[0].parts_.pool);
  for (size_t i = 0; i < sessions_.count; ++i) {
    SessionParts& parts = sessions_[i].parts_;
    if (!parts.stream.has_pending() || !needs_logits(parts)) continue;
    parts.step_begin_ns = begin_ns;
    batch.add(parts.stream);
    TokenStream* guide = parts.stream.guide();
    if (guide != nullptr && &guide->model() == &parts.stream.model()) batch.add(*guide);
  }
  batch.evaluate();
}

Status SessionBatch::next(size_t index) {
  Session& session = sessions_[index];
  session.parts_.in_use = false;
  const Status status = session.run_and_record_error([&](Error*) { return session.next(); });
  session.parts_.in_use = true;
  session.parts_.step_begin_ns = 0;
  return status;
}

}  // namespace sotto
