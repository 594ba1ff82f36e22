// Attention of consecutive queries, which share what they read: sixteen keys at a time are
// transposed, so that a register has four dimensions of each, and a value's row is widened
// to floats once for up to six queries.
#include <algorithm>
#include <cassert>

#include "kernels/avx512/transpose.h"
#include "kernels/avx512/vector.h"
#include "kernels/generic/attention.h"
#include "kernels/tables.h"

namespace sotto::avx512vnni {
namespace {

using avx512::Vector;
using generic::kMaxHeadSize;
using generic::Part;
using generic::Whole;

constexpr size_t kMixRows = 6;

// Of the slots that row `row` sees.
size_t slot_count(const AttentionRowsArgs& args, size_t row) { return args.slot_count + row; }

// Four dimensions of a query and of 16 keys. Not the intrinsic: GCC 12 broadcasts by way of a
// general register.
struct Four {
  int8_t q[4];
};
inline void multiply_add(__m512i& sums, __m512i keys, const Four& four) {
  asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sums) : "v"(keys), "m"(four));
}

struct Queries {
  alignas(64) Four q[kAttentionRows][kMaxHeadSize / 4];
  float scales[kAttentionRows];
  int32_t excess[kAttentionRows];  // 128 times the sum of q
};

void quantize_queries(const AttentionRowsArgs& args, Queries* queries) {
  const size_t padded = (args.row_stride + 63) / 64 * 64;
  for (size_t r = 0; r < args.row_count; ++r) {
    int8_t* q = queries->q[r]->q;
    for (size_t d = 0; d < padded; d += 64) _mm512_store_si512(q + d, _mm512_setzero_si512());
    const float s =
        generic::quantize_symmetric<Vector>(args.queries + r * args.query_stride, args.head_size, q);
    queries->scales[r] = s * args.score_scale;
    __m512i sum = _mm512_setzero_si512();
    for (size_t d = 0; d < padded; d += 64) {
      sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi8(1), _mm512_load_si512(q + d));
    }
    queries->excess[r] = 128 * _mm512_reduce_add_epi32(sum);
  }
}

// Dimensions [64 group, 64 group + 64) of up to 16 keys, unsigned; four of each a register.
void load_keys(const AttentionRowsArgs& args, size_t first, size_t count, size_t group,
               __m512i (&keys)[16]) {
  const size_t width = std::min<size_t>(args.row_stride - group * 64, 64);
  const auto mask = static_cast<__mmask16>((1u << width / 4) - 1);
  const int8_t* at = args.keys + first * args.row_stride + group * 64;
#pragma GCC unroll 16
  for (size_t i = 0; i < 16; ++i) {
    const int8_t* key = at + std::min(i, count - 1) * args.row_stride;
    keys[i] = _mm512_xor_si512(_mm512_maskz_loadu_epi32(mask, key), _mm512_set1_epi8(-128));
  }
  avx512::transpose(keys);
}

// Adds a group's products of a query with 16 keys.
inline __m512i multiply_add(__m512i sums, const __m512i (&keys)[16], const Four* q) {
  __m512i odd = _mm512_setzero_si512();
#pragma GCC unroll 8
  for (size_t j = 0; j < 16; j += 2) {
    multiply_add(sums, keys[j], q[j]);
    multiply_add(odd, keys[j + 1], q[j + 1]);
  }
  return _mm512_add_epi32(sums, odd);
}

void score_keys(const AttentionRowsArgs& args, const Queries& queries, size_t first,
                size_t count) {
  __m512i sums[kAttentionRows] = {};
  for (size_t group = 0; group * 64 < args.row_stride; ++group) {
    __m512i keys[16];
    load_keys(args, first, count, group, keys);
    for (size_t r = 0; r < args.row_count; ++r) {
      sums[r] = multiply_add(sums[r], keys, queries.q[r] + group * 16);
    }
  }
  const Part part = {count};
  const Vector key_scales = Vector::load(args.key_scales + first, part);
  for (size_t r = 0; r < args.row_count; ++r) {
    const __m512i dots = _mm512_sub_epi32(sums[r], _mm512_set1_epi32(queries.excess[r]));
    const Vector scale = Vector::broadcast(queries.scales[r]) * key_scales;
    (Vector{_mm512_cvtepi32_ps(dots)} * scale).store(args.scores + r * args.score_stride + first,
                                                     part);
  }
}

