// A view of the newest tokens of a stream, oldest first, in at most three pieces: two of a ring buffer and
// one of a sequence that a search has branched off.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sotto {

class TokenHistory {
 public:
  TokenHistory() = default;
  TokenHistory(std::span<const int32_t> oldest, std::span<const int32_t> older, std::span<const int32_t> newest = {})
      : pieces_{oldest, older, newest} {}

  size_t size() const { return pieces_[0].size() + pieces_[1].size() + pieces_[2].size(); }

  // The token `back` positions before the newest; back < size().
  int32_t from_end(size_t back) const {
    assert(back < size());
    size_t piece = 2;
    while (back >= pieces_[piece].size()) back -= pieces_[piece--].size();
    return pieces_[piece][pieces_[piece].size() - 1 - back];
  }

  // The newest `count`, or all.
  TokenHistory last(size_t count) const {
    TokenHistory newest;
    for (size_t piece = 3; piece-- > 0 && count > 0;) {
      const size_t taken = std::min(count, pieces_[piece].size());
      newest.pieces_[piece] = pieces_[piece].last(taken);
      count -= taken;
    }
    return newest;
  }

  // The pieces, oldest first; some may be empty.
  std::span<const std::span<const int32_t>, 3> pieces() const { return pieces_; }

 private:
  std::span<const int32_t> pieces_[3];
};

}  // namespace sotto
