// The sums, scales and biases of a tile of 8 columns, and functions that store its outputs. kernels/generic/vector.h
// explains the unnamed namespace.
#pragma once

#include <immintrin.h>

#include "kernels/linear/int8.h"

namespace sotto::SOTTO_ISA {
namespace {

class TileFrame {
 public:
  static constexpr size_t kColumns = 8;

  // `end` is where the weights end.
  TileFrame(const uint8_t* tile, const uint8_t* end)
      : minus_sums_(_mm256_load_si256(reinterpret_cast<const __m256i*>(tile))),
        scales_(_mm256_load_ps(reinterpret_cast<const float*>(end))),
        biases_(_mm256_load_ps(reinterpret_cast<const float*>(end) + kColumns)) {}

  // Converts the sums of a row of activations to outputs. `added` is the number that was added to each activation.
  __m256 finish(__m256i sums, int32_t added, const RowQuantization& quantization) const {
    const __m256i shift = _mm256_mullo_epi32(minus_sums_, _mm256_set1_epi32(quantization.zero_point + added));
    const __m256 scaled =
        _mm256_mul_ps(_mm256_cvtepi32_ps(_mm256_add_epi32(sums, shift)), _mm256_set1_ps(quantization.scale));
    return _mm256_fmadd_ps(scaled, scales_, biases_);
  }

 private:
  __m256i minus_sums_;
  __m256 scales_;
  __m256 biases_;
};

// Stores the first `columns` values, or all if there are fewer.
inline void store_columns(float* y, size_t columns, __m256 values) {
  if (columns >= TileFrame::kColumns) {
    _mm256_storeu_ps(y, values);
    return;
  }
  const __m256i numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i first = _mm256_set1_epi32(static_cast<int>(columns));
  _mm256_maskstore_ps(y, _mm256_cmpgt_epi32(first, numbers), values);
}

}  // namespace
}  // namespace sotto::SOTTO_ISA
