// Int8 linear layers with NEON (kernels/linear/int8.h). A tile is multiplied with a few rows of activations together,
// in chunks of 16 inputs, while the weights kPrefetchDistance ahead are prefetched. If there are more rows, the tile
// stays in the caches until all of them are multiplied.
//
// `V` describes an instruction set:
//   kTiles: the layout of the packed weights;
//   kGroup: the number of inputs in the smallest group that is multiplied together;
//   kMaxRows: the number of rows that are multiplied together;
//   Sums<rows>: the sums of some rows and all columns of a tile;
//   Sums::add(weights, q, stride): adds the products of 16 inputs; the rows of q are `stride` bytes apart;
//   Sums::add_group(weights, q, stride): adds the products of kGroup inputs;
//   Sums::columns(row, i): the sums of columns 4i ... 4i + 3.
// kernels/generic/vector.h explains the unnamed namespace.
#pragma once

#include <arm_neon.h>

#include <algorithm>
#include <cstring>

#include "kernels/arm/flush_denormals.h"
#include "kernels/generic/with_rows.h"
#include "kernels/linear/int8.h"

namespace sotto::SOTTO_ISA {
namespace {

template <class V>
class Int8Tiles {
 public:
  static void multiply(const LinearArgs& args, size_t first_tile, size_t tile_count) {
    const FlushDenormals flush;
    const size_t size = V::kTiles.tile_size(args.inputs);
    const uint8_t* tile = args.weights + first_tile * size;
    for (size_t t = first_tile; t < first_tile + tile_count; ++t, tile += size) {
      for (size_t row = 0; row < args.rows; row += V::kMaxRows) {
        generic::with_rows<1, V::kMaxRows>(std::min(V::kMaxRows, args.rows - row),
                                           [&](auto rows) { multiply_rows<rows>(args, tile, row, t * kColumns); });
      }
    }
  }

 private:
  static constexpr size_t kColumns = V::kTiles.columns;
  static constexpr size_t kChunk = 16;
  static constexpr size_t kLine = 64;

  template <size_t kRows>
  static void multiply_rows(const LinearArgs& args, const uint8_t* tile, size_t row, size_t column) {
    typename V::template Sums<kRows> sums;
    const auto* weights = reinterpret_cast<const int8_t*>(tile) + kColumns * sizeof(int32_t);
    const int8_t* q = args.q + row * args.inputs;
    const int8_t* end = q + args.inputs;
    const int8_t* end_of_chunks = q + args.inputs / kChunk * kChunk;
    for (; q != end_of_chunks; q += kChunk, weights += kColumns * kChunk) {
#pragma GCC unroll 4
      for (size_t i = 0; i < kColumns * kChunk; i += kLine) __builtin_prefetch(weights + kPrefetchDistance + i);
      sums.add(weights, q, args.inputs);
    }
    for (; q < end; q += V::kGroup, weights += kColumns * V::kGroup) {
      sums.add_group(weights, q, args.inputs);
    }
    const auto* minus_sums = reinterpret_cast<const int32_t*>(tile);
    const auto* scales = reinterpret_cast<const float*>(weights);  // `weights` is at the end of the tile's weights
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows; ++r) {
      const RowQuantization& quantization = args.quantization[row + r];
      float outputs[kColumns];
      const bool is_whole = args.outputs - column >= kColumns;
      float* y = args.y + (row + r) * args.outputs + column;
      float* to = is_whole ? y : outputs;
#pragma GCC unroll 4
      for (size_t i = 0; i < kColumns / 4; ++i) {
        const int32x4_t dots = vmlaq_n_s32(sums.columns(r, i), vld1q_s32(minus_sums + 4 * i), quantization.zero_point);
        const float32x4_t scaled = vmulq_n_f32(vcvtq_f32_s32(dots), quantization.scale);
        vst1q_f32(to + 4 * i, vfmaq_f32(vld1q_f32(scales + kColumns + 4 * i), scaled, vld1q_f32(scales + 4 * i)));
      }
      if (!is_whole) std::memcpy(y, outputs, (args.outputs - column) * sizeof(float));
    }
  }
};

// The kernels of an instruction set. Tasks have few columns, so that threads share the work evenly.
template <class V>
constexpr MatrixKernels make_int8_kernels() {
  constexpr auto multiply = Int8Tiles<V>::multiply;
  return {&V::kTiles, {nullptr, multiply, 32 / V::kTiles.columns}, {nullptr, multiply, 16 / V::kTiles.columns}};
}

}  // namespace
}  // namespace sotto::SOTTO_ISA
