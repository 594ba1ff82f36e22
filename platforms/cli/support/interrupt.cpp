// Ctrl-C while a session generates: the first ends it cleanly, the second kills.
#include "platforms/cli/support/interrupt.h"

#include <atomic>
#include <csignal>

namespace sotto::cli {
namespace {

// A signal handler has no other way to its session.
std::atomic<sotto_session*> running_session = nullptr;
static_assert(std::atomic<sotto_session*>::is_always_lock_free);

void on_interrupt(int) {
  if (sotto_session* session = running_session.load()) sotto_session_cancel(session);
}

}  // namespace

CancelOnInterrupt::CancelOnInterrupt(sotto_session* session) {
  running_session.store(session);
  sigaction(SIGINT, nullptr, &previous_);
  if (previous_.sa_handler == SIG_IGN) return;  // started with nohup or by a script's "&"
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);  // the second one kills
  sigaction(SIGINT, &action, nullptr);
}

CancelOnInterrupt::~CancelOnInterrupt() {
  sigaction(SIGINT, &previous_, nullptr);
  running_session.store(nullptr);
}

}  // namespace sotto::cli
