// The ops of kernels/generic over AVX2 vectors.
#include "kernels/avx2/avx2.h"

#include "kernels/generic/elementwise.h"
#include "kernels/generic/gelu.h"
#include "kernels/generic/layer_norm.h"
#include "kernels/generic/quantize.h"
#include "kernels/generic/softmax.h"
#include "kernels/avx2/vector.h"

namespace sotto::avx2 {

void layer_norm(const float* x, const float* gain, const float* bias, float epsilon, size_t n,
                float* y) {
  generic::layer_norm<Vector>(x, gain, bias, epsilon, n, y);
}

void quantize_row(const float* x, size_t n, int8_t* q, RowQuantization* quantization) {
  generic::quantize_row<Vector>(x, n, q, quantization);
}

float quantize_symmetric(const float* x, size_t n, int8_t* q) {
  return generic::quantize_symmetric<Vector>(x, n, q);
}

void gelu_tanh(float* x, size_t n) { generic::gelu_tanh<Vector>(x, n); }

void gelu_erf(float* x, size_t n) { generic::gelu_erf<Vector>(x, n); }

void add(const float* x, size_t n, float* y) { generic::add<Vector>(x, n, y); }

void embed(const int8_t* q, float scale, const float* position, size_t n, float* y) {
  generic::embed<Vector>(q, scale, position, n, y);
}

float max(const float* x, size_t n) { return generic::max<Vector>(x, n); }

size_t argmax(const float* x, size_t n) { return generic::argmax<Vector>(x, n); }

float exp_shifted(const float* x, size_t n, float max, float* y) {
  return generic::exp_shifted<Vector>(x, n, max, y);
}

}  // namespace sotto::avx2
