// 4-bit linear layers with AMX tile registers, for more than twelve rows. A weight times the scale of its block has 11
// bits, so it becomes two bytes in two tiles of weights: the weight times the upper bits of the scale, and the weight
// times its low four bits. sum = 16 * (sum of the first bytes' products) + sum of the second bytes' products, modulo
// 2^32.
#include <cassert>
#include <cstring>

#include "kernels/dispatch/tables.h"
#include "kernels/x86/avx512/int4.h"
#include "kernels/x86/avx512amx/passes.h"
#include "kernels/x86/avx512vnni/int4.h"

namespace sotto::avx512amx {
namespace {

static_assert(kTileRows == kInt4Columns);

constexpr size_t kStepBlocks = kStepInputs / kInt4Block;
constexpr size_t kBlockTileBytes = kInt4Columns * kInt4Block;  // size of a block in a tile register

// The scales of a block, as operands for its weights: (output, 4 inputs). A negative scale becomes positive, and its
// nibbles are inverted: (nibble - 7) * scale = ((15 - nibble) - 8) * -scale.
struct BlockScales {
  __m512i flips;       // the bits of nibbles to invert
  __m512i high;        // the upper bits of the scale, at most 8, as int16
  __m512i low;         // its low four bits, as int16
  __m512i high_zeros;  // `high` and `low` times the nibble that means zero, as bytes
  __m512i low_zeros;

  [[gnu::always_inline]] explicit BlockScales(const int8_t* bytes) {
    const __m512i wide = _mm512_cvtepi8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
    const __m512i negative = _mm512_srai_epi32(wide, 31);
    const __m512i magnitude = _mm512_abs_epi32(wide);
    const __m512i pairs = _mm512_or_si512(magnitude, _mm512_slli_epi32(magnitude, 16));
    constexpr int kOnes = 0x101;
    const __m512i zeros =
        _mm512_add_epi16(_mm512_set1_epi16(kInt4Zero * kOnes), _mm512_and_si512(negative, _mm512_set1_epi16(kOnes)));
    flips = _mm512_and_si512(negative, _mm512_set1_epi8(15));
    high = _mm512_srli_epi16(pairs, 4);
    low = _mm512_and_si512(pairs, _mm512_set1_epi16(15));
    high_zeros = _mm512_mullo_epi16(high, zeros);
    low_zeros = _mm512_mullo_epi16(low, zeros);
  }
};

struct Int4Layer {
  static constexpr size_t kTiles = 1;

  static size_t tile_size(size_t inputs) { return int4_tile_size(inputs); }

  template <int kSums, int kRows, int kWeights>
  [[gnu::always_inline]] static void multiply() {
    multiply_signed_tiles<kSums, kRows, kWeights>();
  }

  // Blocks that the layer does not have become zero.
  [[gnu::always_inline]] static void convert(size_t inputs, const uint8_t* tile, size_t step, size_t, StepWeights* to) {
    const size_t blocks = int4_block_count(inputs);
    for (size_t i = 0; i < kStepBlocks; ++i) {
      const size_t block = step * kStepBlocks + i;
      int8_t* high = to->parts[0] + i * kBlockTileBytes;
      int8_t* low = to->parts[1] + i * kBlockTileBytes;
      if (block < blocks) {
        convert_block(reinterpret_cast<const int8_t*>(tile + sizeof(Int4Frame)) + block * kInt4Columns,
                      tile + int4_nibbles_offset(inputs) + block * kInt4BlockBytes, high, low);
      } else {
        std::memset(high, 0, kBlockTileBytes);
        std::memset(low, 0, kBlockTileBytes);
      }
    }
  }

  [[gnu::always_inline]] static void convert_block(const int8_t* block_scales, const uint8_t* nibbles, int8_t* high,
                                                   int8_t* low) {
    const BlockScales scales(block_scales);
#pragma GCC unroll 4
    for (size_t i = 0; i < kInt4Block / kInt4ChunkInputs;
         ++i, high += 2 * kInt4ChunkBytes, low += 2 * kInt4ChunkBytes) {
      const __m512i both = _mm512_load_si512(nibbles + i * kInt4ChunkBytes);
      multiply_by_scales(scales, both, high, low);
      multiply_by_scales(scales, _mm512_srli_epi16(both, 4), high + kInt4ChunkBytes, low + kInt4ChunkBytes);
    }
  }

  // Multiplies the lower nibble of each byte, less the one that means zero, by the parts of the scales. A product of
  // int16 contains those of two nibbles, each of which fits a byte.
  [[gnu::always_inline]] static void multiply_by_scales(const BlockScales& scales, __m512i bytes, int8_t* high,
                                                        int8_t* low) {
    constexpr int kAndXor = 0x6a;  // the first operand and the second, exclusive or the third
    const __m512i nibbles = _mm512_ternarylogic_epi32(bytes, _mm512_set1_epi8(15), scales.flips, kAndXor);
    _mm512_store_si512(high, _mm512_sub_epi8(_mm512_mullo_epi16(nibbles, scales.high), scales.high_zeros));
    _mm512_store_si512(low, _mm512_sub_epi8(_mm512_mullo_epi16(nibbles, scales.low), scales.low_zeros));
  }

  class Frames {
   public:
    Frames() = default;
    Frames(const LinearArgs& args, size_t tile, size_t)
        : frame_(reinterpret_cast<const Int4Frame*>(args.weights + tile * tile_size(args.inputs))),
          mask_(columns_of(args, tile)) {}

    [[gnu::always_inline]] void finish(const Sums& sums, size_t row, const RowQuantization& quantization,
                                       float* y) const {
      const __m512i high = _mm512_load_si512(sums.parts[0][row]);
      const __m512i low = _mm512_load_si512(sums.parts[1][row]);
      const __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(high, 4), low);
      _mm512_mask_storeu_ps(y, mask_, outputs_of(sum, *frame_, quantization));
    }

   private:
    const Int4Frame* frame_ = nullptr;
    __mmask16 mask_ = 0;
  };
};

void prepare_large_int4_batch(const LinearArgs& args, size_t group) {
  order_rows(args, group, 0, args.scratch + group * step_count(args.inputs) * kTileBytes);
}

void multiply_large_int4_batch(const LinearArgs& args, size_t first_tile, size_t tile_count) {
  assert(args.rows > kSmallBatchRows);
  multiply_in_passes<Int4Layer>(args, first_tile, tile_count);
}

}  // namespace

constinit const MatrixKernels kInt4 = {.layout = nullptr,
                                       .small = avx512vnni::kSmallInt4,
                                       .large = {.prepare = prepare_large_int4_batch,
                                                 .multiply = multiply_large_int4_batch,
                                                 .task_tiles = 12,
                                                 .group_rows = kTileRows}};

}  // namespace sotto::avx512amx
