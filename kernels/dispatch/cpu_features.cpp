// Detects instruction sets, in one section per architecture. x86-64: cpuid, and xgetbv for the registers that the
// operating system saves. arm64: the hardware capabilities that the kernel of Linux and Android reports, sysctl on
// Apple systems, and a function of Windows. wasm32: the module itself, and how it rounds.
#include "kernels/dispatch/cpu_features.h"

#if SOTTO_X86_64
#  include <cpuid.h>
#elif SOTTO_ARM64 && defined(__APPLE__)
#  include <sys/sysctl.h>

#  include <cstddef>
#elif SOTTO_ARM64 && defined(_WIN32)
#  include "kernels/windows_header.h"
#elif SOTTO_ARM64
#  include <sys/auxv.h>
#endif

namespace sotto {

#if SOTTO_X86_64

namespace {

constexpr bool has(uint32_t word, int bit) { return (word >> bit & 1) != 0; }

uint32_t saved_state() {
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

constexpr uint32_t kYmmState = 0x06;      // xmm and ymm
constexpr uint32_t kZmmState = 0xe6;      // the same, mask registers, upper halves of zmm, zmm16-31
constexpr uint32_t kTileState = 0x60000;  // the configuration and data of AMX tiles

}  // namespace

uint32_t supported_isas() {
  uint32_t isas = isa_bit(Isa::kReference);
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0) return isas;
  const bool fma = has(ecx, 12);
  const bool osxsave = has(ecx, 27);
  if (!osxsave || __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return isas;

  const uint32_t state = saved_state();
  const bool avx2 = fma && has(ebx, 5) && (state & kYmmState) == kYmmState;
  if (!avx2) return isas;
  isas |= isa_bit(Isa::kAvx2);

  const bool f = has(ebx, 16);
  const bool dq = has(ebx, 17);
  const bool bw = has(ebx, 30);
  const bool vl = has(ebx, 31);
  if (!(f && dq && bw && vl) || (state & kZmmState) != kZmmState) return isas;
  isas |= isa_bit(Isa::kAvx512);
  if (!has(ecx, 11)) return isas;
  isas |= isa_bit(Isa::kAvx512vnni);
  const bool amx_tile = has(edx, 24);
  const bool amx_int8 = has(edx, 25);
  if (amx_tile && amx_int8 && (state & kTileState) == kTileState) {
    isas |= isa_bit(Isa::kAvx512amx);
  }
  return isas;
}

bool has_avx_vnni() {
  uint32_t eax = 0;
  uint32_t ebx = 0;
  uint32_t ecx = 0;
  uint32_t edx = 0;
  return __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) != 0 && has(eax, 4);
}

#  if defined(__linux__)
bool request_tiles() {
  constexpr long kArchPrctl = 158;             // the number of this system call
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // ARCH_XCOMP_TILEDATA
  long result = kArchPrctl;
  __asm__ volatile("syscall" : "+a"(result) : "D"(kRequestPermission), "S"(kTileData) : "rcx", "r11", "memory");
  return result == 0;
}
#  else
bool request_tiles() { return false; }
#  endif

#elif SOTTO_ARM64 && defined(__APPLE__)

namespace {

bool has(const char* name) {
  int value = 0;
  size_t size = sizeof value;
  return sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}

}  // namespace

uint32_t supported_isas() {
  uint32_t isas = isa_bit(Isa::kReference) | isa_bit(Isa::kNeon);
  if (!has("hw.optional.arm.FEAT_DotProd")) return isas;
  isas |= isa_bit(Isa::kNeonDotprod);
  if (has("hw.optional.arm.FEAT_I8MM")) isas |= isa_bit(Isa::kNeonI8mm);
  return isas;
}

#elif SOTTO_ARM64 && defined(_WIN32)

uint32_t supported_isas() {
  // Values of <winnt.h>, which old versions of that header lack.
  constexpr uint32_t kDotProduct = 43;  // PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE
  constexpr uint32_t kInt8Matmul = 66;  // PF_ARM_V82_I8MM_INSTRUCTIONS_AVAILABLE
  uint32_t isas = isa_bit(Isa::kReference) | isa_bit(Isa::kNeon);
  if (!IsProcessorFeaturePresent(kDotProduct)) return isas;
  isas |= isa_bit(Isa::kNeonDotprod);
  if (IsProcessorFeaturePresent(kInt8Matmul)) isas |= isa_bit(Isa::kNeonI8mm);
  return isas;
}

#elif SOTTO_ARM64

uint32_t supported_isas() {
  // Values of <asm/hwcap.h>, some of which old versions of that header lack.
  constexpr unsigned long kHwcapDotProduct = 1ul << 20;
  constexpr unsigned long kHwcap2Int8Matmul = 1ul << 13;
  uint32_t isas = isa_bit(Isa::kReference) | isa_bit(Isa::kNeon);
  if ((getauxval(AT_HWCAP) & kHwcapDotProduct) == 0) return isas;
  isas |= isa_bit(Isa::kNeonDotprod);
  if ((getauxval(AT_HWCAP2) & kHwcap2Int8Matmul) != 0) isas |= isa_bit(Isa::kNeonI8mm);
  return isas;
}

#elif SOTTO_WASM32

// A module with unknown instructions is not valid, so a module that runs has all of its instructions.
uint32_t supported_isas() {
  const uint32_t isas = isa_bit(Isa::kReference) | isa_bit(Isa::kSimd128);
#  if defined(SOTTO_LOADED_KERNELS)
  return isas | isa_bit(Isa::kRelaxedSimd);  // a host loads their module only where it can run
#  elif SOTTO_RELAXED_SIMD
  if (relaxed_simd_is_exact()) return isas | isa_bit(Isa::kRelaxedSimd);
#  endif
  return isas;
}

#else

uint32_t supported_isas() { return isa_bit(Isa::kReference); }

#endif

#if !SOTTO_X86_64
bool has_avx_vnni() { return false; }
#endif

}  // namespace sotto
