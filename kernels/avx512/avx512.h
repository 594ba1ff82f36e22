// x86-64 with AVX-512 F, BW, DQ and VL.
#pragma once

#include "kernels/kernels.h"

namespace sotto::avx512 {

void layer_norm(const float* x, const float* gain, const float* bias, float epsilon, size_t n,
                float* y);
void quantize_row(const float* x, size_t n, int8_t* q, RowQuantization* quantization);
float quantize_symmetric(const float* x, size_t n, int8_t* q);
void gelu_tanh(float* x, size_t n);
void gelu_erf(float* x, size_t n);
void add(const float* x, size_t n, float* y);
void embed(const int8_t* q, float scale, const float* position, size_t n, float* y);
void attention(const AttentionArgs& args);
float max(const float* x, size_t n);
size_t argmax(const float* x, size_t n);
float exp_shifted(const float* x, size_t n, float max, float* y);

inline constexpr Kernels kTable = {
    .isa = Isa::kAvx512,
    .layer_norm = layer_norm,
    .quantize_row = quantize_row,
    .quantize_symmetric = quantize_symmetric,
    .gelu_tanh = gelu_tanh,
    .gelu_erf = gelu_erf,
    .add = add,
    .embed = embed,
    .attention = attention,
    .max = max,
    .argmax = argmax,
    .exp_shifted = exp_shifted,
};

}  // namespace sotto::avx512
