// Performs one step of several sessions of the same model. Their pending tokens are evaluated in one batch, so that
// each weight is read once. Everything else stays separate: each session generates the same text as alone.
//
// evaluate() evaluates the pending tokens of all sessions that need logits. next() then continues one session, and
// evaluates its token only if evaluate() has not. Sessions with draft_tokens, or before a re-anchoring, cannot join the
// batch; next() evaluates their tokens as usual.
#pragma once

#include <cstddef>

#include "runtime/base/status.h"
#include "runtime/session/session.h"

namespace sotto {

class SessionBatch {
 public:
  SessionBatch() = default;
  // Ends the uses that add() began.
  ~SessionBatch();
  SessionBatch(const SessionBatch&) = delete;
  SessionBatch& operator=(const SessionBatch&) = delete;

  // Adds a session, which is in use until the batch is destroyed, so that callbacks cannot change it. Rejects a session
  // that has another model or is in use already. The session must outlive the batch.
  Status add(Session* session, Error* error);
  // Evaluates the pending tokens of the sessions, with the threads of the first session.
  void evaluate();
  // Calls next() of a session of the batch.
  Status next(Session* session, Error* error);

 private:
  bool contains(const Session* session) const;

  Session* first_ = nullptr;  // the others follow as next_in_batch_
  Session** end_ = &first_;
  size_t count_ = 0;
};

}  // namespace sotto
