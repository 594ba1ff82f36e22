#include "runtime/transformer/kv_ring.h"

#include <cassert>
#include <cmath>
#include <cstring>

namespace sotto {
namespace {

// The distance in slots of prefetching: a prefill fills the slots in order.
constexpr size_t kSlotsAhead = 3;

}  // namespace

void KvRing::layout(Arena& arena, const KvSizes& sizes) {
  sizes_ = sizes;
  row_stride_ = align_up(sizes.head_size, kHeadAlignment);
  score_scale_ = 1.0f / std::sqrt(static_cast<float>(sizes.head_size));
  const size_t slots = size_t{sizes.slot_count} + sizes.beam_slot_count;
  const size_t head_count = saturating_product(sizes.layer_count, sizes.head_count);
  const size_t rows = saturating_product(head_count, slots);
  keys_ = arena.take<int8_t>(saturating_product(rows, row_stride_));
  values_ = arena.take<int8_t>(saturating_product(rows, row_stride_));
  key_scales_ = arena.take<float>(rows);
  value_scales_ = arena.take<float>(rows);
}

size_t KvRing::byte_size(const KvSizes& sizes) {
  Arena measure;
  KvRing().layout(measure, sizes);
  return measure.size();
}

KvRing::Head KvRing::head_of(uint32_t layer, uint32_t head) const {
  const size_t slot_count = size_t{sizes_.slot_count} + sizes_.beam_slot_count;
  const size_t first = (size_t{layer} * sizes_.head_count + head) * slot_count;
  return {keys_ + first * row_stride_, values_ + first * row_stride_, key_scales_ + first, value_scales_ + first,
          row_stride_};
}

uint32_t KvRing::slot_of(uint32_t position) const {
  if (position < sizes_.slot_count) return position;
  return sizes_.sink_count + (position - sizes_.sink_count) % (sizes_.slot_count - sizes_.sink_count);
}

SlotWindow KvRing::window_of(uint32_t position) const {
  if (position < sizes_.slot_count) return {{{0, position + 1}}, 1};
  SlotWindow window;
  const auto add = [&](uint32_t first, uint32_t end) {
    if (first < end) window.spans[window.span_count++] = {first, end - first};
  };
  const uint32_t oldest = slot_of(position) + 1;
  add(0, sizes_.sink_count);
  add(oldest, sizes_.slot_count);
  add(sizes_.sink_count, oldest);
  return window;
}

void KvRing::store(const Kernels& kernels, uint32_t layer, uint32_t head, uint32_t slot, const float* key,
                   const float* value) {
  const Head rows = head_of(layer, head);
  const size_t padding = row_stride_ - sizes_.head_size;
  int8_t* key_row = rows.keys + slot * row_stride_;
  int8_t* value_row = rows.values + slot * row_stride_;
  __builtin_prefetch(key_row + kSlotsAhead * row_stride_, 1);
  __builtin_prefetch(value_row + kSlotsAhead * row_stride_, 1);
  rows.key_scales[slot] = kernels.quantize_symmetric(key, sizes_.head_size, key_row);
  rows.value_scales[slot] = kernels.quantize_symmetric(value, sizes_.head_size, value_row);
  if (padding == 0) return;
  std::memset(key_row + sizes_.head_size, 0, padding);
  std::memset(value_row + sizes_.head_size, 0, padding);
}

void KvRing::attend(const Kernels& kernels, uint32_t layer, uint32_t head, std::span<const SlotSpan> window,
                    const float* query, float* scores, float* output) const {
  const Head rows = head_of(layer, head);
  const bool is_last = head + 1 == sizes_.head_count;
  const int8_t* next_keys = is_last ? nullptr : head_of(layer, head + 1).keys;
  kernels.attention({query, rows.keys, rows.key_scales, rows.values, rows.value_scales, sizes_.head_size, row_stride_,
                     score_scale_, window.data(), window.size(), scores, output, next_keys});
}

void KvRing::attend_rows(const Kernels& kernels, uint32_t layer, uint32_t head, uint32_t first_position,
                         AttentionRowsArgs rows) const {
  assert(first_position + rows.row_count <= sizes_.slot_count);
  const Head slots = head_of(layer, head);
  rows.slot_count = size_t{first_position} + 1;
  rows.keys = slots.keys;
  rows.key_scales = slots.key_scales;
  rows.values = slots.values;
  rows.value_scales = slots.value_scales;
  rows.head_size = sizes_.head_size;
  rows.row_stride = row_stride_;
  rows.score_scale = score_scale_;
  kernels.attention_rows(rows);
}

}  // namespace sotto
