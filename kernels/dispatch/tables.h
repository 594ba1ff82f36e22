// The kernel table: one row per instruction set, with its transformer operations (kernels/kernels.h) and its linear
// layers (kernels/linear). Most operations are the same templates (kernels/generic) over each instruction set's
// vectors; int8 dot products are written for each.
#pragma once

#include "kernels/kernels.h"
#include "kernels/linear/int4.h"
#include "kernels/linear/int8.h"

namespace sotto {

struct InstructionSet {
  Isa isa;
  const char* name;
  const Kernels* ops;             // null if this build has none
  const Int8Kernels* int8;        // null if XNNPACK's kernels, or for kReference scalar code, multiply
  const Int4Kernels* int4;        // null if this build has none
  bool (*condition)() = nullptr;  // the row is skipped if this returns false
};

// Returns the row of an instruction set that this build contains, whether the CPU has it or not, or null if there is
// none.
const InstructionSet* find_row(Isa isa);

// Each folder of kernels defines the parts of its rows.
namespace reference {
extern const Int4Kernels kInt4;
}  // namespace reference

namespace avx2 {
extern const Kernels kTable;
extern const Int8Kernels kInt8;
extern const Int4Kernels kInt4;
void attention(const AttentionArgs& args);
}  // namespace avx2

namespace avxvnni {
extern const Int8Kernels kInt8;
}  // namespace avxvnni

namespace avx512 {
extern const Kernels kTable;
extern const Kernels kVnniTable;
extern const Kernels kAmxTable;
extern const Int8Kernels kInt8;
extern const Int4Kernels kInt4;
void attention(const AttentionArgs& args);
}  // namespace avx512

namespace avx512vnni {
extern const Int8Kernels kInt8;
extern const Int4Kernels kInt4;
void attention(const AttentionArgs& args);
void attention_rows(const AttentionRowsArgs& args);
}  // namespace avx512vnni

namespace avx512amx {
extern const Int8Kernels kInt8;
void attention_rows(const AttentionRowsArgs& args);
}  // namespace avx512amx

namespace neon {
extern const Kernels kTable;
extern const Kernels kDotprodTable;
extern const Kernels kI8mmTable;
extern const Int4Kernels kInt4;
void attention(const AttentionArgs& args);
}  // namespace neon

namespace neon_dotprod {
extern const Int4Kernels kInt4;
void attention(const AttentionArgs& args);
}  // namespace neon_dotprod

}  // namespace sotto
