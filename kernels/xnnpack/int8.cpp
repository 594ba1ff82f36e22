// Int8 linear layers on ARM in builds with SOTTO_XNNPACK: XNNPACK's GEMM microkernels qd8-f32-qc8w multiply the tiles
// of kernels/linear/int8.h. Of XNNPACK, only these six functions are linked.
#include "kernels/linear/int8.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "kernels/arm/flush_denormals.h"
#include "kernels/dispatch/tables.h"

namespace sotto::xnnpack {

// XNNPACK's xnn_f32_minmax_params: the bounds of the results.
struct OutputBounds {
  float min;
  float max;
};

// XNNPACK's xnn_dqgemm_ukernel_fn, which multiplies `rows` rows with `columns` columns, the first of which begins a
// tile. Strides are in bytes; tile_stride is the distance between the results of two tiles. A function for more than
// one row always reads its maximum number of elements of `quantization`. In place of missing rows, it computes the last
// row again and stores it to the same address.
using Gemm = void(size_t rows, size_t columns, size_t inputs, const int8_t* q, size_t q_stride, const void* packed,
                  float* y, size_t y_stride, size_t tile_stride, const OutputBounds* bounds,
                  const RowQuantization* quantization);

static_assert(sizeof(RowQuantization) == 8 && offsetof(RowQuantization, zero_point) == 0 &&
              offsetof(RowQuantization, scale) == 4);  // as XNNPACK's xnn_qd8_quantization_params

extern "C" {
Gemm xnn_qd8_f32_qc8w_gemm_minmax_ukernel_1x8c2s4__neon_mlal;
Gemm xnn_qd8_f32_qc8w_gemm_minmax_ukernel_2x8c2s4__neon_mlal;
Gemm xnn_qd8_f32_qc8w_gemm_minmax_ukernel_1x16c4__neondot;
Gemm xnn_qd8_f32_qc8w_gemm_minmax_ukernel_4x16c4__neondot;
Gemm xnn_qd8_f32_qc8w_gemm_minmax_ukernel_1x16c8__neoni8mm;
Gemm xnn_qd8_f32_qc8w_gemm_minmax_ukernel_4x16c8__neoni8mm;
}  // extern "C"

namespace {

// The kernels of an instruction set, from its functions for one row and for at most kMaxRows rows.
template <const TileLayout& kLayout, Gemm* kOneRow, Gemm* kSeveralRows, size_t kMaxRows>
class Int8Gemm {
 public:
  // Tasks have few columns, so that threads share the work evenly.
  static constexpr MatrixKernels kernels() {
    return {&kLayout, {nullptr, multiply, 32 / kLayout.columns}, {nullptr, multiply, 16 / kLayout.columns}};
  }

 private:
  // The weights of this number of columns stay in the L2 cache while all rows are multiplied.
  static constexpr size_t kBlockTiles = 256 / kLayout.columns;

  static void multiply(const LinearArgs& args, size_t first_tile, size_t tile_count) {
    const FlushDenormals flush;
    const size_t end = first_tile + tile_count;
    for (size_t tile = first_tile; tile < end; tile += kBlockTiles) {
      multiply_block(args, tile, std::min(kBlockTiles, end - tile));
    }
  }

  static void multiply_block(const LinearArgs& args, size_t tile, size_t tile_count) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr OutputBounds kUnbounded = {-kInfinity, kInfinity};
    const uint8_t* packed = args.weights + tile * kLayout.tile_size(args.inputs);
    const size_t column = tile * kLayout.columns;
    const size_t columns = std::min(tile_count * kLayout.columns, args.outputs - column);
    for (size_t row = 0; row < args.rows; row += kMaxRows) {
      const size_t rows = std::min(kMaxRows, args.rows - row);
      RowQuantization quantization[kMaxRows];
      for (size_t r = 0; r < kMaxRows; ++r) quantization[r] = args.quantization[row + std::min(r, rows - 1)];
      const auto gemm = rows == 1 ? kOneRow : kSeveralRows;
      gemm(rows, columns, args.inputs, args.q + row * args.inputs, args.inputs, packed,
           args.y + row * args.outputs + column, args.outputs * sizeof(float), kLayout.columns * sizeof(float),
           &kUnbounded, quantization);
    }
  }
};

}  // namespace

constinit const MatrixKernels kNeon = Int8Gemm<kNeonTiles, xnn_qd8_f32_qc8w_gemm_minmax_ukernel_1x8c2s4__neon_mlal,
                                               xnn_qd8_f32_qc8w_gemm_minmax_ukernel_2x8c2s4__neon_mlal, 2>::kernels();

constinit const MatrixKernels kNeonDotprod =
    Int8Gemm<kDotprodTiles, xnn_qd8_f32_qc8w_gemm_minmax_ukernel_1x16c4__neondot,
             xnn_qd8_f32_qc8w_gemm_minmax_ukernel_4x16c4__neondot, 4>::kernels();

constinit const MatrixKernels kNeonI8mm = Int8Gemm<kI8mmTiles, xnn_qd8_f32_qc8w_gemm_minmax_ukernel_1x16c8__neoni8mm,
                                                   xnn_qd8_f32_qc8w_gemm_minmax_ukernel_4x16c8__neoni8mm, 4>::kernels();

}  // namespace sotto::xnnpack
