// The conditions that end a text, and the banned strings. Stops copies them from the caller, and builds automata that
// find the strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/aho_corasick.h"
#include "runtime/base/arena.h"
#include "runtime/base/status.h"
#include "runtime/generated/params.h"

namespace sotto {

// Limits on stop parameters.
struct StopSizes {
  uint32_t vocabulary_size = 0;
  uint32_t context_tokens = 0;
  bool has_text = false;
  size_t list_bytes = 0;
};

// Finds the strings of a list in a text that arrives byte by byte. The automaton resides in memory of the caller.
class StringMatcher {
 public:
  using Automaton = AhoCorasick<char, uint16_t>;
  using State = Automaton::State;  // 0 if no string has begun

  static constexpr size_t kMaxStringBytes = 1024;
  static constexpr size_t kMaxTotalBytes = 65534;  // so that the number of a state fits 16 bits

  // Returns the memory that build() needs. The total size of the strings must be at most kMaxTotalBytes.
  static size_t memory_size(std::span<const TextView> strings);

  // Builds the automaton in `memory`, which must have memory_size() bytes and be aligned to 2. No string may be empty.
  void build(std::span<const TextView> strings, void* memory);

  bool empty() const { return automaton_.empty(); }
  State step(State state, char byte) const { return empty() ? State{0} : automaton_.step(state, byte); }

  // Returns the length of the longest suffix of the text that may be the beginning of a string.
  size_t partial_length(State state) const { return empty() ? 0 : automaton_.depth(state); }
  // Returns the length of the longest string that ends here, or 0.
  size_t matched(State state) const { return empty() ? 0 : automaton_.matched(state); }

 private:
  Automaton automaton_;
};

class Stops {
 public:
  void layout(Arena& arena, const StopSizes& sizes);

  // Validates and copies the parameters. On failure the old ones stay in effect.
  Status set(const StopParams& params, Error* error);

  bool includes_stop_text() const { return include_stop_text_; }
  uint64_t max_tokens() const { return max_tokens_; }
  uint64_t max_time_ns() const { return max_time_ns_; }
  float repetition_limit() const { return repetition_limit_; }
  uint32_t repetition_window() const { return repetition_window_; }
  bool is_stop_token(int32_t token) const;
  // Returns the stop that a token causes, or kOk. `end_tokens` are the end-of-text tokens of the model.
  Status stop_of(int32_t token, std::span<const int32_t> end_tokens) const;
  size_t stop_token_count() const { return stop_tokens_.size(); }
  const StringMatcher& stop_strings() const { return stop_strings_; }
  const StringMatcher& banned_strings() const { return banned_strings_; }

 private:
  Status check(const StopParams& params, Error* error) const;

  StopSizes sizes_;
  uint8_t* memory_ = nullptr;
  bool include_stop_text_ = false;
  uint64_t max_tokens_ = 0;
  uint64_t max_time_ns_ = 0;
  float repetition_limit_ = 0;
  uint32_t repetition_window_ = StopParams().repetition_window;
  std::span<const int32_t> stop_tokens_;  // sorted
  StringMatcher stop_strings_;
  StringMatcher banned_strings_;
};

}  // namespace sotto
