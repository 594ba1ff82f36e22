// The newest tokens of a stream, and how repetitive they are.
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

// Returns how repetitive the newest n <= SamplerParams::kMaxGuardWindow tokens of a window are, from 0 (no repetition)
// to 1 (nothing else), as the mean of three measures:
//   max(0, 1 - 2 d / n) for d distinct tokens, because ordinary text repeats about half of its tokens;
//   1 - b / (n - 1) for b distinct bigrams;
//   min(1, 2 s / n) for the length s of the longest sequence of tokens that occurs twice, anywhere in the window; the
//   occurrences may overlap.
// The result is 0 for n < 8. Uses only the stack.
float repetitiveness(const TokenHistory& history, size_t window);

}  // namespace sotto
