// What ends a text, and what may not be in it: the caller's settings, copied and made ready
// to match.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/status.h"
#include "runtime/session/string_matcher.h"

namespace sotto {

// As sotto_stop_params.
struct StopParams {
  bool include_stop_text = false;
  uint64_t max_tokens = 0;
  uint64_t max_time_ns = 0;
  float repetition_limit = 0;
  uint32_t repetition_window = 64;
  std::span<const int32_t> stop_tokens;
  std::span<const TextView> stop_strings;
  std::span<const TextView> banned_strings;
};

// What the session can have stops for.
struct StopShape {
  uint32_t vocabulary_size = 0;
  uint32_t context_tokens = 0;
  bool has_text = false;
  size_t list_bytes = 0;
};

class Stops {
 public:
  // Takes the memory of the lists from `arena`, which may only measure.
  void place(const StopShape& shape, Arena* arena);

  // Checks and takes the parameters; on failure the old ones stay.
  Status set(const StopParams& params, Error* error);

  bool includes_stop_text() const { return include_stop_text_; }
  uint64_t max_tokens() const { return max_tokens_; }
  uint64_t max_time_ns() const { return max_time_ns_; }
  float repetition_limit() const { return repetition_limit_; }
  uint32_t repetition_window() const { return repetition_window_; }
  bool is_stop_token(int32_t token) const;
  size_t stop_token_count() const { return stop_tokens_.size(); }
  const StringMatcher& stop_strings() const { return stop_strings_; }
  const StringMatcher& banned_strings() const { return banned_strings_; }

 private:
  Status check(const StopParams& params, Error* error) const;

  StopShape shape_;
  uint8_t* memory_ = nullptr;
  bool include_stop_text_ = false;
  uint64_t max_tokens_ = 0;
  uint64_t max_time_ns_ = 0;
  float repetition_limit_ = 0;
  uint32_t repetition_window_ = 0;
  std::span<const int32_t> stop_tokens_;  // sorted
  StringMatcher stop_strings_;
  StringMatcher banned_strings_;
};

}  // namespace sotto
