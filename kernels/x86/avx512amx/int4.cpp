// 4-bit linear layers with AMX tile registers, for more than twelve rows. A weight times the scale of its block has 11
// bits, so it is split into a signed high byte and an unsigned low byte, which become two tiles of weights: sum = 256 *
// (sum of the high bytes' products) + sum of the low bytes' products, modulo 2^32.
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

// The scales of a block, as operands for its weights: (output, 4 inputs).
struct BlockScales {
  __m512i even;   // for the inputs 0 and 2 of every four, as bytes
  __m512i odd;    // for the inputs 1 and 3
  __m512i zeros;  // kInt4Zero times the scale, as int16

  [[gnu::always_inline]] explicit BlockScales(const int8_t* bytes) {
    const __m512i wide = _mm512_cvtepi8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes)));
    const __m512i low = _mm512_and_si512(wide, _mm512_set1_epi32(0xff));
    even = _mm512_or_si512(low, _mm512_slli_epi32(low, 16));
    odd = _mm512_slli_epi16(even, 8);
    const __m512i words = _mm512_mask_blend_epi16(0xaaaaaaaa, wide, _mm512_slli_epi32(wide, 16));
    zeros = _mm512_mullo_epi16(words, _mm512_set1_epi16(kInt4Zero));
  }
};

struct Int4Layer {
  using Args = Int4Args;
  static constexpr size_t kTiles = 1;
  static constexpr size_t kKeptPasses = 2;  // minimum number of passes for which converted weights are kept

  static size_t tile_size(size_t inputs) { return int4_tile_size(inputs); }
  static const uint8_t* tiles(const Args& args) { return args.tiles; }
  static const int8_t* ordered(const Args& args) { return args.grouped; }

  // Even tile registers have high bytes or their sums, odd ones low bytes.
  template <int kSums, int kRows, int kWeights>
  [[gnu::always_inline]] static void multiply() {
    if constexpr (kWeights % 2 == 0) {
      multiply_signed_tiles<kSums, kRows, kWeights>();
    } else {
      multiply_signed_with_unsigned_tiles<kSums, kRows, kWeights>();
    }
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
    const __m512i low_half = _mm512_set1_epi8(15);
#pragma GCC unroll 4
    for (size_t i = 0; i < kInt4Block / kInt4ChunkInputs;
         ++i, high += 2 * kInt4ChunkBytes, low += 2 * kInt4ChunkBytes) {
      const __m512i both = _mm512_load_si512(nibbles + i * kInt4ChunkBytes);
      split(scales, _mm512_and_si512(both, low_half), high, low);
      split(scales, _mm512_and_si512(_mm512_srli_epi16(both, 4), low_half), high + kInt4ChunkBytes,
            low + kInt4ChunkBytes);
    }
  }

  // Multiplies nibbles less kInt4Zero by the scales, and stores the high and the low bytes of the products.
  [[gnu::always_inline]] static void split(const BlockScales& scales, __m512i nibbles, int8_t* high, int8_t* low) {
    const __m512i even = _mm512_sub_epi16(_mm512_maddubs_epi16(nibbles, scales.even), scales.zeros);
    const __m512i odd = _mm512_sub_epi16(_mm512_maddubs_epi16(nibbles, scales.odd), scales.zeros);
    const __m512i odd_bytes = _mm512_set1_epi16(-256);
    constexpr int kSelect = 0xca;  // the bits of the second operand where the first has ones, else of the third
    _mm512_store_si512(high, _mm512_ternarylogic_epi32(odd_bytes, odd, _mm512_srli_epi16(even, 8), kSelect));
    _mm512_store_si512(low, _mm512_ternarylogic_epi32(odd_bytes, _mm512_slli_epi16(odd, 8), even, kSelect));
  }

  class Frames {
   public:
    Frames() = default;
    Frames(const Args& args, size_t tile, size_t)
        : frame_(reinterpret_cast<const Int4Frame*>(args.tiles + tile * tile_size(args.inputs))),
          mask_(columns_of(args, tile)) {}

    [[gnu::always_inline]] void finish(const Sums& sums, size_t row, const RowQuantization& quantization,
                                       float* y) const {
      const __m512i high = _mm512_load_si512(sums.parts[0][row]);
      const __m512i low = _mm512_load_si512(sums.parts[1][row]);
      const __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(high, 8), low);
      _mm512_mask_storeu_ps(y, mask_, outputs_of(sum, *frame_, quantization));
    }

   private:
    const Int4Frame* frame_ = nullptr;
    __mmask16 mask_ = 0;
  };
};

void prepare_large_batch(const Int4Args& args, size_t group) {
  order_rows(args, group, 0, args.grouped + group * step_count(args.inputs) * kTileBytes);
}

void multiply_large_batch(const Int4Args& args, size_t first_tile, size_t tile_count) {
  assert(args.rows > kSmallBatchRows);
  multiply_in_passes<Int4Layer>(args, first_tile, tile_count);
}

}  // namespace

constinit const Int4Kernels kInt4 = {avx512vnni::kInt4Batch,
                                     {kTileRows, prepare_large_batch, multiply_large_batch, 12}};

}  // namespace sotto::avx512amx
