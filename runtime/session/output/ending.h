// The stop that ends a session's text, or kOk while the text continues.
//
// A stop that is found while tokens are still buffered is *pending* until all of them have been emitted. The call after
// that returns the stop, which is now *reached*: the text stays ended, and further calls return the same stop, until
// another prompt or resume(). A rewind calls resume(), and so does every change of the sampler, the stops, the limit,
// the constraint or the guide.
#pragma once

#include "runtime/base/status.h"

namespace sotto {

class Ending {
 public:
  Ending() = default;
  // The form in which saved states contain it.
  Ending(Status pending, Status reached) : pending_(pending), reached_(reached) {}

  // Returns the stop after the buffered tokens, or kOk.
  Status pending() const { return pending_; }
  // Returns the stop of the newest call, or kOk. A cancellation or a callback stops a call, but not the text.
  Status reached() const { return reached_; }
  bool has_ended() const { return ends_text(reached_); }

  // Declares that the text ends after the buffered tokens.
  void expect(Status stop) { pending_ = stop; }
  // Declares that no stop follows the buffered tokens any longer.
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
