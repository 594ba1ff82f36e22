// The sequence breakers of DRY: tokens that it neither penalizes nor matches across. The stage itself is in dry.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/bits.h"
#include "runtime/generated/params.h"
#include "runtime/sampling/sampler_context.h"

namespace sotto {

class BreakerSet {
 public:
  // Takes memory for one bit per token.
  void layout(Arena& arena, size_t vocabulary_size);
  // Starts without members.
  void init();

  // Sets the members: `tokens`, and all tokens with one of `texts` in their bytes.
  void set(std::span<const TextView> texts, std::span<const int32_t> tokens, const TokenBytes& bytes);

  bool contains(int32_t token) const {
    const auto id = static_cast<uint32_t>(token);
    return id < vocabulary_size_ && has_bit(words_, id);
  }

 private:
  size_t vocabulary_size_ = 0;
  uint64_t* words_ = nullptr;  // one bit per token
};

}  // namespace sotto
