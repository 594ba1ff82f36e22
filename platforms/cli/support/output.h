// Output of the program: text on standard output, and the progress of long work on standard error.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "platforms/cli/support/failure.h"

namespace sotto::cli {

// Standard output, flushed after each piece. Throws a Failure when it cannot be written.
class OutputWriter {
 public:
  OutputWriter();
  void write_bold(std::string_view text);  // in bold on a terminal, unless NO_COLOR is set
  void write(std::string_view text);
  void end_line();  // writes a line end unless the text ended with one
  // Returns the width of the terminal, or 0 if standard output is not a terminal.
  size_t width() const;

 private:
  void write_bytes(std::string_view bytes);

  bool is_terminal_;
  bool use_colour_;
  bool at_line_start_ = true;
};

// Returns a line such as "    318   -1.23456  \" was\"".
std::string score_line(Token token, float log_probability, const std::string& bytes);

// Shows the progress of long work if standard error is a terminal.
class Progress {
 public:
  // Shows "name: 12 of 128 tokens", or without the total if that is 0.
  Progress(std::string name, uint64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  bool is_on() const { return is_terminal_; }
  void show(uint64_t done);  // updates at most ten times per second, and only after half a second

 private:
  using Clock = std::chrono::steady_clock;

  std::string name_;
  uint64_t total_;
  bool is_terminal_;
  bool is_shown_ = false;
  Clock::time_point next_;
};

}  // namespace sotto::cli
