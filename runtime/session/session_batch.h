// Performs one step of several sessions of the same model, whose pending tokens are evaluated in one batch, so that
// each weight is read once. Everything else stays separate, so each session generates the same text as alone.
//
// evaluate() evaluates the pending tokens of all sessions that need logits, and next() then continues one session,
// evaluating a token only if evaluate() has not. Sessions that draft or must be re-anchored cannot join the batch, so
// next() evaluates their tokens as usual.
#pragma once

#include <cstddef>

#include "runtime/base/status.h"
#include "runtime/session/session.h"

namespace sotto {

// An array of sessions, which the caller stores as handles. `at` returns the session of element `index`.
struct SessionList {
  const void* self = nullptr;
  size_t count = 0;
  Session* (*at)(const void* self, size_t index) = nullptr;

  Session& operator[](size_t index) const { return *at(self, index); }
};

class SessionBatch {
 public:
  explicit SessionBatch(const SessionList& sessions) : sessions_(sessions) {}
  ~SessionBatch();
  SessionBatch(const SessionBatch&) = delete;
  SessionBatch& operator=(const SessionBatch&) = delete;

  // Validates the sessions and marks them as in use, so that callbacks cannot change them. The destructor removes the
  // marks, also after a failure.
  Status begin(Error* error);
  // Evaluates the pending tokens of the sessions, with the threads of the first session.
  void evaluate();
  // Calls next() of a session.
  Status next(size_t index);

 private:
  const SessionList sessions_;
  size_t marked_count_ = 0;  // number of sessions that are marked as in use
};

}  // namespace sotto
