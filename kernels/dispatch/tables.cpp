// The rows of the kernel table, and the selection of the best row that the build contains and the CPU can run.
#include "kernels/dispatch/tables.h"

#include "kernels/dispatch/cpu_features.h"
#include "kernels/reference/reference.h"

#if SOTTO_X86_64
#  define SOTTO_ROW_X86(...) __VA_ARGS__
#else
#  define SOTTO_ROW_X86(...) nullptr, nullptr, nullptr
#endif
#if SOTTO_ARM64
#  define SOTTO_ROW_ARM(...) __VA_ARGS__
#else
#  define SOTTO_ROW_ARM(...) nullptr, nullptr, nullptr
#endif
#if SOTTO_HAS_INT4
#  define SOTTO_ROW_INT4(kernels) kernels
#else
#  define SOTTO_ROW_INT4(kernels) nullptr
#endif

namespace sotto {
namespace {

// Returns whether kAvx2 may use AVX-VNNI. On a CPU with AVX-512 it does not, as in XNNPACK.
bool has_only_avx_vnni() { return has_avx_vnni() && (supported_isas() & isa_bit(Isa::kAvx512)) == 0; }

// The rows, from the best to the reference. Every build contains the names of all rows.
constexpr InstructionSet kInstructionSets[] = {
    {Isa::kAvx512amx, "avx512amx",
     SOTTO_ROW_X86(&avx512::kAmxTable, &avx512amx::kInt8, SOTTO_ROW_INT4(&avx512vnni::kInt4))},
    {Isa::kAvx512vnni, "avx512vnni",
     SOTTO_ROW_X86(&avx512::kVnniTable, &avx512vnni::kInt8, SOTTO_ROW_INT4(&avx512vnni::kInt4))},
    {Isa::kAvx512, "avx512", SOTTO_ROW_X86(&avx512::kTable, &avx512::kInt8, SOTTO_ROW_INT4(&avx512::kInt4))},
    {Isa::kAvx2, "avx2", SOTTO_ROW_X86(&avx2::kTable, &avxvnni::kInt8, SOTTO_ROW_INT4(&avx2::kInt4)),
     has_only_avx_vnni},
    {Isa::kAvx2, "avx2", SOTTO_ROW_X86(&avx2::kTable, &avx2::kInt8, SOTTO_ROW_INT4(&avx2::kInt4))},
    // Only int8 linear layers use the matrix instructions of i8mm.
    {Isa::kNeonI8mm, "neon_i8mm",
     SOTTO_ROW_ARM(&neon::kI8mmTable, &neon_i8mm::kInt8, SOTTO_ROW_INT4(&neon_dotprod::kInt4))},
    {Isa::kNeonDotprod, "neon_dotprod",
     SOTTO_ROW_ARM(&neon::kDotprodTable, &neon_dotprod::kInt8, SOTTO_ROW_INT4(&neon_dotprod::kInt4))},
    {Isa::kNeon, "neon", SOTTO_ROW_ARM(&neon::kTable, &neon::kInt8, SOTTO_ROW_INT4(&neon::kInt4))},
    {Isa::kReference, "reference", &reference::kTable, nullptr, SOTTO_ROW_INT4(&reference::kInt4)},
};

// Enables the first set that this build and this CPU have and that `is_wanted` accepts. Returns its operations, or null
// if there is no such set.
template <typename F>
const Kernels* enable_first(F is_wanted) {
  const uint32_t supported = supported_isas();
  for (const InstructionSet& set : kInstructionSets) {
    const bool is_available = set.ops != nullptr && (supported & isa_bit(set.isa)) != 0;
    if (is_wanted(set.isa) && is_available && enable_isa(set.isa)) return set.ops;
  }
  return nullptr;
}

}  // namespace

const char* isa_name(Isa isa) {
  if (isa == Isa::kAuto) return "auto";
  for (const InstructionSet& set : kInstructionSets) {
    if (set.isa == isa) return set.name;
  }
  return "unknown";
}

const InstructionSet* find_instruction_set(Isa isa) {
  for (const InstructionSet& set : kInstructionSets) {
    if (set.isa == isa && set.ops != nullptr && (set.condition == nullptr || set.condition())) return &set;
  }
  return nullptr;
}

const Kernels* find_kernels(Isa isa) {
  return enable_first([isa](Isa set) { return isa == Isa::kAuto || isa == set; });
}

const Kernels* find_vector_kernels() {
  return enable_first([](Isa set) { return set != Isa::kAvx512amx; });
}

}  // namespace sotto
