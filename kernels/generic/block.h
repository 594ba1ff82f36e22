// Walks arrays in blocks of 16 elements, one a virtual lane. `V`, in everything here, is
// an instruction set's vector of 16 floats (for example kernels/x86/avx2/vector.h), whose
// types are local to the file that includes it: no instance is shared between files
// compiled for different instruction sets.
#pragma once

#include <cstddef>

#include "kernels/math.h"

namespace sotto::generic {

struct Whole {};  // a block of 16

struct Part {  // the first `count` of 16; loads leave 0 in the rest
  size_t count;
};

// Calls body(i, Whole or Part) for each block; i is the index of its first element.
template <class V, class Body>
inline void for_each_block(size_t n, Body&& body) {
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) body(i, Whole{});
  if (i < n) body(i, Part{n - i});
}

}  // namespace sotto::generic
