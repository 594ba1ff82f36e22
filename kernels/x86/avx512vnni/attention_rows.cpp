// Attention of many consecutive queries in four steps. They share each read of a key or value:
//   quantize_queries   int8 queries, transposed: the lanes of a register are 16 queries;
//   score              dot products with broadcast keys, and the largest score of each query;
//   weigh              exponentials times the scales of the values, and the sums of the exponentials;
//   mix_rows           sums of the weighted values, which are widened to floats once for all queries.
// With queries in lanes, the softmax needs no operations across lanes.
#include <algorithm>
#include <cassert>
#include <cstring>
#include <type_traits>

#include "kernels/dispatch/tables.h"
#include "kernels/generic/attention.h"
#include "kernels/x86/avx512/lanes.h"
#include "kernels/x86/avx512/vector.h"
#include "kernels/x86/avx512vnni/attention_rows.h"

namespace sotto::avx512vnni {
namespace {

using generic::Part;
using generic::Whole;

constexpr size_t kTileKeys = 8;    // number of keys multiplied together, so that their sums fill the registers
constexpr size_t kKeysAhead = 64;  // number of keys from a key to the one that is prefetched
static_assert(kAttentionGroupRows == kLanes);

// Quantizes 64 floats as Kernels::quantize_symmetric does. Conversion and packing map NaN and values that are too low
// to -128.
inline __m512i quantize_64(const float* x, size_t count, Vector inverse) {
  __m512i integers[4];
#pragma GCC unroll 4
  for (size_t i = 0; i < 4; ++i) {
    const size_t at = std::min(count, 16 * i);
    const Vector v =
        count >= 64 ? Vector::load(x + 16 * i, Whole{}) : Vector::load(x + at, Part{std::min<size_t>(count - at, 16)});
    const __m512 product = _mm512_mul_ps(v.v, inverse.v);
    integers[i] = _mm512_cvtps_epi32(_mm512_min_ps(_mm512_set1_ps(127.0f), product));
  }
  const __m512i bytes =
      _mm512_packs_epi16(_mm512_packs_epi32(integers[0], integers[1]), _mm512_packs_epi32(integers[2], integers[3]));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_max_epi8(_mm512_permutexvar_epi32(order, bytes), _mm512_set1_epi8(-127));
}

// Quantizes rows [16 group, 16 group + 16). Beyond the last row, that row is repeated.
void quantize_queries(const AttentionRowsArgs& args, size_t group, Queries* queries) {
  const float* rows[kLanes];
  __m512i magnitudes[kLanes];
#pragma GCC unroll 16
  for (size_t r = 0; r < kLanes; ++r) {
    rows[r] = args.queries + std::min(group * kLanes + r, args.row_count - 1) * args.query_stride;
    Vector magnitude = Vector::zero();
    generic::for_each_block<Vector>(args.head_size, [&](size_t i, auto extent) {
      magnitude = max(abs(Vector::load(rows[r] + i, extent)), magnitude);
    });
    magnitudes[r] = _mm512_castps_si512(magnitude.v);
  }
  const __m512 m = max_rows(magnitudes);
  const __mmask16 some = _mm512_cmp_ps_mask(m, _mm512_setzero_ps(), _CMP_NEQ_UQ);
  const __m512 largest = _mm512_set1_ps(127.0f);
  alignas(64) float inverses[kLanes];
  _mm512_store_ps(inverses, _mm512_maskz_div_ps(some, largest, m));
  queries->scales[group] = _mm512_mul_ps(_mm512_div_ps(m, largest), _mm512_set1_ps(args.score_scale));
  queries->maxima[group] = _mm512_set1_ps(-__builtin_inff());
  for (size_t d = 0; d < args.row_stride; d += 64) {
    __m512i q[kLanes];
#pragma GCC unroll 16
    for (size_t r = 0; r < kLanes; ++r) {
      const size_t count = d < args.head_size ? args.head_size - d : 0;
      q[r] = quantize_64(rows[r] + d, count, Vector::broadcast(inverses[r]));
    }
    transpose(q);
#pragma GCC unroll 16
    for (size_t j = 0; j < 16; ++j) _mm512_store_si512(queries->q[group][d / 4 + j], q[j]);
  }
}

// Prefetches the first keys. While a key is used, a later key and its own value are prefetched.
void prefetch_keys(const AttentionRowsArgs& args) {
  const size_t count = std::min(args.slots_of(args.row_count - 1), kKeysAhead);
  for (size_t i = 0; i < count; ++i) __builtin_prefetch(args.keys + i * args.row_stride);
}

// Up to sixteen keys, with 128 added, because vpdpbusd multiplies unsigned with signed bytes.
struct Keys {
  alignas(64) uint8_t k[kLanes][kMaxHeadSize];

