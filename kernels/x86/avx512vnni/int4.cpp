// 4-bit linear layers with vpdpbusd. The dot product of a block and an output, including its initial value, fits 16
// bits, so vpdpwssd can multiply it by the scale of the block and accumulate the result.
#include "kernels/x86/avx512vnni/int4.h"

#include "kernels/dispatch/tables.h"
#include "kernels/x86/avx512/int4.h"

namespace sotto::avx512vnni {
namespace {

struct Int4Vector : Int4Registers {
  static constexpr size_t kMaxRows = kInt4GroupRows;
  static constexpr size_t kMaxRowsOfWholeTile = kMaxRows;

  // Each scale is in the low half of an int32 whose high half is zero.
  struct Scales {
    __m512i values;
    explicit Scales(const int8_t* bytes)
        : values(_mm512_and_si512(_mm512_cvtepi8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(bytes))),
                                  _mm512_set1_epi32(0xffff))) {}
  };

  static int32_t start(const int8_t* q) {
    return _mm_cvtsi128_si32(_mm_madd_epi16(start_halves(q), _mm_set1_epi16(1)));
  }

  static void add_block(Sums& sums, const Weights& weights, const Scales& scales, const int8_t* q,
                        const int32_t* start) {
    __m512i dots = _mm512_set1_epi32(*start);
#pragma GCC unroll 8
    for (size_t i = 0; i < 8; ++i) {
      // Written in assembly, because with the intrinsic the compiler does not broadcast the activations as part of the
      // load.
      asm("vpdpbusd %2%{1to16%}, %1, %0"
          : "+v"(dots)
          : "v"(weights.bytes[i]), "m"(*reinterpret_cast<const int32_t*>(q + 4 * i)));
    }
    asm("vpdpwssd %2, %1, %0" : "+v"(sums) : "v"(dots), "v"(scales.values));
  }
};

}  // namespace

void prepare_int4(const Int4Args& args, size_t group) { generic::prepare_int4<Int4Vector>(args, group); }

void multiply_int4(const Int4Args& args, size_t first_tile, size_t tile_count) {
  generic::multiply_int4<Int4Vector>(args, first_tile, tile_count);
}

constinit const Int4Kernels kInt4 = {kInt4Batch, kInt4Batch};

}  // namespace sotto::avx512vnni
