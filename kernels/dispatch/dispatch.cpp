// Chooses the table of kernels: what the build has and the CPU can run.
#include <span>

#include "kernels/dispatch/cpu_features.h"
#include "kernels/dispatch/tables.h"
#include "kernels/kernels.h"

namespace sotto {
namespace {

constexpr Isa kBestFirst[] = {Isa::kAvx512Amx, Isa::kAvx512Vnni,  Isa::kAvx512, Isa::kAvx2,
                              Isa::kNeonI8mm,  Isa::kNeonDotprod, Isa::kNeon,   Isa::kReference};

}  // namespace

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::kAuto:
      return "auto";
    case Isa::kReference:
      return "reference";
    case Isa::kAvx2:
      return "avx2";
    case Isa::kAvx512:
      return "avx512";
    case Isa::kAvx512Vnni:
      return "avx512vnni";
    case Isa::kNeon:
      return "neon";
    case Isa::kNeonDotprod:
      return "neon_dotprod";
    case Isa::kNeonI8mm:
      return "neon_i8mm";
    case Isa::kAvx512Amx:
      return "avx512amx";
  }
  return "unknown";
}

static const Kernels* find_among(std::span<const Isa> candidates) {
  const uint32_t supported = supported_isas();
  for (const Isa candidate : candidates) {
    const Kernels* table = built_table(candidate);
    if (table == nullptr || (supported & isa_bit(candidate)) == 0) continue;
    if (may_use(candidate)) return table;
  }
  return nullptr;
}

const Kernels* find_kernels(Isa isa) { return isa == Isa::kAuto ? find_among(kBestFirst) : find_among({&isa, 1}); }

const Kernels* find_vector_kernels() {
  static_assert(kBestFirst[0] == Isa::kAvx512Amx);
  return find_among(std::span(kBestFirst).subspan(1));
}

}  // namespace sotto
