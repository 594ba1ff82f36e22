// x86-64: vpdpbusd if the CPU has VNNI, else vpmaddubsw, vpmaddwd and vpaddd, and tdpbusd of AMX.
#include <immintrin.h>

#include "kernels/dispatch/cpu_features.h"
#include "tests/bench/machine/dot_limit.h"

namespace sotto::bench {
namespace {

// Enough independent sums to hide the instructions' latency.
constexpr size_t kSums = 16;
constexpr size_t kSumsAvx2 = 10;

[[gnu::target("avx512f,avx512bw,avx512vl,avx512vnni")]] void run_avx512vnni(size_t iterations) {
  __m512i sums[kSums];
  for (auto& sum : sums) sum = _mm512_setzero_si512();
  __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
  for (size_t i = 0; i < iterations; ++i) {
    asm volatile("" : "+v"(a), "+v"(b));
    for (auto& sum : sums) sum = _mm512_dpbusd_epi32(sum, a, b);
  }
  for (auto& sum : sums) asm volatile("" : : "v"(sum));
}

[[gnu::target("avx512f,avx512bw,avx512vl")]] void run_avx512(size_t iterations) {
  __m512i sums[kSums];
  for (auto& sum : sums) sum = _mm512_setzero_si512();
  __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5), ones = _mm512_set1_epi16(1);
  for (size_t i = 0; i < iterations; ++i) {
    for (auto& sum : sums) {
      asm volatile("" : "+v"(a), "+v"(b));
      sum = _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_maddubs_epi16(a, b), ones));
    }
  }
  for (auto& sum : sums) asm volatile("" : : "v"(sum));
}

[[gnu::target("avx2")]] void run_avx2(size_t iterations) {
  __m256i sums[kSumsAvx2];
  for (auto& sum : sums) sum = _mm256_setzero_si256();
  __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5), ones = _mm256_set1_epi16(1);
  for (size_t i = 0; i < iterations; ++i) {
    for (auto& sum : sums) {
      asm volatile("" : "+x"(a), "+x"(b));
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), ones));
    }
  }
  for (auto& sum : sums) asm volatile("" : : "x"(sum));
}

// The kernels of avx2 use these instructions on CPUs with AVX-VNNI and without AVX-512.
[[gnu::target("avx2")]] void run_avxvnni(size_t iterations) {
  __m256i sums[kSumsAvx2];
  for (auto& sum : sums) sum = _mm256_setzero_si256();
  const __m256i a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5);
  for (size_t i = 0; i < iterations; ++i) {
    for (auto& sum : sums) asm volatile("%{vex%} vpdpbusd %1, %2, %0" : "+x"(sum) : "x"(a), "x"(b));
  }
  for (auto& sum : sums) asm volatile("" : : "x"(sum));
}

// Four tiles of sums, of 16 by 16 with 64 products each, as in the library.
constexpr uint64_t kTileMacs = 4 * 16 * 16 * 64;

void run_tiles(size_t iterations) {
  alignas(64) uint8_t shapes[64] = {1};  // palette 1, with widths from byte 16 and heights from byte 48
  for (size_t i = 0; i < 8; ++i) {
    shapes[16 + 2 * i] = 64;
    shapes[48 + i] = 16;
  }
  asm volatile("ldtilecfg %0" : : "m"(shapes));
  for (size_t i = 0; i < iterations; ++i) {
    asm volatile(
        "tdpbusd %tmm6, %tmm4, %tmm0\n\ttdpbusd %tmm7, %tmm4, %tmm1\n\t"
        "tdpbusd %tmm6, %tmm5, %tmm2\n\ttdpbusd %tmm7, %tmm5, %tmm3");
  }
  asm volatile("tilerelease");
}

}  // namespace

DotLoop tile_loop(sotto_isa isa) {
  return isa == SOTTO_ISA_AVX512AMX ? DotLoop{run_tiles, kTileMacs} : DotLoop{nullptr, 0};
}

DotLoop dot_loop(sotto_isa isa) {
  switch (isa) {
    case SOTTO_ISA_AVX512AMX:
    case SOTTO_ISA_AVX512VNNI:
      return {run_avx512vnni, kSums * 64};
    case SOTTO_ISA_AVX512:
      return {run_avx512, kSums * 64};
    case SOTTO_ISA_AVX2: {
      const bool has_avx512 = (supported_isas() & isa_bit(Isa::kAvx512)) != 0;
      const bool is_vnni = has_avx_vnni() && !has_avx512;
      return {is_vnni ? run_avxvnni : run_avx2, kSumsAvx2 * 32};
    }
    default:
      return scalar_dot_loop();
  }
}

}  // namespace sotto::bench
