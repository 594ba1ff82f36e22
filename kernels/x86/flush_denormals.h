// Control of denormals on x86-64. kernels/generic/vector.h explains the unnamed namespace.
#pragma once

#include <immintrin.h>

namespace sotto::SOTTO_ISA {
namespace {

// Enables flush-to-zero and denormals-are-zero while in scope, as XNNPACK does.
class FlushDenormals {
 public:
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~FlushDenormals() { _mm_setcsr(before_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  unsigned before_;
};

}  // namespace
}  // namespace sotto::SOTTO_ISA
