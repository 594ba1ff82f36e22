// Progress of long work, on standard error if that is a terminal.
#include "platforms/cli/support/progress.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "platforms/cli/support/text.h"

namespace sotto::cli {

using std::chrono::milliseconds;

Progress::Progress(std::string what, uint64_t total)
    : what_(std::move(what)),
      total_(total),
      is_terminal_(isatty(STDERR_FILENO) != 0),
      next_(Clock::now() + milliseconds(500)) {}

Progress::~Progress() {
  if (is_shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::show(uint64_t done) {
  if (!is_terminal_ || Clock::now() < next_) return;
  next_ = Clock::now() + milliseconds(100);
  is_shown_ = true;
  const std::string of = total_ == 0 ? "" : " of " + with_thousands(total_);
  std::fprintf(stderr, "\r%s: %s%s tokens\x1b[K", what_.c_str(), with_thousands(done).c_str(), of.c_str());
}

}  // namespace sotto::cli
