// The stop that ends a session's text, or kOk while the text continues.
//
// A stop that is found while tokens are still buffered is pending until they have been emitted. The call that returns
// it then records it as reached. The text stays ended until another prompt, or until resume(): a rewind, or a new
// sampler, limit, constraint or guide, or new stops.
#pragma once

#include "runtime/base/status.h"

namespace sotto {

class Ending {
 public:
  Ending() = default;
  // As saved states contain it.
  Ending(Status pending, Status reached) : pending_(pending), reached_(reached) {}

  // Returns the stop after the buffered tokens, or kOk.
  Status pending() const { return pending_; }
  // Returns the stop of the newest call, or kOk. A cancellation or a callback stops a call, but not the text.
  Status reached() const { return reached_; }
  bool has_ended() const { return ends_text(reached_); }

  // The text ends after the buffered tokens.
  void expect(Status stop) { pending_ = stop; }
  // No stop follows the buffered tokens any longer.
  void withdraw() { pending_ = Status::kOk; }
  void withdraw(Status stop) {
    if (pending_ == stop) withdraw();
  }

  // Records the result of a call, and returns it.
  Status reach(Status result) {
    reached_ = is_failure(result) ? Status::kOk : result;
    if (has_ended()) withdraw();
    return result;
  }
  // Continues the text after the stop that was reached. A pending stop stays.
  void resume() { reached_ = Status::kOk; }

 private:
  Status pending_ = Status::kOk;
  Status reached_ = Status::kOk;
};

}  // namespace sotto
