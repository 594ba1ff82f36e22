// The steps of a pre-tokenizer. Each step finds the matches of a regular expression in a piece of text, which divide
// the piece into matches and gaps, and keeps the matches, the gaps, or both.
//
// The converter compiles an expression (converters/tokenizers/pattern.h) to a deterministic automaton over classes of
// characters. Its states are lists of positions in the order of preference (as in RE2), so that it finds the match that
// a backtracking engine prefers, which need not be the longest. A transition records whether a match ends before the
// character, so an automaton can look one character ahead, as \s+(?!\S) requires.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/model/split_step.h"
#include "runtime/text/word.h"

namespace sotto {

struct SplitPiece {
  size_t end;
  bool is_match;
};

// Remembers where the search for a longer match fails: in `state`, at every position from `begin` to before `end`.
// Without this memory, states that read any number of characters without a match would make the search quadratic (Reps
// 1998, "Maximal-Munch Tokenization in Linear Time"). An automaton has at most kMaxLoopStates such states.
class FailedSearches {
 public:
  bool contains(uint32_t state, size_t at) const;
  void add(uint32_t state, size_t begin, size_t end);

 private:
  struct Range {
    uint32_t state = SplitStep::kDead;
    size_t begin = 0;
    size_t end = 0;
  };
  Range ranges_[kMaxLoopStates];
};

// Returns the match or the gap that begins at `start` < word.size(). `failed` must not be shared between words.
SplitPiece next_piece(const SplitStep& step, const Word& word, size_t start, FailedSearches* failed);

}  // namespace sotto
