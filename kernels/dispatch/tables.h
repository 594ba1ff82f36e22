// The kernel table, with one row per instruction set. A row contains the operations of the transformer
// (kernels/kernels.h) and the linear layers (kernels/linear). Most operations are templates (kernels/generic), compiled
// for the vectors of each instruction set, whereas int8 dot products are written separately for each of them.
#pragma once

#include "kernels/kernels.h"
#include "kernels/linear/int4.h"
#include "kernels/linear/int8.h"

namespace sotto {

// A row of the kernel table.
struct InstructionSet {
  const Kernels* ops;
  const MatrixKernels* int8;      // null for kReference, where scalar code multiplies
  const MatrixKernels* int4;      // null if this build has no 4-bit layers
  bool (*condition)() = nullptr;  // if set, the row is used only if this returns true
  // If set, requests permission for the row from the operating system, and returns false if the request is denied. The
  // permission lasts until the process exits.
  bool (*enable)() = nullptr;
};

// Returns the row of an instruction set, or null if the build does not contain it. The CPU need not support it.
const InstructionSet* find_instruction_set(Isa isa);

#if defined(SOTTO_LOADED_KERNELS)
// Returns the row of a second WebAssembly module (kernels/wasm/relaxed_simd/module.cpp), or null. JavaScript defines
// this function.
__attribute__((import_module("sotto"), import_name("kernels"))) const InstructionSet* loaded_instruction_set();
#endif

// The contents of the rows. The directories of the instruction sets define them.
namespace avx2 {
extern const Kernels kOps;
extern const MatrixKernels kInt8;
extern const MatrixKernels kInt4;
void attention(const AttentionArgs& args);
}  // namespace avx2

namespace avxvnni {
extern const MatrixKernels kInt8;
}  // namespace avxvnni

namespace avx512 {
extern const Kernels kOps;
extern const MatrixKernels kInt8;
extern const MatrixKernels kInt4;
void attention(const AttentionArgs& args);
}  // namespace avx512

namespace avx512vnni {
extern const Kernels kOps;
extern const MatrixKernels kInt8;
extern const MatrixKernels kInt4;
void attention(const AttentionArgs& args);
void attention_rows(const AttentionRowsArgs& args);
}  // namespace avx512vnni

namespace avx512amx {
extern const Kernels kOps;
extern const MatrixKernels kInt8;
extern const MatrixKernels kInt4;
void attention_rows(const AttentionRowsArgs& args);
}  // namespace avx512amx

namespace neon {
extern const Kernels kOps;
extern const MatrixKernels kInt8;
extern const MatrixKernels kInt4;
void attention(const AttentionArgs& args);
}  // namespace neon

namespace neon_dotprod {
extern const Kernels kOps;
extern const MatrixKernels kInt8;
extern const MatrixKernels kInt4;
void attention(const AttentionArgs& args);
}  // namespace neon_dotprod

namespace neon_i8mm {
extern const Kernels kOps;
extern const MatrixKernels kInt8;
}  // namespace neon_i8mm

// The same with XNNPACK's microkernels, in builds that contain them.
namespace xnnpack {
extern const MatrixKernels kNeon;
extern const MatrixKernels kNeonDotprod;
extern const MatrixKernels kNeonI8mm;
}  // namespace xnnpack

namespace simd128 {
extern const Kernels kOps;
extern const MatrixKernels kInt8;
extern const MatrixKernels kInt4;
}  // namespace simd128

namespace relaxed_simd {
extern const Kernels kOps;
extern const MatrixKernels kInt8;
extern const MatrixKernels kInt4;
}  // namespace relaxed_simd

}  // namespace sotto
