// Attention of one query over the int8 KV ring (Vaswani et al. 2017, equation 1).
#include <cassert>
#include <cmath>

#include "kernels/reference/reference.h"

namespace sotto::reference {
namespace {

constexpr size_t kMaxHeadSize = 256;

// Scores of all slots in order, and how many there are.
size_t score_slots(const AttentionArgs& args) {
  int8_t query[kMaxHeadSize];
  const float s = quantize_symmetric(args.query, args.head_size, query);
  const float query_scale = s * args.score_scale;
  size_t t = 0;
  for (size_t k = 0; k < args.span_count; ++k) {
    const SlotSpan span = args.spans[k];
    for (size_t slot = span.first; slot < size_t{span.first} + span.count; ++slot, ++t) {
      const int8_t* key = args.keys + slot * args.row_stride;
      int32_t dot = 0;
      for (size_t d = 0; d < args.head_size; ++d) dot += query[d] * key[d];
      args.scores[t] = static_cast<float>(dot) * (query_scale * args.key_scales[slot]);
    }
  }
  return t;
}

}  // namespace

void attention(const AttentionArgs& args) {
  assert(args.head_size <= kMaxHeadSize);
  const size_t count = score_slots(args);
  const float m = max(args.scores, count);
  const float sum = exp_shifted(args.scores, count, m, args.scores);

  float output[kMaxHeadSize] = {};
  size_t t = 0;
  for (size_t k = 0; k < args.span_count; ++k) {
    const SlotSpan span = args.spans[k];
    for (size_t slot = span.first; slot < size_t{span.first} + span.count; ++slot, ++t) {
      const int8_t* value = args.values + slot * args.row_stride;
      const float w = args.scores[t] * args.value_scales[slot];
      for (size_t d = 0; d < args.head_size; ++d) {
        output[d] = std::fma(w, static_cast<float>(value[d]), output[d]);
      }
    }
  }
  const float inverse = 1.0f / sum;
  for (size_t d = 0; d < args.head_size; ++d) args.output[d] = output[d] * inverse;
}

}  // namespace sotto::reference
