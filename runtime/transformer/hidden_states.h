// Hidden states that outlive their batch. The forward pass copies them here (StateOutputs in forward.h) without knowing
// who reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernels.h"
#include "runtime/base/arena.h"

namespace sotto {

// The states of the last rows of a batch before each layer. DoLa (runtime/session/contrast.h) applies the head to them.
class LayerStates {
 public:
  void layout(Arena& arena, size_t layer_count, size_t row_count, size_t width);

  // Stores the state of a row before a layer (width floats), in place of an older row.
  void store(uint32_t layer, size_t row, const float* state);
  // Returns the state of one of the last `row_count` rows of a batch before a layer.
  const float* state(uint32_t layer, size_t row) const { return states_ + index_of(layer, row); }
  // Returns the number of floats between the states of a row before two consecutive layers.
  size_t layer_stride() const { return row_count_ * width_; }

 private:
  size_t index_of(uint32_t layer, size_t row) const { return (layer * row_count_ + row % row_count_) * width_; }

  size_t row_count_ = 0;
  size_t width_ = 0;
  float* states_ = nullptr;  // (layer, row % row_count, width)
};

// The final states of the tokens in the slots of a KV ring, which contrastive search (Su et al. 2022) compares. They
// are normalized to length 1, so that a dot product is a cosine.
class HiddenHistory {
 public:
  void layout(Arena& arena, size_t slot_count, size_t width);

  // Stores x (width floats), normalized to length 1. A zero vector is stored as it is.
  void store(uint32_t slot, const float* x);

  // Compares the state of `slot` with the states of the other slots of `window`, and returns the largest cosine
  // similarity, or 0 if there are no other slots.
  float max_similarity(uint32_t slot, std::span<const SlotSpan> window) const;

  // Returns the states of the first `slot_count` slots, as (slot, width).
  std::span<float> states(size_t slot_count) const { return {states_, slot_count * width_}; }

 private:
  const float* state(size_t slot) const { return states_ + slot * width_; }

  size_t width_ = 0;
  float* states_ = nullptr;  // (slot, width)
};

}  // namespace sotto
