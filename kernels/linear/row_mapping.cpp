// The map from the range of a row to int8.
#include "kernels/linear/row_mapping.h"

#include "kernels/reference/math.h"

namespace sotto {

RowMapping map_row(float lo, float hi) {
  const float range = hi - lo;
  const float scale = range == 0.0f ? 1.0f : range / 255.0f;
  const float inverse = range == 0.0f ? 1.0f : 255.0f / range;
  const int32_t zero_point = reference::round_to_int(reference::clamp(-128.0f - lo * inverse, -128.0f, 127.0f));
  return {.quantization = {zero_point, scale},
          .inverse = inverse,
          .low = static_cast<float>(-128 - zero_point),
          .high = static_cast<float>(127 - zero_point)};
}

}  // namespace sotto
