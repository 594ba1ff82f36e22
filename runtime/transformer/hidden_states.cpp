#include "runtime/transformer/hidden_states.h"

#include <algorithm>
#include <cmath>

#include "kernels/math.h"
#include "runtime/base/scalar_math.h"

namespace sotto {
namespace {

// Returns a dot product with the same bits on every platform, because the sum has lanes (kernels/math.h).
float dot(const float* a, const float* b, size_t n) {
  float lanes[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (size_t j = 0; j < kLanes; ++j) lanes[j] += a[i + j] * b[i + j];
  }
  for (size_t j = 0; i + j < n; ++j) lanes[j] += a[i + j] * b[i + j];
  return fold_lanes(lanes);
}

}  // namespace

void LayerStates::layout(Arena& arena, size_t layer_count, size_t row_count, size_t width) {
  row_count_ = row_count;
  width_ = width;
  states_ = arena.take<float>(layer_count * row_count * width);
}

void LayerStates::store(uint32_t layer, size_t row, const float* state) {
  std::copy_n(state, width_, states_ + index_of(layer, row));
}

void HiddenHistory::layout(Arena& arena, size_t slot_count, size_t width) {
  width_ = width;
  states_ = arena.take<float>(saturating_product(slot_count, width));
}

void HiddenHistory::store(uint32_t slot, const float* x) {
  float* y = states_ + size_t{slot} * width_;
  const float length = std::sqrt(dot(x, x, width_));
  const float scale = length > 0 ? 1.0f / length : 0.0f;
  for (size_t i = 0; i < width_; ++i) y[i] = x[i] * scale;
}

float HiddenHistory::max_similarity(uint32_t slot, std::span<const SlotSpan> window) const {
  float largest = kMinusInfinity;
  for (const SlotSpan span : window) {
    for (uint32_t other = span.first; other < span.first + span.count; ++other) {
      if (other == slot) continue;
      largest = std::max(largest, dot(state(slot), state(other), width_));
    }
  }
  return largest == kMinusInfinity ? 0.0f : largest;
}

}  // namespace sotto
