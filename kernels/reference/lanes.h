// The 16 virtual lanes of a reduction: element i goes to lane i % 16, and the lanes are
// folded as a tree.
#pragma once

#include <cstddef>

#include "kernels/math.h"

namespace sotto::reference {

class Lanes {
 public:
  // The lane of element `i`; lanes begin at 0.
  float& operator[](size_t i) { return values_[i % kLanes]; }

  float fold() const {
    float v[kLanes];
    for (int j = 0; j < kLanes; ++j) v[j] = values_[j];
    for (int half = kLanes / 2; half > 0; half /= 2) {
      for (int j = 0; j < half; ++j) v[j] = v[j] + v[j + half];
    }
    return v[0];
  }

 private:
  float values_[kLanes] = {};
};

}  // namespace sotto::reference
