// Attention of many consecutive queries, which share what they read. A register's lanes are sixteen
// queries, so that softmaxes need nothing across lanes, and keys are broadcast; values are
// widened to floats once for all queries.
#include <algorithm>
#include <cassert>
#include <cstring>
#include <type_traits>

#include "kernels/dispatch/tables.h"
#include "kernels/generic/attention.h"
#include "kernels/x86/avx512/exp.h"
#include "kernels/x86/avx512/fold_rows.h"
#include "kernels/x86/avx512/transpose.h"
#include "kernels/x86/avx512/vector.h"
#include "kernels/x86/avx512vnni/attention_few_rows.h"
#include "kernels/x86/avx512vnni/attention_rows.h"
#include "kernels/x86/avx512vnni/mix_rows.h"

namespace sotto::avx512vnni {
namespace {

using avx512::Vector;
using generic::kMaxHeadSize;
using generic::Part;
using generic::Whole;

constexpr size_t kTileKeys = 8;
constexpr size_t kKeysAhead = 64;
static_assert(kAttentionGroupRows == kLanes);

// q as Kernels::quantize_symmetric has it, one register's worth. Of NaN and what is too low,
// converting and packing make -128.
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

// Rows [16 group, 16 group + 16), as far as there are any; others repeat the last.
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
  const __m512 m = avx512::max_rows(magnitudes);
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
    avx512::transpose(q);
#pragma GCC unroll 16
    for (size_t j = 0; j < 16; ++j) _mm512_store_si512(queries->q[group][d / 4 + j], q[j]);
  }
}

// The first keys; each of these asks for one further on, and for its value.
void ask_for_keys(const AttentionRowsArgs& args) {
  const size_t count = std::min(args.slots_of(args.row_count - 1), kKeysAhead);
  for (size_t i = 0; i < count; ++i) __builtin_prefetch(args.keys + i * args.row_stride);
}

// Sixteen keys, or fewer, with 128 added: vpdpbusd multiplies unsigned by signed.
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

// -128 times the sums of the queries of each group.
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

// Four dimensions of a key in all lanes. Not the intrinsic of integers: GCC 12 takes the way
// through a general register.
inline __m512i broadcast(const uint8_t* key) {
  float four;
  std::memcpy(&four, key, sizeof four);
  return _mm512_castps_si512(_mm512_set1_ps(four));
}

// Dot products of kKeys keys with the queries of kCount groups; all sums stay in registers.
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

// Scores of kKeys keys for groups first_group ... first_group + kCount - 1, (group, slot, row).
// Also takes what each row sees of them into its maximum. Not inline: GCC 12 keeps the sums in
// memory then.
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
  const size_t groups = (args.row_count + kLanes - 1) / kLanes;
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
    const size_t left = std::min<size_t>(count - first, kLanes);
    const Keys keys(args, first, left);
    size_t i = 0;
    for (; i + kTileKeys <= left; i += kTileKeys) {
      score_keys<kTileKeys>(args, queries, first + i, keys.k + i, minus_excess);
    }
    for (; i < left; ++i) score_keys<1>(args, queries, first + i, keys.k + i, minus_excess);
  }
}

// The queries of the sixteen rows that a later call has in place of a group, line by line.
class LaterQueries {
 public:
  LaterQueries(const AttentionRowsArgs& args, size_t group)
      : row_(args.queries + (args.row_count + group * kLanes) * args.query_stride),
        stride_(args.query_stride),
        width_(args.head_size) {}

  void ask() {
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

// Scores of a group become weights of the values, 0 for rows that do not see them. Writes 1 by
// the sum of each row's exponentials; of these, slot t goes into sum t % 16.
void weigh(const AttentionRowsArgs& args, size_t group, __m512 maximum, float* inverses) {
  constexpr size_t kStep = 4;
  float* scores = scores_of(args, group, 0);
  const size_t begin = args.slots_of(group * kLanes);
  const size_t count = args.slots_of(std::min(group * kLanes + kLanes, args.row_count) - 1);
  const Vector m = Vector{maximum} + Vector::zero();
  const float* value_scales = args.value_scales;
  LaterQueries later(args, group);
  Vector sums[kLanes];
  for (size_t i = 0; i < kLanes; i += kStep) {  // few sums at a time, in registers
    Vector some[kStep] = {};
    const auto weigh_slots = [&](size_t t, auto all_see) {
      later.ask();
      Vector e[kStep];
      avx512::for_all<kStep>([&](size_t j) {
        const size_t slot = all_see ? t + j : std::min(t + j, count - 1);
        e[j] = Vector::load(scores + slot * kLanes, Whole{}) - m;
      });
      avx512::exp_each(e);
      avx512::for_all<kStep>([&](size_t j) {
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

}  // namespace

void attention_rows(const AttentionRowsArgs& args, ScoreRows score_rows) {
  assert(args.head_size <= kMaxHeadSize && args.row_stride % kHeadAlignment == 0);
  assert(args.row_count > 0 && args.row_count <= kAttentionRows);
  if (args.row_count <= kFewRows) return attention_few_rows(args);
  Queries queries;
  const size_t groups = (args.row_count + kLanes - 1) / kLanes;
  ask_for_keys(args);
  for (size_t g = 0; g < groups; ++g) quantize_queries(args, g, &queries);
  score_rows(args, &queries);
  alignas(64) float inverses[kAttentionRows];
  for (size_t g = 0; g < groups; ++g) weigh(args, g, queries.maxima[g], inverses + g * kLanes);
  for (size_t d = 0; d < args.row_stride; d += kMixWidth) mix_rows(args, d, inverses);
}

void attention_rows(const AttentionRowsArgs& args) { attention_rows(args, score); }

}  // namespace sotto::avx512vnni
