// Attention of many consecutive queries with AMX tile registers. The rows of a tile are keys, loaded from the ring as
// they are, and the columns are queries, so that the sums have the order of the scores.
#include "kernels/x86/avx512vnni/attention_rows.h"

#include <cstring>

#include "kernels/dispatch/tables.h"
#include "kernels/x86/avx512/vector.h"
#include "kernels/x86/avx512amx/tiles.h"

namespace sotto::avx512amx {
namespace {

using avx512vnni::kGroups;
using avx512vnni::Queries;

constexpr size_t kKeys = kTileRows;
static_assert(kTileRows == kAttentionGroupRows && kGroups == 3);

// Dot products, as (group, key, row).
struct Dots {
  alignas(64) int32_t sums[kGroups][kKeys][kAttentionGroupRows];
};

class Scorer {
 public:
  Scorer(const AttentionRowsArgs& args, Queries* queries)
      : args_(args),
        queries_(*queries),
        count_(args.slots_of(args.row_count - 1)),
        groups_(divide_up(args.row_count, kAttentionGroupRows)),
        steps_(divide_up(args.row_stride, kTileRowBytes)) {}

  // Multiplies a tile of keys while the sums of the tile before it are converted to scores.
  void score() {
    const TileState state;
    Dots dots[2];
    multiply(0, &dots[0]);
    size_t turn = 0;
    for (size_t first = 0; first < count_; first += kKeys, turn ^= 1) {
      if (first + kKeys < count_) multiply(first + kKeys, &dots[turn ^ 1]);
      for (size_t g = avx512vnni::first_group(args_, first); g < groups_; ++g) {
        finish(g, first, dots[turn].sums[g]);
      }
    }
  }

 private:
  // Multiplies the queries with kKeys keys. Keys beyond the last one read as zeros.
  void multiply(size_t first, Dots* dots) {
    const int8_t* keys = args_.keys + first * args_.row_stride;
    size_t stride = args_.row_stride;
    if ((first + kKeys - 1) * stride + steps_ * kTileRowBytes > count_ * stride) {
      keys = copy_last(first);
      stride = sizeof last_[0];
    }
    switch (groups_ - avx512vnni::first_group(args_, first)) {
      case 1:
        return multiply<1>(keys, stride, dots);
      case 2:
        return multiply<2>(keys, stride, dots);
      case 3:
        return multiply<3>(keys, stride, dots);
    }
  }

  // Multiplies the last kCount groups.
  template <size_t kCount>
  void multiply(const int8_t* keys, size_t stride, Dots* dots) const {
    const size_t group = groups_ - kCount;
    clear_tile<0>();
    if (kCount > 1) clear_tile<1>();
    if (kCount > 2) clear_tile<2>();
    for (size_t step = 0; step < steps_; ++step, keys += kTileRowBytes) {
      const size_t four = step * kTileRows;
      load_tile<7>(keys, stride);
      load_tile<4>(queries_.q[group][four]);
      multiply_signed_tiles<0, 7, 4>();
      if (kCount > 1) {
        load_tile<5>(queries_.q[group + 1][four]);
        multiply_signed_tiles<1, 7, 5>();
      }
      if (kCount > 2) {
        load_tile<6>(queries_.q[group + 2][four]);
        multiply_signed_tiles<2, 7, 6>();
      }
    }
    store_tile<0>(dots->sums[group]);
    if (kCount > 1) store_tile<1>(dots->sums[group + 1]);
    if (kCount > 2) store_tile<2>(dots->sums[group + 2]);
  }

  // Copies the last keys and pads them with zeros to a whole tile.
  const int8_t* copy_last(size_t first) {
    std::memset(last_, 0, sizeof last_);
    for (size_t i = 0; first + i < count_ && i < kKeys; ++i) {
      std::memcpy(last_[i], args_.keys + (first + i) * args_.row_stride, args_.row_stride);
    }
    return last_[0];
  }

  void finish(size_t group, size_t first, const int32_t (&sums)[kKeys][kAttentionGroupRows]) {
    const __m512 query_scales = queries_.scales[group];
    float* at = avx512vnni::scores_of(args_, group, first);
    const float* key_scales = args_.key_scales + first;
    __m512 m = queries_.maxima[group];
    if (first + kKeys <= args_.slots_of(group * kAttentionGroupRows)) {
#pragma GCC unroll 16
      for (size_t i = 0; i < kKeys; ++i) {
        m = _mm512_max_ps(score_of(sums[i], query_scales, key_scales[i], at + i * kKeys), m);
      }
    } else {
      const size_t end = std::min(kKeys, count_ - first);
      for (size_t i = 0; i < end; ++i) {
        const __m512 score = score_of(sums[i], query_scales, key_scales[i], at + i * kKeys);
        m = _mm512_mask_max_ps(m, avx512vnni::lanes_that_see(args_, group, first + i), score, m);
      }
    }
    queries_.maxima[group] = m;
  }

  static __m512 score_of(const int32_t* sums, __m512 query_scales, float key_scale, float* to) {
    const __m512 scale = _mm512_mul_ps(query_scales, _mm512_set1_ps(key_scale));
    const __m512 score = _mm512_mul_ps(_mm512_cvtepi32_ps(_mm512_load_si512(sums)), scale);
    _mm512_storeu_ps(to, score);
    return score;
  }

  const AttentionRowsArgs& args_;
  Queries& queries_;
  size_t count_;
  size_t groups_;
  size_t steps_;
  alignas(64) int8_t last_[kKeys][kMaxHeadSize];
};

void score(const AttentionRowsArgs& args, Queries* queries) { Scorer(args, queries).score(); }

}  // namespace

void attention_rows(const AttentionRowsArgs& args) { avx512vnni::attention_rows(args, score); }

}  // namespace sotto::avx512amx