// Scores of a row become weights of the values, 0 for those that only later rows see. Returns
// what the output is to be multiplied with.
Vector weigh(const AttentionRowsArgs& args, size_t row) {
  float* scores = args.scores + row * args.score_stride;
  const size_t count = slot_count(args, row);
  const float m = generic::max<Vector>(scores, count);
  const Vector sum = Vector::broadcast(generic::exp_shifted<Vector>(scores, count, m, scores));
  generic::for_each_block<Vector>(count, [&](size_t i, auto extent) {
    (Vector::load(scores + i, extent) * Vector::load(args.value_scales + i, extent))
        .store(scores + i, extent);
  });
  std::fill(scores + count, scores + slot_count(args, args.row_count - 1), 0.0f);
  return Vector::broadcast(1.0f) / sum;
}

// Output [d, d + 16 kBlocks) of rows [first, first + kRows). Adding 0 times a value that a row
// does not see changes no bit: no sum is -0.
template <size_t kRows, size_t kBlocks>
void mix(const AttentionRowsArgs& args, size_t first, size_t d, const Vector* inverses) {
  Vector sums[kRows][kBlocks];
#pragma GCC unroll 6
  for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (size_t b = 0; b < kBlocks; ++b) sums[r][b] = Vector::zero();
  }
  const size_t count = slot_count(args, first + kRows - 1);
  const float* weights = args.scores + first * args.score_stride;
  const int8_t* row = args.values + d;
  for (size_t t = 0; t < count; ++t, row += args.row_stride) {
    Vector values[kBlocks];
#pragma GCC unroll 4
    for (size_t b = 0; b < kBlocks; ++b) values[b] = Vector::load(row + b * kLanes, Whole{});
#pragma GCC unroll 6
    for (size_t r = 0; r < kRows; ++r) {
      const Vector w = Vector::broadcast(weights[r * args.score_stride + t]);
#pragma GCC unroll 4
      for (size_t b = 0; b < kBlocks; ++b) sums[r][b] = fma(w, values[b], sums[r][b]);
    }
  }
#pragma GCC unroll 6
  for (size_t r = 0; r < kRows; ++r) {
    float* output = args.outputs + (first + r) * args.output_stride;
#pragma GCC unroll 4
    for (size_t b = 0; b < kBlocks; ++b) {
      const size_t begin = d + b * kLanes;
      const size_t left = args.head_size - begin;
      const Vector result = sums[r][b] * inverses[first + r];
      if (left >= kLanes) {
        result.store(output + begin, Whole{});
      } else {
        result.store(output + begin, Part{left});
      }
    }
  }
}

template <size_t kRows>
void mix_rows(const AttentionRowsArgs& args, size_t first, const Vector* inverses) {
  size_t d = 0;
  for (; d + 4 * kLanes <= args.row_stride; d += 4 * kLanes) mix<kRows, 4>(args, first, d, inverses);
  for (; d < args.row_stride; d += kLanes) mix<kRows, 1>(args, first, d, inverses);
}

}  // namespace

void attention_rows(const AttentionRowsArgs& args) {
  assert(args.head_size <= kMaxHeadSize && args.row_stride % kHeadAlignment == 0);
  assert(args.row_count > 0 && args.row_count <= kAttentionRows);
  Queries queries;
  quantize_queries(args, &queries);
  const size_t count = slot_count(args, args.row_count - 1);
  for (size_t first = 0; first < count; first += 16) {
    score_keys(args, queries, first, std::min<size_t>(count - first, 16));
  }
  Vector inverses[kAttentionRows];
  for (size_t r = 0; r < args.row_count; ++r) inverses[r] = weigh(args, r);
  for (size_t first = 0; first < args.row_count; first += kMixRows) {
    switch (std::min(args.row_count - first, kMixRows)) {
      case 1: mix_rows<1>(args, first, inverses); break;
      case 2: mix_rows<2>(args, first, inverses); break;
      case 3: mix_rows<3>(args, first, inverses); break;
      case 4: mix_rows<4>(args, first, inverses); break;
      case 5: mix_rows<5>(args, first, inverses); break;
      case 6: mix_rows<6>(args, first, inverses); break;
    }
  }
}

}  // namespace sotto::avx512vnni
