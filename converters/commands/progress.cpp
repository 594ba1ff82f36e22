#include "converters/commands/progress.h"

#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "platforms/command_line/system.h"

namespace sotto {

namespace {

volatile std::sig_atomic_t interrupted = 0;

void note_interrupt(int) { interrupted = 1; }

}  // namespace

void catch_interrupts() { cli::catch_interrupts(note_interrupt); }

Progress::Progress(bool wanted) : shown_(wanted && cli::is_terminal(stderr)) {}

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
