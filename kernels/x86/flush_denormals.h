// For the unnamed namespace see kernels/generic/vector.h.
#pragma once

#include <immintrin.h>

namespace sotto {
namespace {

// Treats denormals as zero during its lifetime, as XNNPACK does.
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
}  // namespace sotto
