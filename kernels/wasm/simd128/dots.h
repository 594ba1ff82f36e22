// Dot products of one int8 query with rows of keys, in blocks of 16 bytes. `Query` prepares the query, and its add(sum,
// block, key) adds the products of 16 bytes to four partial sums and returns them.
#pragma once

#include <wasm_simd128.h>

#include <cstddef>
#include <cstdint>

namespace sotto::SOTTO_ISA {

// Returns the sums of adjacent lanes: a0 + a1, a2 + a3, b0 + b1, b2 + b3.
inline v128_t add_pairs(v128_t a, v128_t b) {
  return wasm_i32x4_add(wasm_i32x4_shuffle(a, b, 0, 2, 4, 6), wasm_i32x4_shuffle(a, b, 1, 3, 5, 7));
}

template <class Query>
class Dots {
 public:
  Dots(const int8_t* query, size_t row_stride) : query_(query, row_stride), row_stride_(row_stride) {}

  void operator()(const int8_t* keys, size_t count, float* scores) const {
    size_t i = 0;
    for (; i + 4 <= count; i += 4) {
      const int8_t* key = keys + i * row_stride_;
      v128_t sums[4] = {query_.start(), query_.start(), query_.start(), query_.start()};
      for (size_t j = 0; j < row_stride_; j += 16) {
        for (size_t row = 0; row < 4; ++row) {
          sums[row] = query_.add(sums[row], j, wasm_v128_load(key + row * row_stride_ + j));
        }
      }
      const v128_t dots = add_pairs(add_pairs(sums[0], sums[1]), add_pairs(sums[2], sums[3]));
      wasm_v128_store(scores + i, wasm_f32x4_convert_i32x4(dots));
    }
    for (; i < count; ++i) {
      v128_t sum = query_.start();
      for (size_t j = 0; j < row_stride_; j += 16) {
        sum = query_.add(sum, j, wasm_v128_load(keys + i * row_stride_ + j));
      }
      sum = add_pairs(sum, sum);
      scores[i] = static_cast<float>(wasm_i32x4_extract_lane(sum, 0) + wasm_i32x4_extract_lane(sum, 1));
    }
  }

 private:
  Query query_;
  size_t row_stride_;
};

}  // namespace sotto::SOTTO_ISA
