// The rows of the kernel table, and the selection of the best row that the build contains and the CPU can run.
#include "kernels/dispatch/tables.h"

#include <span>

#include "kernels/dispatch/cpu_features.h"
#include "kernels/linear/reference.h"
#include "kernels/reference/reference.h"

namespace sotto {
namespace {

// Returns whether kAvx2 uses AVX-VNNI: only on CPUs without AVX-512, as in XNNPACK.
[[maybe_unused]] bool has_only_avx_vnni() { return has_avx_vnni() && (supported_isas() & isa_bit(Isa::kAvx512)) == 0; }

constexpr const MatrixKernels* int4(const MatrixKernels* kernels) { return SOTTO_HAS_INT4 ? kernels : nullptr; }

// Returns the int8 kernels of an instruction set of ARM.
[[maybe_unused]] constexpr const MatrixKernels* int8(const MatrixKernels* own, const MatrixKernels* xnnpack) {
  return SOTTO_XNNPACK ? xnnpack : own;
}

// The rows of this build, from the best to the reference.
constexpr InstructionSet kInstructionSets[] = {
#if SOTTO_X86_64
    {&avx512amx::kOps, &avx512amx::kInt8, int4(&avx512amx::kInt4), nullptr, request_tiles},
    {&avx512vnni::kOps, &avx512vnni::kInt8, int4(&avx512vnni::kInt4)},
    {&avx512::kOps, &avx512::kInt8, int4(&avx512::kInt4)},
    {&avx2::kOps, &avxvnni::kInt8, int4(&avx2::kInt4), has_only_avx_vnni},
    {&avx2::kOps, &avx2::kInt8, int4(&avx2::kInt4)},
#elif SOTTO_ARM64
    // Only int8 linear layers use the matrix instructions of i8mm.
    {&neon_i8mm::kOps, int8(&neon_i8mm::kInt8, &xnnpack::kNeonI8mm), int4(&neon_dotprod::kInt4)},
    {&neon_dotprod::kOps, int8(&neon_dotprod::kInt8, &xnnpack::kNeonDotprod), int4(&neon_dotprod::kInt4)},
    {&neon::kOps, int8(&neon::kInt8, &xnnpack::kNeon), int4(&neon::kInt4)},
#elif SOTTO_WASM32
#  if SOTTO_RELAXED_SIMD
    {&relaxed_simd::kOps, &relaxed_simd::kInt8, int4(&relaxed_simd::kInt4)},
#  endif
    {&simd128::kOps, &simd128::kInt8, int4(&simd128::kInt4)},
#endif
    {&reference::kOps, nullptr, int4(&reference::kInt4)},
};

// Returns the first row that `is_wanted` accepts, or null.
template <typename F>
const InstructionSet* find_first(F is_wanted) {
#if defined(SOTTO_LOADED_KERNELS)
  const InstructionSet* loaded = loaded_instruction_set();
  if (loaded != nullptr && is_wanted(*loaded)) return loaded;
#endif
  for (const InstructionSet& set : kInstructionSets) {
    if (is_wanted(set)) return &set;
  }
  return nullptr;
}

// Enables the first row that this CPU supports and that `is_wanted` accepts, and returns its operations, or null if
// there is no such row.
template <typename F>
const Kernels* enable_first(F is_wanted) {
  const uint32_t supported = supported_isas();
  const InstructionSet* first = find_first([&](const InstructionSet& set) {
    const bool is_supported = (supported & isa_bit(set.ops->isa)) != 0;
    return is_supported && is_wanted(set) && (set.enable == nullptr || set.enable());
  });
  return first == nullptr ? nullptr : first->ops;
}

}  // namespace

const char* isa_name(Isa isa) {
  const auto number = static_cast<size_t>(isa);
  return number < std::size(kIsaNames) ? kIsaNames[number] : "unknown";
}

const InstructionSet* find_instruction_set(Isa isa) {
  return find_first([isa](const InstructionSet& set) {
    return set.ops->isa == isa && (set.condition == nullptr || set.condition());
  });
}

LinearKernels linear_kernels(Isa isa) {
  const InstructionSet* set = find_instruction_set(isa);
  return set == nullptr ? LinearKernels() : LinearKernels{set->int8, set->int4};
}

const Kernels* find_kernels(Isa isa) {
  return enable_first([isa](const InstructionSet& set) { return isa == Isa::kAuto || isa == set.ops->isa; });
}

const Kernels* find_vector_kernels() {
  return enable_first([](const InstructionSet& set) { return set.enable == nullptr; });
}

}  // namespace sotto
