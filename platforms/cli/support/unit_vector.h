// Vectors of length 1.
#pragma once

#include <cmath>
#include <vector>

namespace sotto::cli {

// Scales a vector to length 1. A vector of zeros is unchanged.
inline void normalize(std::vector<float>& vector) {
  double sum = 0.0;
  for (const float value : vector) sum += static_cast<double>(value) * static_cast<double>(value);
  if (sum == 0.0) return;
  for (float& value : vector) value = static_cast<float>(static_cast<double>(value) / std::sqrt(sum));
}

}  // namespace sotto::cli
