// The sampling ops over a whole vocabulary.
#include "kernels/reference/math.h"
#include "kernels/reference/reference.h"

namespace sotto::reference {

uint64_t exp_weights(const float* x, size_t n, float max, float scale, float* y) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; ++i) {
    y[i] = x[i] >= max ? 1.0f : exp((x[i] - max) * scale);
    sum += to_fixed(y[i]);
  }
  return sum;
}

size_t keep_from(const float* key, float floor, const float* x, const int32_t* ids, int32_t first_id, size_t n,
                 float* kept_x, int32_t* kept_ids) {
  size_t kept = 0;
  for (size_t i = 0; i < n; ++i) {
    if (!(key[i] >= floor)) continue;
    kept_x[kept] = x[i];
    kept_ids[kept++] = ids != nullptr ? ids[i] : first_id + static_cast<int32_t>(i);
  }
  return kept;
}

Split split(const float* x, float floor, float ceiling, const float* weights, int32_t first, size_t n,
            int32_t* between) {
  Split result = {};
  for (size_t i = 0; i < n; ++i) {
    if (x[i] >= ceiling) {
      result.sum += to_fixed(weights[i]);
    } else if (x[i] >= floor) {
      between[result.collected++] = first + static_cast<int32_t>(i);
    }
  }
  return result;
}

}  // namespace sotto::reference
