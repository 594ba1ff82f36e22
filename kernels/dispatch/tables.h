// The tables this build contains. Most ops are the same templates (kernels/generic) over
// each instruction set's vectors; attention's int8 dot products are its own.
#pragma once

#include "kernels/kernels.h"

namespace sotto {

// Null where the build lacks the instruction set. One file an architecture.
const Kernels* built_table(Isa isa);

// kernels/avx2: AVX2 with FMA.
namespace avx2 {
extern const Kernels kTable;
void attention(const AttentionArgs& args);
}  // namespace avx2

// kernels/avx512: F, BW, DQ and VL.
namespace avx512 {
extern const Kernels kTable;
extern const Kernels kVnniTable;
extern const Kernels kAmxTable;
void attention(const AttentionArgs& args);
}  // namespace avx512

// kernels/avx512vnni: vpdpbusd multiplies int8.
namespace avx512vnni {
void attention(const AttentionArgs& args);
void attention_rows(const AttentionRowsArgs& args);
}  // namespace avx512vnni

// kernels/avx512amx: tile registers.
namespace avx512amx {
void attention_rows(const AttentionRowsArgs& args);
}  // namespace avx512amx

// kernels/neon: the baseline of arm64. Nothing here multiplies matrices, so i8mm has the ops
// of dotprod.
namespace neon {
extern const Kernels kTable;
extern const Kernels kDotprodTable;
extern const Kernels kI8mmTable;
void attention(const AttentionArgs& args);
}  // namespace neon

// kernels/neon_dotprod: sdot multiplies int8.
namespace neon_dotprod {
void attention(const AttentionArgs& args);
}  // namespace neon_dotprod

}  // namespace sotto
