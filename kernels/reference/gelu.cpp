// Gaussian error linear units (Hendrycks and Gimpel 2016), as in kernels/math.h.
#include <cmath>

#include "kernels/reference/math.h"
#include "kernels/reference/reference.h"

namespace sotto::reference {

void gelu_tanh(float* x, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const float s = x[i] * x[i];
    const float u = x[i] * std::fma(s, kGeluCubic, kGeluLinear);
    x[i] = x[i] / (1.0f + exp_or_infinity(u));
  }
}

void gelu_erf(float* x, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const float a = std::fabs(x[i]);
    const float t = 1.0f / std::fma(a, kErfcSlope, 1.0f);
    float p = kErfc[8];
    for (int k = 7; k >= 0; --k) p = std::fma(p, t, kErfc[k]);
    const float e = (p * t) * exp((x[i] * x[i]) * -0.5f);
    x[i] = (x[i] > 0.0f ? x[i] : 0.0f) - (a * 0.5f) * e;
  }
}

}  // namespace sotto::reference
