#include "platforms/cli/support/interrupt.h"

#include <atomic>

namespace sotto::cli {
namespace {

// The session that Ctrl-C cancels, which is global because a signal handler receives no context.
std::atomic<sotto_session*> running_session = nullptr;
static_assert(std::atomic<sotto_session*>::is_always_lock_free);

void on_interrupt(int) {
  std::signal(SIGINT, SIG_DFL);  // the second one ends the program
  if (sotto_session* session = running_session.load()) sotto_session_cancel(session);
}

}  // namespace

CancelOnInterrupt::CancelOnInterrupt(const Session& session) {
  running_session.store(session.c_session());
  previous_ = std::signal(SIGINT, on_interrupt);
  if (previous_ == SIG_IGN) std::signal(SIGINT, SIG_IGN);  // as after nohup or a script's "&"
}

CancelOnInterrupt::~CancelOnInterrupt() {
  std::signal(SIGINT, previous_);
  running_session.store(nullptr);
}

}  // namespace sotto::cli
