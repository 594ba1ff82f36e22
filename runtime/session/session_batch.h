// One step of several sessions of the same model. Their pending tokens are evaluated in one batch, which reads each
// weight once. All else stays separate, so each session generates the text that it would generate alone.
//
// Session::next() evaluates the pending token if this has not been done yet. A SessionBatch first evaluates the pending
// tokens of all sessions that need it, and then calls next() for each session. Tokens of sessions that draft or have to
// be re-anchored cannot be part of a batch, so next() evaluates them as usual.
#pragma once

#include <cstddef>

#include "runtime/base/status.h"
#include "runtime/session/session.h"

namespace sotto {

// An array of sessions that the caller stores as handles. `at` converts element `index`.
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

  // Validates the sessions, and marks them as in use, so that no callback changes them. After a failure nothing has
  // changed.
  Status begin(Error* error);
  // Evaluates the pending tokens of the sessions, with the threads of the first one.
  void evaluate();
  // Calls next() of a session.
  Status next(size_t index);

 private:
  const SessionList sessions_;
  size_t marked_count_ = 0;  // number of sessions that are marked as in use
};

}  // namespace sotto
