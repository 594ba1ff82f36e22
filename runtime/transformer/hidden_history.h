// The final hidden states of the tokens in the KV ring and its branches, at unit length, for
// searches that compare them (Su et al. 2022).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernels.h"
#include "runtime/base/arena.h"

namespace sotto {

class HiddenHistory {
 public:
  // Takes slot_count * width floats from `arena`, which may only measure.
  void lay_out(size_t slot_count, size_t width, Arena* arena);

  // Keeps x (width) at unit length; zeros stay zeros.
  void store(uint32_t slot, const float* x);

  // The largest cosine between a slot's state and those of the other slots of `window`; 0 if
  // there are none.
  float max_similarity(uint32_t slot, std::span<const SlotSpan> window) const;

 private:
  friend class ContextImage;

  const float* state(size_t slot) const { return states_ + slot * width_; }

  size_t width_ = 0;
  float* states_ = nullptr;  // (slot, width)
};

}  // namespace sotto
