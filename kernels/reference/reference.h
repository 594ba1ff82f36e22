// The operations in scalar code, which defines their results, and the kernel table for CPUs without other kernels.
#pragma once

#include "kernels/kernels.h"
#include "kernels/reference/attention_rows.h"

namespace sotto::reference {

void layer_norm(const float* x, const float* gain, const float* bias, float epsilon, size_t n, float* y);
void quantize_row(const float* x, size_t n, int8_t* q, RowQuantization* quantization);
float quantize_symmetric(const float* x, size_t n, int8_t* q);
#define SOTTO_ACTIVATION(value, function) void function(float* x, size_t n);
SOTTO_ACTIVATIONS(SOTTO_ACTIVATION)
#undef SOTTO_ACTIVATION
void add(const float* x, size_t n, float* y);
void embed(const int8_t* q, float scale, const float* position, size_t n, float* y);
void attention(const AttentionArgs& args);
float max(const float* x, size_t n);
size_t argmax(const float* x, size_t n);
float exp_shifted(const float* x, size_t n, float max, float* y);
uint64_t exp_weights(const float* x, size_t n, float max, float scale, float* y);
size_t keep_from(const float* key, float floor, const float* x, const int32_t* ids, int32_t first_id, size_t n,
                 float* kept_x, int32_t* kept_ids);
CollectedSum sum_and_collect(const float* x, float floor, float ceiling, const float* weights, int32_t first, size_t n,
                             int32_t* indices);

inline constexpr Kernels kOps = {
    .isa = Isa::kReference,
    .layer_norm = layer_norm,
    .quantize_row = quantize_row,
    .quantize_symmetric = quantize_symmetric,
#define SOTTO_ACTIVATION(value, function) function,
    .activations = {SOTTO_ACTIVATIONS(SOTTO_ACTIVATION)},
#undef SOTTO_ACTIVATION
    .add = add,
    .embed = embed,
    .attention = attention,
    .attention_rows = attention_rows<attention>,
    .max = max,
    .argmax = argmax,
    .exp_shifted = exp_shifted,
    .exp_weights = exp_weights,
    .keep_from = keep_from,
    .sum_and_collect = sum_and_collect,
};

}  // namespace sotto::reference