  Keys(const AttentionRowsArgs& args, size_t first, size_t count) {
    for (size_t d = 0; d < args.row_stride; d += 64) {
      const size_t width = std::min<size_t>(args.row_stride - d, 64);
      const auto mask = static_cast<__mmask16>((1u << width / 4) - 1);
      const int8_t* key = args.keys + first * args.row_stride + d;
      for (size_t i = 0; i < count; ++i, key += args.row_stride) {
        __builtin_prefetch(key + kKeysAhead * args.row_stride);
        __builtin_prefetch(args.values + (first + i) * args.row_stride + d);
        const __m512i bytes = _mm512_maskz_loadu_epi32(mask, key);
        _mm512_store_si512(k[i] + d, _mm512_xor_si512(bytes, _mm512_set1_epi8(-128)));
      }
    }
  }
};

// Computes minus_excess, -128 times the sum of each query, which corrects the dot products for the 128 that is added to
// keys.
void find_excess(const AttentionRowsArgs& args, const Queries& queries, __m512i* minus_excess) {
  for (size_t g = 0; g * kLanes < args.row_count; ++g) {
    __m512i sums = _mm512_setzero_si512();
    for (size_t four = 0; four < args.row_stride / 4; ++four) {
      const __m512i q = _mm512_load_si512(queries.q[g][four]);
      sums = _mm512_dpbusd_epi32(sums, _mm512_set1_epi8(1), q);
    }
    minus_excess[g] = _mm512_sub_epi32(_mm512_setzero_si512(), _mm512_slli_epi32(sums, 7));
  }
}

// Broadcasts four dimensions of a key, treated as a float, because GCC 12 would broadcast an integer through a general
// register.
inline __m512i broadcast(const uint8_t* key) {
  float four;
  std::memcpy(&four, key, sizeof four);
  return _mm512_castps_si512(_mm512_set1_ps(four));
}

// Computes the dot products of kKeys keys with the queries of kCount groups. All sums stay in registers.
template <size_t kCount, size_t kKeys>
[[gnu::always_inline]] inline void multiply(const int8_t (*queries)[kMaxFours][kLanes][4],
                                            const uint8_t (*keys)[kMaxHeadSize], size_t width,
                                            const __m512i* minus_excess, __m512i (&dots)[kCount][kKeys]) {
  __m512i sums[kKeys][kCount];
#pragma GCC unroll 8
  for (size_t i = 0; i < kKeys; ++i) {
#pragma GCC unroll 3
    for (size_t g = 0; g < kCount; ++g) sums[i][g] = minus_excess[g];
  }
  const int8_t* q = queries[0][0][0];
  const uint8_t* key = keys[0];
  for (const uint8_t* end = key + width; key != end; key += 16, q += 4 * sizeof(__m512i)) {
#pragma GCC unroll 4
    for (size_t j = 0; j < 4; ++j) {
      __m512i fours[kCount];
#pragma GCC unroll 3
      for (size_t g = 0; g < kCount; ++g) {
        fours[g] = _mm512_load_si512(q + j * sizeof(__m512i) + g * sizeof *queries);
      }
#pragma GCC unroll 8
      for (size_t i = 0; i < kKeys; ++i) {
        const __m512i four = broadcast(key + i * sizeof *keys + 4 * j);
#pragma GCC unroll 3
        for (size_t g = 0; g < kCount; ++g) {
          asm("vpdpbusd %2, %1, %0" : "+v"(sums[i][g]) : "v"(four), "v"(fours[g]));
        }
      }
    }
  }
#pragma GCC unroll 8
  for (size_t i = 0; i < kKeys; ++i) {
#pragma GCC unroll 3
    for (size_t g = 0; g < kCount; ++g) dots[g][i] = sums[i][g];
  }
}

// Computes the scores of kKeys keys for groups first_group ... first_group + kCount - 1, as (group, slot, row), and
// updates the maximum of each row with the scores of the keys that it attends to. Not inlined, because GCC 12 would
// then keep the sums in memory.
template <size_t kCount, size_t kKeys>
[[gnu::noinline]] void score_keys(const AttentionRowsArgs& args, Queries* queries, size_t first_group, size_t first,
                                  const uint8_t (*keys)[kMaxHeadSize], const __m512i* minus_excess) {
  __m512i dots[kCount][kKeys];
  multiply(queries->q + first_group, keys, args.row_stride, minus_excess + first_group, dots);
  const bool all_seen = first + kKeys <= args.slots_of(first_group * kLanes);
#pragma GCC unroll 3
  for (size_t g = 0; g < kCount; ++g) {
    const size_t group = first_group + g;
    float* at = scores_of(args, group, first);
    __m512 m = queries->maxima[group];
#pragma GCC unroll 8
    for (size_t i = 0; i < kKeys; ++i) {
      const Vector key_scale = Vector::broadcast(args.key_scales[first + i]);
      const Vector scale = Vector{queries->scales[group]} * key_scale;
      const Vector score = Vector{_mm512_cvtepi32_ps(dots[g][i])} * scale;
      score.store(at + i * kLanes, Whole{});
      const __mmask16 seen = all_seen ? 0xffff : lanes_that_see(args, group, first + i);
      m = _mm512_mask_max_ps(m, seen, score.v, m);
    }
    queries->maxima[group] = m;
  }
}

template <size_t kKeys>
void score_keys(const AttentionRowsArgs& args, Queries* queries, size_t first, const uint8_t (*keys)[kMaxHeadSize],
                const __m512i* minus_excess) {
  const size_t groups = divide_up(args.row_count, kLanes);
  const size_t group = first_group(args, first);
  static_assert(kGroups == 3);
  switch (groups - group) {
    case 1:
      return score_keys<1, kKeys>(args, queries, group, first, keys, minus_excess);
    case 2:
      return score_keys<2, kKeys>(args, queries, group, first, keys, minus_excess);
    case 3:
      return score_keys<3, kKeys>(args, queries, group, first, keys, minus_excess);
  }
}

void score(const AttentionRowsArgs& args, Queries* queries) {
  __m512i minus_excess[kGroups];
  find_excess(args, *queries, minus_excess);
  const size_t count = args.slots_of(args.row_count - 1);
  for (size_t first = 0; first < count; first += kLanes) {
    const size_t block_size = std::min<size_t>(count - first, kLanes);
    const Keys keys(args, first, block_size);
    size_t i = 0;
    for (; i + kTileKeys <= block_size; i += kTileKeys) {
      score_keys<kTileKeys>(args, queries, first + i, keys.k + i, minus_excess);
    }
    for (; i < block_size; ++i) score_keys<1>(args, queries, first + i, keys.k + i, minus_excess);
  }
}

// Prefetches, one cache line at a time, the queries of the sixteen rows that a later call processes in place of a
// group.
class QueryPrefetcher {
 public:
  QueryPrefetcher(const AttentionRowsArgs& args, size_t group)
      : row_(args.queries + (args.row_count + group * kLanes) * args.query_stride),
        stride_(args.query_stride),
        width_(args.head_size) {}

