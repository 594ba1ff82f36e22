// The attention of consecutive queries with AVX512-VNNI and with AMX, which share everything except the scoring of
// keys.
#pragma once

#include <immintrin.h>

#include <algorithm>

#include "kernels/generic/attention.h"

namespace sotto::avx512vnni {

inline constexpr size_t kGroups = kAttentionRows / kAttentionGroupRows;
inline constexpr size_t kMaxFours = kMaxHeadSize / 4;

// The quantized queries of a head, in groups.
struct Queries {
  // (group, group of four dimensions, row, dimension of the group)
  alignas(64) int8_t q[kGroups][kMaxFours][kAttentionGroupRows][4];
  __m512 scales[kGroups];
  __m512 maxima[kGroups];  // for each row, the maximum of the scores of the keys that it attends to
};

// Computes scores, as (group, slot, row), and updates the maxima.
using ScoreRows = void (*)(const AttentionRowsArgs& args, Queries* queries);

void attention_rows(const AttentionRowsArgs& args, ScoreRows score);

// Up to this number of rows, attention_few_rows() is faster, and attention_rows() calls it.
inline constexpr size_t kFewRows = 12;
static_assert(kFewRows <= kAttentionGroupRows);
void attention_few_rows(const AttentionRowsArgs& args);

namespace {

// Returns the first group that attends to `slot`.
inline size_t first_group(const AttentionRowsArgs& args, size_t slot) {
  return slot < args.slot_count ? 0 : (slot + 1 - args.slot_count) / kAttentionGroupRows;
}

// Returns the lanes of a group that attend to `slot`.
inline __mmask16 lanes_that_see(const AttentionRowsArgs& args, size_t group, size_t slot) {
  const size_t begin = args.slots_of(group * kAttentionGroupRows);  // all rows attend to the slots before this one
  return static_cast<__mmask16>(slot < begin ? 0xffff : 0xffffu << std::min<size_t>(slot - begin + 1, 16));
}

inline float* scores_of(const AttentionRowsArgs& args, size_t group, size_t slot) {
  return args.scores + (group * args.slots_of(args.row_count - 1) + slot) * kAttentionGroupRows;
}

}  // namespace
}  // namespace sotto::avx512vnni
