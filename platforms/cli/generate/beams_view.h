// A live view of the sequences of a search on a terminal, one line per sequence, which is erased at the end.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "platforms/cli/support/model.h"
#include "platforms/cli/support/output.h"

namespace sotto::cli {

class BeamsView {
 public:
  // The view is on if `is_wanted`, and if standard output and standard error are terminals that can move the cursor.
  BeamsView(const LoadedModel& model, const SearchParams& params, const Progress& progress, bool is_wanted);
  ~BeamsView();
  BeamsView(const BeamsView&) = delete;
  BeamsView& operator=(const BeamsView&) = delete;

  bool is_on() const { return is_on_; }
  // Adds a token to the sequence that had the number `parent` in the previous step. Shows the sequences when a step is
  // complete, at most twenty times per second.
  void add(uint32_t sequence, Token token, uint32_t parent);
  void erase();

 private:
  using Clock = std::chrono::steady_clock;

  void end_step();
  void show();

  const LoadedModel& model_;
  uint32_t max_tokens_;
  bool is_on_;
  uint32_t step_ = 0;
  uint32_t newest_ = 0;               // the sequence that was reported last
  std::vector<std::string> texts_;    // of the last complete step
  std::vector<std::string> growing_;  // of this step
  size_t shown_lines_ = 0;
  Clock::time_point next_;
};

}  // namespace sotto::cli
