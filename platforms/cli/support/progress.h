// Progress of long work, on standard error if that is a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace sotto::cli {

class Progress {
 public:
  // "what: 12 of 128 tokens"; with a total of 0 without "of".
  Progress(std::string what, uint64_t total);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(uint64_t done);  // now and then, and not for work that is done at once

 private:
  using Clock = std::chrono::steady_clock;

  std::string what_;
  uint64_t total_;
  bool is_terminal_;
  bool is_shown_ = false;
  Clock::time_point next_;
};

}  // namespace sotto::cli
