// Chooses the table of kernels: what the build has and the CPU can run.
#include "kernels/cpu_features.h"
#include "kernels/kernels.h"
#include "kernels/tables.h"

namespace sotto {
namespace {

constexpr Isa kBestFirst[] = {Isa::kAvx512Vnni,  Isa::kAvx512, Isa::kAvx2,     Isa::kNeonI8mm,
                              Isa::kNeonDotprod, Isa::kNeon,   Isa::kReference};

}  // namespace

const char* isa_name(Isa isa) {
  switch (isa) {
    case Isa::kAuto: return "auto";
    case Isa::kReference: return "reference";
    case Isa::kAvx2: return "avx2";
    case Isa::kAvx512: return "avx512";
    case Isa::kAvx512Vnni: return "avx512vnni";
    case Isa::kNeon: return "neon";
    case Isa::kNeonDotprod: return "neon_dotprod";
    case Isa::kNeonI8mm: return "neon_i8mm";
  }
  return "unknown";
}

const Kernels* find_kernels(Isa isa) {
  const uint32_t supported = supported_isas();
  for (const Isa candidate : kBestFirst) {
    if (isa != Isa::kAuto && isa != candidate) continue;
    const Kernels* table = built_table(candidate);
    if (table != nullptr && (supported & isa_bit(candidate)) != 0) return table;
  }
  return nullptr;
}

}  // namespace sotto
