#include "converters/commands/progress.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace sotto {

namespace {

volatile std::sig_atomic_t interrupted = 0;

void note_interrupt(int) { interrupted = 1; }

}  // namespace

// SA_RESTART stays unset, so that a blocked system call returns.
void catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = note_interrupt;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGXFSZ, SIG_IGN);
}

Progress::Progress(bool wanted) : shown_(wanted && isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
}

void Progress::show(double fraction) const {
  constexpr int kWidth = 40;
  if (interrupted != 0) throw std::runtime_error("interrupted");
  if (!shown_) return;
  const std::string filled(static_cast<size_t>(fraction * kWidth), '#');
  std::fprintf(stderr, "\r[%-*s] %3d%%", kWidth, filled.c_str(), static_cast<int>(fraction * 100));
}

}  // namespace sotto
