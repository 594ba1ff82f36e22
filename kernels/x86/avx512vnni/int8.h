// Tiles of 16 columns, for batches of any size. vpdpbusd multiplies unsigned with signed bytes, so 128 is added to the
// activations, and the packed sums of the columns correct the result for that and for the zero point.
// kernels/generic/vector.h explains the unnamed namespace.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "kernels/linear/int8.h"

namespace sotto::avx512vnni {
namespace {

constexpr size_t kTileColumns = 16;
constexpr size_t kDepthBytes = kTileColumns * kTileDepth;
constexpr size_t kFrameBytes = kTileColumns * (sizeof(int32_t) + 2 * sizeof(float));
constexpr size_t kHalfBytes = sizeof(__m512i);  // size of half of the columns of a depth

inline size_t depth_count(size_t inputs) { return divide_up(inputs, kTileDepth); }
inline size_t tile_size(size_t inputs) { return kFrameBytes + depth_count(inputs) * kDepthBytes; }

// Broadcasts eight activations to every column.
inline __m512i broadcast(const int8_t* q) {
  int64_t bytes;
  std::memcpy(&bytes, q, sizeof bytes);
  return _mm512_set1_epi64(bytes);
}

// Adds the products of activations and weights to the sums. The function is written in assembly, because with the
// intrinsic GCC 12 spills the sums of more than eight rows, and copies sums when it reorders the instructions.
inline void multiply_add(__m512i& sums, __m512i activations, __m512i weights) {
  asm volatile("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(activations), "v"(weights));
}

// The sums of a row and a tile. Two adjacent halves contain the sum of a column.
struct RowSums {
  __m512i low;
  __m512i high;
};

inline __m512i sums_of_columns(const RowSums& row) {
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  const __m512i odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  return _mm512_add_epi32(_mm512_permutex2var_epi32(row.low, even, row.high),
                          _mm512_permutex2var_epi32(row.low, odd, row.high));
}

// The sums, scales and biases of a tile.
class TileFrame {
 public:
  TileFrame() = default;
  // `end` points to the end of the weights.
  TileFrame(const uint8_t* tile, const uint8_t* end)
      : scales_(_mm512_load_ps(reinterpret_cast<const float*>(end))),
        biases_(_mm512_load_ps(reinterpret_cast<const float*>(end) + kTileColumns)) {
    // The negated sum becomes two int16: its lowest 7 bits, and the bits above them.
    const __m512i minus_sums = _mm512_load_si512(tile);
    const __m512i above = _mm512_slli_epi32(_mm512_srai_epi32(minus_sums, 7), 16);
    minus_sums_ = _mm512_or_si512(above, _mm512_and_si512(minus_sums, _mm512_set1_epi32(127)));
  }

  // Converts the sums of a row for all columns to outputs.
  __m512 finish(__m512i sums, const RowQuantization& quantization) const {
    // The offset, from 0 to 255, as two int16: 128 times the offset, and the offset itself.
    const int32_t offset = quantization.zero_point + 128;
    const __m512i offsets = _mm512_set1_epi32(offset << 23 | offset);
    const __m512i dots = _mm512_dpwssd_epi32(sums, offsets, minus_sums_);
    const __m512 scaled = _mm512_mul_ps(_mm512_cvtepi32_ps(dots), _mm512_set1_ps(quantization.scale));
    return _mm512_fmadd_ps(scaled, scales_, biases_);
  }

 private:
  __m512i minus_sums_;
  __m512 scales_;
  __m512 biases_;
};

}  // namespace

void multiply_small_batch(const LinearArgs& args, size_t first_tile, size_t tile_count);

}  // namespace sotto::avx512vnni
