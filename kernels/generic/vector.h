// Loops over arrays in blocks of 16 elements, one per virtual lane, and the elementary functions of kernels/math.h for
// a block.
//
// In this directory, `V` is the vector of 16 floats of an instruction set, for example in kernels/x86/avx2/vector.h.
//
// Files compiled for different instruction sets must never share a function, because the linker would keep only one
// copy, perhaps one that the CPU cannot run. A header that is compiled for several instruction sets therefore puts
// everything into the namespace SOTTO_ISA, a macro with the name of the including file's instruction set. The vectors
// are also in unnamed namespaces, so that their functions are local to each file.
//
// Constructors that use intrinsics are written out, because the amalgamation (platforms/amalgamation) compiles a region
// of one file per instruction set, and functions that the compiler generates belong to no region.
#pragma once

#include <cstddef>

#include "kernels/math.h"

namespace sotto::SOTTO_ISA::generic {

struct Whole {};  // a block of 16 elements

struct Part {  // The first `count` of 16 elements. Loads set the others to 0.
  size_t count;
};

// Calls body(i, Whole or Part) for each block, where i is the index of its first element.
template <class V, class Body>
inline void for_each_block(size_t n, Body&& body) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, Whole{});
  if (i < n) body(i, Part{n - i});
}

template <class V>
inline V exp(V x) {
  const V magic = V::broadcast(kRoundToInteger);
  const V t = fma(x, V::broadcast(kLog2E), magic);
  const V minus_n = magic - t;
  V r = fma(minus_n, V::broadcast(kLn2High), x);
  r = fma(minus_n, V::broadcast(kLn2Low), r);
  V p = V::broadcast(kExp[6]);
  p = fma(p, r, V::broadcast(kExp[5]));
  p = fma(p, r, V::broadcast(kExp[4]));
  p = fma(p, r, V::broadcast(kExp[3]));
  p = fma(p, r, V::broadcast(kExp[2]));
  p = fma(p, r, V::broadcast(kExp[1]));
  p = fma(p, r, V::broadcast(kExp[0]));
  return select_ge(x, V::broadcast(kExpMin), scale(p, t), V::zero());
}

template <class V>
inline V exp_or_infinity(V x) {
  return select_ge(V::broadcast(kExpMax), x, exp(x), V::broadcast(__builtin_inff()));
}

template <class V>
inline V clamp(V x, V low, V high) {
  return min(max(x, low), high);
}

}  // namespace sotto::SOTTO_ISA::generic
