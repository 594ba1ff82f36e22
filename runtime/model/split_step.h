// A step of a pre-tokenizer as a model file stores it: the automaton that runtime/text/splitter.h runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sotto {

inline constexpr size_t kMaxSplitSteps = 8;
inline constexpr uint32_t kMaxSplitClasses = 255;  // so that a class fits a byte

// The maximum number of state changes of an automaton after its last match. The converter rejects patterns with more.
inline constexpr size_t kMaxSplitLookahead = 32;

// The maximum number of states that read any number of characters without a match.
inline constexpr size_t kMaxLoopStates = 4;

// A step, stored as 32-bit numbers: the header; the classes of the 128 ASCII characters, four per number; the first
// code points of all ranges; the classes of the ranges; and the transitions as a matrix (state, class), whose last
// column stands for the end of the text.
struct SplitStep {
  struct Header {
    uint32_t flags;
    uint32_t class_count;
    uint32_t range_count;
    uint32_t state_count;
  };
  enum Flag : uint32_t {
    kKeepMatches = 1,
    kKeepGaps = 2,
    kBareMatches = 4,  // matches get no space before or after them (WordSpace)
    kAllFlags = 7
  };
  static constexpr size_t kHeaderSize = 4;
  static constexpr size_t kAsciiSize = 32;
  static constexpr uint32_t kMatch = uint32_t{1} << 31;
  static constexpr uint32_t kDead = kMatch - 1;

  Header header;
  std::span<const uint32_t> ascii;
  std::span<const uint32_t> range_starts;
  std::span<const uint32_t> range_classes;
  std::span<const uint32_t> transitions;
};

// Reads the first of one or more verified steps, and removes it from `*steps`.
SplitStep read_split_step(std::span<const uint32_t>* steps);

// Verifies that the numbers are at most kMaxSplitSteps consistent steps.
bool verify_split_steps(std::span<const uint32_t> steps);

// Returns the class of a character.
uint32_t split_class(const SplitStep& step, uint32_t code_point);

}  // namespace sotto
