// Attention of a few consecutive queries, which share each read of a key or value. Sixteen keys at a time are
// transposed, so that a register contains four dimensions of each key. Values are widened to floats once for all
// queries.
#include <algorithm>
#include <cassert>

#include "kernels/generic/attention.h"
#include "kernels/generic/with_rows.h"
#include "kernels/x86/avx512/lanes.h"
#include "kernels/x86/avx512/vector.h"
#include "kernels/x86/avx512vnni/attention_rows.h"

namespace sotto::avx512vnni {
namespace {

using generic::Part;
using generic::Whole;

// Returns the distance between the score rows, in floats.
size_t score_stride(const AttentionRowsArgs& args) { return args.slots_of(args.row_count - 1); }

// Multiplies four dimensions of a query with the same dimensions of 16 keys, in assembly, because GCC 12 broadcasts the
// argument of the intrinsic through a general register.
inline void multiply_add(__m512i& sums, __m512i keys, const int8_t* q) {
  asm("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(sums) : "v"(keys), "m"(*reinterpret_cast<const int8_t(*)[4]>(q)));
}

struct FewQueries {
  alignas(64) int8_t q[kFewRows][kMaxHeadSize];
  float scales[kFewRows];
  int32_t excess[16];  // 128 times the sum of q
};

// Quantizes the queries. Keys are read as unsigned bytes, 128 too large, and `excess` corrects their dot products.
void quantize_queries(const AttentionRowsArgs& args, FewQueries* queries) {
  const size_t padded = align_up(args.row_stride, 64);
  for (size_t r = 0; r < args.row_count; ++r) {
    int8_t* q = queries->q[r];
    for (size_t d = 0; d < padded; d += 64) _mm512_store_si512(q + d, _mm512_setzero_si512());
    const float s = generic::quantize_symmetric<Vector>(args.queries + r * args.query_stride, args.head_size, q);
    queries->scales[r] = s * args.score_scale;
  }
  __m512i sums[16];
#pragma GCC unroll 16
  for (size_t r = 0; r < 16; ++r) sums[r] = _mm512_setzero_si512();
  for (size_t r = 0; r < args.row_count; ++r) {
    for (size_t d = 0; d < padded; d += 64) {
      sums[r] = _mm512_dpbusd_epi32(sums[r], _mm512_set1_epi8(1), _mm512_load_si512(queries->q[r] + d));
    }
  }
  _mm512_storeu_si512(queries->excess, _mm512_slli_epi32(sum_rows(sums), 7));
}

// Loads dimensions [64 group, 64 group + 64) of up to 16 keys as unsigned bytes. Each register contains four dimensions
// of every key.
void load_keys(const AttentionRowsArgs& args, size_t first, size_t count, size_t group, __m512i (&keys)[16]) {
  const size_t width = std::min<size_t>(args.row_stride - group * 64, 64);
  const auto mask = static_cast<__mmask16>((1u << width / 4) - 1);
  const int8_t* at = args.keys + first * args.row_stride + group * 64;
#pragma GCC unroll 16
  for (size_t i = 0; i < 16; ++i) {
    const int8_t* key = at + std::min(i, count - 1) * args.row_stride;
    keys[i] = _mm512_xor_si512(_mm512_maskz_loadu_epi32(mask, key), _mm512_set1_epi8(-128));
  }
  transpose(keys);
}

// Adds the products of one group of dimensions of a query with 16 keys.
inline __m512i multiply_add(__m512i sums, const __m512i (&keys)[16], const int8_t* q) {
  __m512i odd = _mm512_setzero_si512();
#pragma GCC unroll 8
  for (size_t j = 0; j < 16; j += 2) {
    multiply_add(sums, keys[j], q + 4 * j);
    multiply_add(odd, keys[j + 1], q + 4 * (j + 1));
  }
  return _mm512_add_epi32(sums, odd);
}

// Computes the scores of up to 16 keys. Updates the maximum of each row, lane by lane, with the scores of the keys to
// which the row attends.
void score_keys(const AttentionRowsArgs& args, const FewQueries& queries, size_t first, size_t count, Vector* maxima) {
  __m512i sums[kFewRows];
  for (size_t group = 0; group * 64 < args.row_stride; ++group) {
    __m512i keys[16];
    load_keys(args, first, count, group, keys);
    for (size_t r = 0; r < args.row_count; ++r) {
      const __m512i before = group == 0 ? _mm512_setzero_si512() : sums[r];
      sums[r] = multiply_add(before, keys, queries.q[r] + group * 64);
    }
  }
  const Part part = {count};
  const Vector key_scales = Vector::load(args.key_scales + first, part);
  const Vector lowest = Vector::broadcast(-__builtin_inff());
  const bool all_seen = first + 16 <= args.slot_count;
  for (size_t r = 0; r < args.row_count; ++r) {
    const __m512i dots = _mm512_sub_epi32(sums[r], _mm512_set1_epi32(queries.excess[r]));
    const Vector scale = Vector::broadcast(queries.scales[r]) * key_scales;
    const Vector scores = Vector{_mm512_cvtepi32_ps(dots)} * scale;
    scores.store(args.scores + r * score_stride(args) + first, part);
    if (all_seen) {
      maxima[r] = max(scores, maxima[r]);
      continue;
    }
    const size_t end = std::max(args.slots_of(r), first);
    const Part seen = {std::min<size_t>(end - first, 16)};
    maxima[r] = max(merge(scores, seen, lowest), maxima[r]);
  }
}

// Replaces the scores of a row by the weights of the values: 0 for values of later rows. Returns the sums of the row's
// exponentials, lane by lane.
Vector weigh(const AttentionRowsArgs& args, size_t row, Vector maximum) {
  float* scores = args.scores + row * score_stride(args);
  const size_t count = args.slots_of(row);
  const Vector m = Vector::broadcast(fold_max(maximum) + 0.0f);
  Vector sum = Vector::zero();
  generic::for_each_block<Vector>(count, [&](size_t i, auto extent) {
    const Vector e = merge(generic::exp(Vector::load(scores + i, extent) - m), extent, Vector::zero());
    sum = sum + e;
    (e * Vector::load(args.value_scales + i, extent)).store(scores + i, extent);
  });
  Vector::zero().store(scores + count, Part{args.row_count - 1 - row});
  return sum;
}

// Reads the weights of a slot, `stride` bytes apart. Four rows share a pointer, to save registers.
template <size_t kRows>
class Weights {
 public:
  Weights(const float* weights, size_t stride) : stride_(stride * sizeof(float)), three_strides_(3 * stride_) {
#pragma GCC unroll 3
    for (size_t i = 0; i < kGroups; ++i) {
      groups_[i] = reinterpret_cast<const char*>(weights + 4 * i * stride);
    }
  }
  Vector operator[](size_t row) const {
    const size_t offset = row % 4 == 3 ? three_strides_ : row % 4 * stride_;
    return Vector::broadcast(*reinterpret_cast<const float*>(groups_[row / 4] + offset));
  }
  void advance() {
#pragma GCC unroll 3
    for (size_t i = 0; i < kGroups; ++i) {
      groups_[i] += sizeof(float);
      asm("" : "+r"(groups_[i]));  // makes the compiler keep one register per group instead of one per row
    }
  }

 private:
  static constexpr size_t kGroups = (kRows + 3) / 4;
  size_t stride_;
  size_t three_strides_;
  const char* groups_[kGroups];
};

// Computes outputs [d, d + 16 kBlocks) of all rows. A value that a row does not attend to is multiplied by 0, and
// adding this product changes no bit, because no sum is -0.
template <size_t kRows, size_t kBlocks>
void mix(const AttentionRowsArgs& args, size_t d, const Vector* inverses) {
  Vector sums[kRows][kBlocks];
#pragma GCC unroll 12
  for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
    for (size_t b = 0; b < kBlocks; ++b) sums[r][b] = Vector::zero();
  }
  const size_t count = args.slots_of(kRows - 1);
  const int8_t* row = args.values + d;
  Weights<kRows> weights(args.scores, score_stride(args));
  for (size_t t = 0; t < count; ++t, row += args.row_stride, weights.advance()) {
    Vector values[kBlocks];
#pragma GCC unroll 2
    for (size_t b = 0; b < kBlocks; ++b) values[b] = Vector::load(row + b * kLanes, Whole{});
#pragma GCC unroll 12
    for (size_t r = 0; r < kRows; ++r) {
      const Vector w = weights[r];
#pragma GCC unroll 2
      for (size_t b = 0; b < kBlocks; ++b) sums[r][b] = fma(w, values[b], sums[r][b]);
    }
  }
#pragma GCC unroll 12
  for (size_t r = 0; r < kRows; ++r) {
    float* output = args.outputs + r * args.output_stride;
#pragma GCC unroll 2
    for (size_t b = 0; b < kBlocks; ++b) {
      const size_t begin = d + b * kLanes;
      const size_t remaining = args.head_size - begin;
      const Vector result = sums[r][b] * inverses[r];
      if (remaining >= kLanes) {
        result.store(output + begin, Whole{});
      } else {
        result.store(output + begin, Part{remaining});
      }
    }
  }
}

template <size_t kRows>
void mix_rows(const AttentionRowsArgs& args, const Vector* inverses) {
  size_t d = 0;
  for (; d + 2 * kLanes <= args.row_stride; d += 2 * kLanes) mix<kRows, 2>(args, d, inverses);
  if (d < args.row_stride) mix<kRows, 1>(args, d, inverses);
}

}  // namespace

void attention_few_rows(const AttentionRowsArgs& args) {
  assert(args.head_size <= kMaxHeadSize && args.row_stride % kHeadAlignment == 0);
  assert(args.row_count > 0 && args.row_count <= kFewRows);
  FewQueries queries;
  quantize_queries(args, &queries);
  const size_t count = args.slots_of(args.row_count - 1);
  Vector rows[kFewRows];
  std::fill_n(rows, args.row_count, Vector::broadcast(-__builtin_inff()));
  for (size_t first = 0; first < count; first += 16) {
    score_keys(args, queries, first, std::min<size_t>(count - first, 16), rows);
  }
  for (size_t r = 0; r < args.row_count; ++r) rows[r] = weigh(args, r, rows[r]);
  for (size_t r = 0; r < args.row_count; ++r) {
    rows[r] = Vector::broadcast(1.0f) / Vector::broadcast(fold_add(rows[r]));
  }
  generic::with_rows<1, kFewRows>(args.row_count, [&](auto rows_at_once) { mix_rows<rows_at_once>(args, rows); });
}

}  // namespace sotto::avx512vnni
