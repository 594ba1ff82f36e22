// The mapping from the range of a row to int8, compiled only once for all instruction sets.
#pragma once

#include "kernels/kernels.h"

namespace sotto {

// Computes q = round(clamp(x * inverse, low, high)) + zero_point.
struct RowMapping {
  RowQuantization quantization;
  float inverse;
  float low;
  float high;
};

// Returns the mapping that Kernels::quantize_row defines, for lo <= 0 <= hi.
RowMapping map_row(float lo, float hi);

}  // namespace sotto
