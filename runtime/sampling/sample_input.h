// The input of one sampling step, apart from the logits, and the state that selections keep between steps.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sotto {

// A view of the newest tokens of a stream, oldest first. It has at most three pieces: two of the stream's ring buffer,
// and one of a sequence that continues the stream in a search.
class TokenHistory {
 public:
  TokenHistory() = default;
  TokenHistory(std::span<const int32_t> oldest, std::span<const int32_t> older, std::span<const int32_t> newest = {})
      : pieces_{oldest, older, newest} {}

  size_t size() const { return pieces_[0].size() + pieces_[1].size() + pieces_[2].size(); }

  // Returns the token that precedes the newest one by `back` tokens. Requires back < size().
  int32_t from_end(size_t back) const {
    assert(back < size());
    size_t piece = 2;
    while (back >= pieces_[piece].size()) back -= pieces_[piece--].size();
    return pieces_[piece][pieces_[piece].size() - 1 - back];
  }

  // Returns the newest `count` tokens, or all tokens if there are fewer.
  TokenHistory last(size_t count) const {
    TokenHistory newest;
    for (size_t piece = 3; piece-- > 0 && count > 0;) {
      const size_t taken = std::min(count, pieces_[piece].size());
      newest.pieces_[piece] = pieces_[piece].last(taken);
      count -= taken;
    }
    return newest;
  }

  // Returns the pieces, oldest first. Some may be empty.
  std::span<const std::span<const int32_t>, 3> pieces() const { return pieces_; }

 private:
  std::span<const int32_t> pieces_[3];
};

// The input of one sampling step, apart from the logits.
struct SampleInput {
  TokenHistory history;  // the prompt and the sequence so far, or their newest tokens
  // Number of tokens in the sequence, which is the index of the draw and selects the random number.
  uint64_t draw = 0;
  uint32_t sequence = 0;         // number of the sequence in a search; 0 for the session's own
  uint32_t rejected_count = 0;   // number of tokens that were rejected at this place
  uint64_t generated_count = 0;  // number of generated tokens at the end of the history
  uint64_t token_limit = 0;      // number of generated tokens after which the text ends; 0 if it is not known
};

// The state of selections. A session stores it per token, so that it can be rolled back.
struct SamplerState {
  float mirostat_mu = 0;      // in bits
  float adaptive_sum = 0;     // decayed sum of past probabilities
  float adaptive_weight = 0;  // decayed number of past probabilities
  uint32_t top_p_step = 0;    // number of tokens since top_p began to decay
};

}  // namespace sotto
