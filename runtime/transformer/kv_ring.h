// The KV cache: int8 keys and values of the newest tokens, with one float scale per head and slot, in a ring with a
// fixed number of slots.
//
// A token's position alone determines its slot and the slots that it attends to, so the ring has no other state, and
// removing tokens from the end takes no work. The first `sink_count` slots, the attention sinks of Xiao et al. 2023
// ("Efficient Streaming Language Models with Attention Sinks"), are never overwritten. The slots after the ring hold
// the tokens of beams, to which beams.h assigns them.
//
// Example: with 6 slots, 2 of them sinks, the positions 0 to 9 use the slots 0 1 2 3 4 5 2 3 4 5. Token 6 overwrites
// token 2 and attends to the slots 0 and 1 (sinks), 3, 4 and 5 (tokens 3 to 5), and 2 (itself).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernels.h"
#include "runtime/base/arena.h"

namespace sotto {

// The dimensions of a KV ring.
struct KvSizes {
  uint32_t layer_count = 0;
  uint32_t head_count = 0;
  uint32_t head_size = 0;
  uint32_t slot_count = 0;
  uint32_t sink_count = 0;       // number of slots that are never overwritten; less than slot_count
  uint32_t beam_slot_count = 0;  // number of slots for beams: slot_count, slot_count + 1, ...
};

// The slots that a token attends to, from the oldest token to the token itself.
struct SlotWindow {
  SlotSpan spans[3];
  uint32_t span_count = 0;

  std::span<const SlotSpan> view() const { return {spans, span_count}; }
};

class KvRing {
 public:
  void layout(Arena& arena, const KvSizes& sizes);

  // Returns the total size of the arrays in bytes: 2 * layers * heads * (slots + beam slots) * (padded head size +
  // sizeof(float)), with each array aligned.
  static size_t byte_size(const KvSizes& sizes);

  // The keys and values of one head of one layer, as (slot, stride), and their scales, as (slot).
  struct Head {
    int8_t* keys;
    int8_t* values;
    float* key_scales;
    float* value_scales;
    size_t stride;  // at least head_size; the rest of each row is 0
  };
  Head head_of(uint32_t layer, uint32_t head) const;

  uint32_t slot_of(uint32_t position) const;
  SlotWindow window_of(uint32_t position) const;

  // Quantizes the key and the value of one head (head_size floats each) into a slot.
  void store(const Kernels& kernels, uint32_t layer, uint32_t head, uint32_t slot, const float* key,
             const float* value);

  // Computes the attention of one head's query (head_size floats) over the slots of `window`, oldest first. `scores`
  // must have one float per slot of the window.
  void attend(const Kernels& kernels, uint32_t layer, uint32_t head, std::span<const SlotSpan> window,
              const float* query, float* scores, float* output) const;

  // Like attend(), but for consecutive rows from first_position on. All positions must be less than slot_count. `rows`
  // contains the number of rows, the queries, the scores and the outputs.
  void attend_rows(const Kernels& kernels, uint32_t layer, uint32_t head, uint32_t first_position,
                   AttentionRowsArgs rows) const;

 private:
  KvSizes sizes_;
  size_t row_stride_ = 0;
  float score_scale_ = 0;
  int8_t* keys_ = nullptr;         // (layer, head, slot, row_stride)
  int8_t* values_ = nullptr;       // (layer, head, slot, row_stride)
  float* key_scales_ = nullptr;    // (layer, head, slot)
  float* value_scales_ = nullptr;  // (layer, head, slot)
};

}  // namespace sotto
