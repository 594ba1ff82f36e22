// Keys and values of the newest tokens, int8 with a float scale a head and slot, in a ring of
// a fixed number of slots. The first `sink_count` slots are never overwritten. Which slot a
// token has and which slots it sees depend on its position alone, so the ring needs no
// other state and taking tokens back is free. Behind the ring lie slots for tokens of
// sequences that branch off the stream; whose they are is the caller's business.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernels.h"
#include "runtime/base/arena.h"

namespace sotto {

struct KvShape {
  uint32_t layer_count = 0;
  uint32_t head_count = 0;
  uint32_t head_size = 0;
  uint32_t slot_count = 0;
  uint32_t sink_count = 0;         // < slot_count
  uint32_t branch_slot_count = 0;  // slots slot_count, slot_count + 1, ...
};

// The slots a token sees, its own among them, oldest token first.
struct SlotWindow {
  SlotSpan spans[3];
  uint32_t span_count = 0;

  std::span<const SlotSpan> view() const { return {spans, span_count}; }
};

class KvRing {
 public:
  // Takes the ring's memory from `arena`, which may only measure.
  void lay_out(const KvShape& shape, Arena* arena);

  // 2 * layers * heads * (slots + branch slots) * (padded head size + sizeof(float)), each
  // array on a boundary of its own.
  static size_t byte_size(const KvShape& shape);

  uint32_t slot_of(uint32_t position) const;
  SlotWindow window_of(uint32_t position) const;

  // Quantizes one head's key and value (head_size floats each) into a slot.
  void store(const Kernels& kernels, uint32_t layer, uint32_t head, uint32_t slot, const float* key,
             const float* value);

  // Attention of one head's query (head_size) to the slots of `window`, oldest first.
  // `scores`: as many floats.
  void attend(const Kernels& kernels, uint32_t layer, uint32_t head, std::span<const SlotSpan> window,
              const float* query, float* scores, float* output) const;

  // The same for rows at positions first_position, +1, ..., the last one below slot_count:
  // `rows` has queries, scores and outputs, with their number and strides.
  void attend_rows(const Kernels& kernels, uint32_t layer, uint32_t head, uint32_t first_position,
                   AttentionRowsArgs rows) const;

 private:
  friend class ContextImage;

  size_t index_of(uint32_t layer, uint32_t head, uint32_t slot) const {
    const size_t slot_count = size_t{shape_.slot_count} + shape_.branch_slot_count;
    return (size_t{layer} * shape_.head_count + head) * slot_count + slot;
  }

  KvShape shape_;
  size_t row_stride_ = 0;
  float score_scale_ = 0;
  int8_t* keys_ = nullptr;         // (layer, head, slot, row_stride)
  int8_t* values_ = nullptr;       // (layer, head, slot, row_stride)
  float* key_scales_ = nullptr;    // (layer, head, slot)
  float* value_scales_ = nullptr;  // (layer, head, slot)
};

}  // namespace sotto
