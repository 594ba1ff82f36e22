// Int8 linear layers with AMX tile registers, for more than twelve rows.
#include <cassert>

#include "kernels/dispatch/tables.h"
#include "kernels/x86/avx512/columns.h"
#include "kernels/x86/avx512amx/passes.h"
#include "kernels/x86/avx512vnni/int8.h"
#include "kernels/x86/flush_denormals.h"

namespace sotto::avx512amx {
namespace {

using avx512vnni::kTileColumns;
static_assert(kTileRows == kTileColumns);

constexpr size_t kStepDepths = kStepInputs / kTileDepth;

struct Int8Layer {
  static constexpr size_t kTiles = kPair;

  static size_t tile_size(size_t inputs) { return avx512vnni::tile_size(inputs); }

  template <int kSums, int kRows, int kWeights>
  [[gnu::always_inline]] static void multiply() {
    multiply_tiles<kSums, kRows, kWeights>();
  }

  // Reorders packed weights, which are stored as (group of eight inputs, column, input of the group). Inputs that the
  // layer does not have become zero.
  [[gnu::always_inline]] static void convert(size_t inputs, const uint8_t* tile, size_t step, size_t count,
                                             StepWeights* to) {
    const uint8_t* from = tile + sizeof(__m512i) + step * kStepDepths * avx512vnni::kDepthBytes;
    const size_t depths = std::min(kStepDepths, avx512vnni::depth_count(inputs) - step * kStepDepths);
    order(from, depths, to->parts[0]);
    if (count > 1) order(from + tile_size(inputs), depths, to->parts[1]);
  }

  [[gnu::always_inline]] static void order(const uint8_t* from, size_t depths, int8_t* to) {
    if (depths == kStepDepths) {
#pragma GCC unroll 8
      for (size_t d = 0; d < kStepDepths; ++d) {
        order_depth(from + d * avx512vnni::kDepthBytes, to + d * avx512vnni::kDepthBytes);
      }
      return;
    }
    for (size_t d = 0; d < depths; ++d) {
      order_depth(from + d * avx512vnni::kDepthBytes, to + d * avx512vnni::kDepthBytes);
    }
    std::memset(to + depths * avx512vnni::kDepthBytes, 0, (kStepDepths - depths) * avx512vnni::kDepthBytes);
  }

  [[gnu::always_inline]] static void order_depth(const uint8_t* from, int8_t* to) {
    const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
    const __m512i odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
    const __m512i low = _mm512_load_si512(from);
    const __m512i high = _mm512_load_si512(from + avx512vnni::kHalfBytes);
    _mm512_store_si512(to, _mm512_permutex2var_epi32(low, even, high));
    _mm512_store_si512(to + avx512vnni::kHalfBytes, _mm512_permutex2var_epi32(low, odd, high));
  }

  class Frames {
   public:
    Frames() = default;
    Frames(const LinearArgs& args, size_t tile, size_t count) : count_(count) {
      const size_t size = tile_size(args.inputs);
      const uint8_t* packed = args.weights + tile * size;
      for (size_t i = 0; i < count; ++i, packed += size) {
        frames_[i] = avx512vnni::TileFrame(packed, packed + size - kTileColumns * 2 * sizeof(float));
        masks_[i] = columns_of(args, tile + i);
      }
    }

    [[gnu::always_inline]] void finish(const Sums& sums, size_t row, const RowQuantization& quantization,
                                       float* y) const {
      finish_tile(0, sums, row, quantization, y);
      if (count_ > 1) finish_tile(1, sums, row, quantization, y + kTileColumns);
    }

   private:
    [[gnu::always_inline]] void finish_tile(size_t i, const Sums& sums, size_t row, const RowQuantization& quantization,
                                            float* y) const {
      const __m512i of_row = _mm512_load_si512(sums.parts[i][row]);
      _mm512_mask_storeu_ps(y, masks_[i], frames_[i].finish(of_row, quantization));
    }

    avx512vnni::TileFrame frames_[kPair];
    __mmask16 masks_[kPair] = {};
    size_t count_ = 0;
  };
};

// Adds 128 to the activations to make them unsigned.
void prepare_large_batch(const LinearArgs& args, size_t group) {
  order_rows(args, group, -128, args.scratch + group * step_count(args.inputs) * kTileBytes);
}

void multiply_large_batch(const LinearArgs& args, size_t first_tile, size_t tile_count) {
  assert(args.rows > kSmallBatchRows);
  const FlushDenormals flush;
  multiply_in_passes<Int8Layer>(args, first_tile, tile_count);
}

}  // namespace

constinit const MatrixKernels kInt8 = {
    .layout = &kTilesOf16,
    .small = {nullptr, avx512vnni::multiply_small_batch, 8},
    .large = {
        .prepare = prepare_large_batch, .multiply = multiply_large_batch, .task_tiles = 12, .group_rows = kTileRows}};

}  // namespace sotto::avx512amx