  void prefetch() {
    if (rows_left_ == 0) return;
    __builtin_prefetch(row_ + at_);
    at_ += kLanes;
    if (at_ < width_) return;
    at_ = 0;
    row_ += stride_;
    --rows_left_;
  }

 private:
  const float* row_;
  size_t stride_;
  size_t width_;
  size_t at_ = 0;
  size_t rows_left_ = kLanes;
};

// Replaces the scores of a group by the weights of the values: 0 where a row does not attend to a value. Writes the
// reciprocal of the sum of each row's exponentials, in which slot t is added to partial sum t % 16.
void weigh(const AttentionRowsArgs& args, size_t group, __m512 maximum, float* inverses) {
  constexpr size_t kStep = 4;
  float* scores = scores_of(args, group, 0);
  const size_t begin = args.slots_of(group * kLanes);
  const size_t count = args.slots_of(std::min(group * kLanes + kLanes, args.row_count) - 1);
  const Vector m = Vector{maximum} + Vector::zero();
  const float* value_scales = args.value_scales;
  QueryPrefetcher later(args, group);
  Vector sums[kLanes];
  for (size_t i = 0; i < kLanes; i += kStep) {  // a few sums at a time, so that they stay in registers
    Vector some[kStep] = {};
    const auto weigh_slots = [&](size_t t, auto all_see) {
      later.prefetch();
      Vector e[kStep];
      for_all<kStep>([&](size_t j) {
        const size_t slot = all_see ? t + j : std::min(t + j, count - 1);
        e[j] = Vector::load(scores + slot * kLanes, Whole{}) - m;
      });
      exp_each(e);
      for_all<kStep>([&](size_t j) {
        if (!all_see) e[j].v = _mm512_maskz_mov_ps(lanes_that_see(args, group, t + j), e[j].v);
        some[j] = some[j] + e[j];
        if (!all_see && t + j >= count) return;
        (e[j] * Vector::broadcast(value_scales[t + j])).store(scores + (t + j) * kLanes, Whole{});
      });
    };
    size_t t = i;
    for (; t + kStep <= begin; t += kLanes) weigh_slots(t, std::true_type{});
    for (; t < count; t += kLanes) weigh_slots(t, std::false_type{});
    std::copy_n(some, kStep, sums + i);
  }
  for (size_t step = kLanes / 2; step > 0; step /= 2) {
    for (size_t i = 0; i < step; ++i) sums[i] = sums[i] + sums[i + step];
  }
  (Vector::broadcast(1.0f) / sums[0]).store(inverses, Whole{});
}

constexpr size_t kMixWidth = 2 * kLanes;  // number of outputs per pass over the values
constexpr size_t kMixRows = 8;            // number of rows whose sums are in registers together
constexpr size_t kMixSlots = 96;          // number of slots per block, whose widened values take 12 KiB

struct Mix {
  alignas(64) float sums[kAttentionRows][kMixWidth];
  alignas(64) float values[kMixSlots][kMixWidth];  // values of the slots that have been widened so far
};

// A block of at most kMixSlots slots. The first rows that attend to a slot widen its value.
struct Slots {
  const int8_t* values;  // (slot), `stride` apart
  size_t stride;
  size_t count;
  size_t widened;
};

template <size_t kBlocks>
using Sums = Vector[kMixRows][kBlocks];

// Adds the products of a slot for kMixRows rows, with one weight per lane.
template <size_t kBlocks>
[[gnu::always_inline]] inline void add_slot(const float* weights, const Vector (&values)[kBlocks],
                                            Sums<kBlocks>& sums) {
#pragma GCC unroll 8
  for (size_t r = 0; r < kMixRows; ++r) {
    const Vector w = Vector::broadcast(weights[r]);
#pragma GCC unroll 2
    for (size_t b = 0; b < kBlocks; ++b) sums[r][b] = fma(w, values[b], sums[r][b]);
  }
}

// Reads the values that have already been widened from `values`, and writes the others to it.
template <size_t kBlocks>
[[gnu::always_inline]] inline void add_slots(const float* weights, const Slots& slots, float (*values)[kMixWidth],
                                             Sums<kBlocks>& sums) {
  size_t t = 0;
  Vector v[kBlocks];
  for (const size_t end = std::min(slots.widened, slots.count); t < end; ++t) {
#pragma GCC unroll 2
    for (size_t b = 0; b < kBlocks; ++b) {
      v[b] = Vector::load(values[t] + b * kLanes, Whole{});
    }
    add_slot(weights + t * kLanes, v, sums);
  }
  const int8_t* from = slots.values + t * slots.stride;
  for (; t < slots.count; ++t, from += slots.stride) {
#pragma GCC unroll 2
    for (size_t b = 0; b < kBlocks; ++b) {
      v[b] = Vector::load(from + b * kLanes, Whole{});
      v[b].store(values[t] + b * kLanes, Whole{});
    }
    add_slot(weights + t * kLanes, v, sums);
  }
}

// Continues the sums so far, or starts from zeros.
template <size_t kBlocks>
void add_slots(const float* weights, const Slots& slots, bool to_zeros, size_t row, Mix* mix) {
  Sums<kBlocks> sums;
#pragma GCC unroll 8
  for (size_t r = 0; r < kMixRows; ++r) {
#pragma GCC unroll 2
    for (size_t b = 0; b < kBlocks; ++b) {
      const float* at = mix->sums[row + r] + b * kLanes;
      sums[r][b] = to_zeros ? Vector::zero() : Vector::load(at, Whole{});
    }
  }
  add_slots(weights, slots, mix->values, sums);
#pragma GCC unroll 8
  for (size_t r = 0; r < kMixRows; ++r) {
#pragma GCC unroll 2
    for (size_t b = 0; b < kBlocks; ++b) {
      sums[r][b].store(mix->sums[row + r] + b * kLanes, Whole{});
    }
  }
}

// Prefetches the outputs of these rows before they are written.
void prefetch_outputs(const AttentionRowsArgs& args, size_t row, size_t d) {
  const size_t end = std::min(row + kMixRows, args.row_count);
  for (; row < end; ++row) {
    const float* output = args.outputs + row * args.output_stride + d;
    for (size_t i = 0; i < kMixWidth; i += kLanes) __builtin_prefetch(output + i, 1);
  }
}

// Computes outputs [d, d + kMixWidth), as far as the head has them. The scores have been replaced by weights, (group of
// 16 rows, slot, row). A value that a row does not attend to is multiplied by 0, and adding this product changes no
// bit, because no sum is -0.
void mix_rows(const AttentionRowsArgs& args, size_t d, const float* inverses) {
  Mix mix;
  const size_t count = args.slots_of(args.row_count - 1);
  for (size_t first = 0; first < count; first += kMixSlots) {
    Slots slots = {args.values + first * args.row_stride + d, args.row_stride, 0, 0};
    for (size_t row = 0; row < args.row_count; row += kMixRows) {
      const size_t end = args.slots_of(std::min(row + kMixRows, args.row_count) - 1);
      if (end <= first) continue;
      if (first == 0) prefetch_outputs(args, row, d);
      slots.widened = slots.count;
      slots.count = std::min(end - first, kMixSlots);
      const float* weights = args.scores + (row / kLanes * count + first) * kLanes + row % kLanes;
      if (args.row_stride - d > kLanes) {
        add_slots<2>(weights, slots, first == 0, row, &mix);
      } else {
        add_slots<1>(weights, slots, first == 0, row, &mix);
      }
    }
  }
  const size_t outputs = d < args.head_size ? std::min(args.head_size - d, kMixWidth) : 0;
  for (size_t r = 0; r < args.row_count; ++r) {
    const Vector inverse = Vector::broadcast(inverses[r]);
    float* output = args.outputs + r * args.output_stride + d;
    generic::for_each_block<Vector>(outputs, [&](size_t i, auto extent) {
      (Vector::load(mix.sums[r] + i, Whole{}) * inverse).store(output + i, extent);
    });
  }
}

}  // namespace

void attention_rows(const AttentionRowsArgs& args, ScoreRows score_rows) {
  assert(args.head_size <= kMaxHeadSize && args.row_stride % kHeadAlignment == 0);
  assert(args.row_count > 0 && args.row_count <= kAttentionRows);
  if (args.row_count <= kFewRows) return attention_few_rows(args);
  Queries queries;
  const size_t groups = divide_up(args.row_count, kLanes);
  prefetch_keys(args);
  for (size_t g = 0; g < groups; ++g) quantize_queries(args, g, &queries);
  score_rows(args, &queries);
  alignas(64) float inverses[kAttentionRows];
  for (size_t g = 0; g < groups; ++g) weigh(args, g, queries.maxima[g], inverses + g * kLanes);
  for (size_t d = 0; d < args.row_stride; d += kMixWidth) mix_rows(args, d, inverses);
}

void attention_rows(const AttentionRowsArgs& args) { attention_rows(args, score); }

}  // namespace sotto::avx512vnni
