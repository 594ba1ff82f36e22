#include "platforms/cli/support/output.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "platforms/cli/support/text.h"
#include "platforms/command_line/system.h"

namespace sotto::cli {

using std::chrono::milliseconds;

OutputWriter::OutputWriter()
    : is_terminal_(is_terminal(stdout)), use_colour_(is_terminal_ && std::getenv("NO_COLOR") == nullptr) {}

void OutputWriter::write_bold(std::string_view text) {
  if (use_colour_) write_bytes("\x1b[1m");
  write(text);
  if (use_colour_) write_bytes("\x1b[0m");
}

void OutputWriter::write(std::string_view text) {
  if (text.empty()) return;
  write_bytes(is_terminal_ ? for_terminal(text) : std::string(text));
  at_line_start_ = text.back() == '\n';
}

void OutputWriter::end_line() {
  if (!at_line_start_) write("\n");
}

size_t OutputWriter::width() const {
  constexpr size_t kDefault = 80;
  if (!is_terminal_) return 0;
  const size_t columns = terminal_columns();
  return columns > 0 ? columns : kDefault;
}

void OutputWriter::write_bytes(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() || std::fflush(stdout) != 0) {
    throw Failure(std::string("standard output: ") + std::strerror(errno));
  }
}

std::string score_line(Token token, float log_probability, const std::string& bytes) {
  char columns[64];
  std::snprintf(columns, sizeof columns, "%7d %10.5f  ", token, static_cast<double>(log_probability));
  return columns + in_quotes(bytes);
}

Progress::Progress(std::string name, uint64_t total)
    : name_(std::move(name)),
      total_(total),
      is_terminal_(is_terminal(stderr)),
      next_(Clock::now() + milliseconds(500)) {}

Progress::~Progress() {
  if (is_shown_) std::fputs("\r\x1b[K", stderr);
}

void Progress::show(uint64_t done) {
  if (!is_terminal_ || Clock::now() < next_) return;
  next_ = Clock::now() + milliseconds(100);
  is_shown_ = true;
  const std::string of = total_ == 0 ? "" : " of " + with_thousands(total_);
  std::fprintf(stderr, "\r%s: %s%s tokens\x1b[K", name_.c_str(), with_thousands(done).c_str(), of.c_str());
}

}  // namespace sotto::cli
