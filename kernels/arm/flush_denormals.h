// Control of denormals on AArch64. kernels/generic/vector.h explains the unnamed namespace.
#pragma once

#include <cstdint>

namespace sotto::SOTTO_ISA {
namespace {

// Makes the CPU treat denormals as zero while in scope, as XNNPACK's operators do.
class FlushDenormals {
 public:
  FlushDenormals() {
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    set(before_ | kFlushToZero);
  }
  ~FlushDenormals() { set(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  static constexpr uint64_t kFlushToZero = uint64_t{1} << 24;
  static void set(uint64_t fpcr) { asm volatile("msr fpcr, %0" : : "r"(fpcr) : "memory"); }

  uint64_t before_;
};

}  // namespace
}  // namespace sotto::SOTTO_ISA
