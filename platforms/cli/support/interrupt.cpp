#include "platforms/cli/support/interrupt.h"

#include <atomic>

namespace sotto::cli {
namespace {

// The session that Ctrl-C cancels. It is global because a signal handler receives no context.
std::atomic<sotto_session*> running_session = nullptr;
static_assert(std::atomic<sotto_session*>::is_always_lock_free);

void on_interrupt(int) {
  if (sotto_session* session = running_session.load()) sotto_session_cancel(session);
}

}  // namespace

CancelOnInterrupt::CancelOnInterrupt(const Session& session) {
  running_session.store(session.c_session());
  sigaction(SIGINT, nullptr, &previous_);
  if (previous_.sa_handler == SIG_IGN) return;  // as after nohup or a script's "&"
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);  // the second one ends the program
  sigaction(SIGINT, &action, nullptr);
}

CancelOnInterrupt::~CancelOnInterrupt() {
  sigaction(SIGINT, &previous_, nullptr);
  running_session.store(nullptr);
}

}  // namespace sotto::cli
