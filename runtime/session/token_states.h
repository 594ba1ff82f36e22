// What a session remembers of each of its newest tokens beside the token, so that a rewind
// finds it again. A ring in memory of the caller.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "runtime/base/arena.h"
#include "runtime/sampling/sample_input.h"

namespace sotto {

struct TokenState {
  enum Flags : uint16_t {
    kGenerated = 1,    // not prefilled
    kAnswerEnd = 2,    // what is generated behind it belongs to another answer
    kTextEnd = 4,      // and what comes behind it to another text
    kConstrained = 8,  // the constraint has accepted it
    kGuided = 16,      // the guide has it, too
  };
  static constexpr uint16_t kAllFlags = 31;

  SamplerState sampler;  // after the token
  uint16_t untaken = 0;  // bytes of text held back when it was handed out
  uint16_t flags = 0;

  bool has(Flags flag) const { return (flags & flag) != 0; }
};

class TokenStates {
 public:
  // As many as the context remembers tokens.
  void place(uint32_t context_tokens, Arena* arena) {
    capacity_ = size_t{2} * context_tokens;
    states_ = arena->take<TokenState>(capacity_);
  }

  void clear() { begin_ = 0; }
  // The stream's token `index`, the next one or one again.
  void set(uint64_t index, const TokenState& state) {
    states_[index % capacity_] = state;
    if (index + 1 > capacity_) begin_ = std::max(begin_, index + 1 - capacity_);
  }
  // Of index >= begin().
  TokenState& operator[](uint64_t index) { return states_[index % capacity_]; }
  const TokenState& operator[](uint64_t index) const { return states_[index % capacity_]; }
  // What comes before is forgotten.
  uint64_t begin() const { return begin_; }
  void forget_before(uint64_t index) { begin_ = index; }
  size_t capacity() const { return capacity_; }

  // How many of the tokens first ... end - 1 have a flag.
  uint64_t count(uint64_t first, uint64_t end, TokenState::Flags flag) const {
    uint64_t found = 0;
    for (uint64_t index = first; index < end; ++index) found += (*this)[index].has(flag) ? 1 : 0;
    return found;
  }
  void clear_flag(TokenState::Flags flag, uint64_t end) {
    for (uint64_t index = begin_; index < end; ++index) {
      (*this)[index].flags = static_cast<uint16_t>((*this)[index].flags & ~flag);
    }
  }

 private:
  TokenState* states_ = nullptr;
  size_t capacity_ = 0;
  uint64_t begin_ = 0;
};

}  // namespace sotto
