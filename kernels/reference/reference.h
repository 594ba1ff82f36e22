// The scalar ops: their meaning, and the table of CPUs nothing better was written for.
#pragma once

#include "kernels/dispatch/op_choice.h"
#include "kernels/generic/attention_rows.h"
#include "kernels/kernels.h"

namespace sotto::reference {

void layer_norm(const float* x, const float* gain, const float* bias, float epsilon, size_t n, float* y);
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
uint64_t exp_weights(const float* x, size_t n, float max, float scale, float* y);
void exp_shares(const float* x, size_t n, float max, float scale, float* y);
size_t keep_from(const float* key, float floor, const float* x, const int32_t* ids, int32_t first_id, size_t n,
                 float* kept_x, int32_t* kept_ids);
Split split(const float* x, float floor, float ceiling, const float* values, double base, int32_t first, size_t n,
            int32_t* between);
void nearness(const float* x, size_t n, float max, float scale, float center, float* y);
double sum_gaps(const float* x, const float* y, size_t n, float max, float scale);
double sum_bends(const float* p, size_t n);
void sum_bends_twice(const float* p, size_t n, double sums[2]);
FiniteSum sum_finite(const float* x, size_t n, double shift, bool squares);
void smooth(float* x, size_t n, float max, double square, double cube);
void aim(const float* shares, size_t n, float scale, float goal, float* p, float* x);
uint64_t surprises(const float* x, const float* shares, size_t n, float max, float scale, float offset, double base,
                   float* y);
size_t collect_below(const uint32_t* words, const float* y, float factor, int32_t first, size_t n, int32_t* below);
void mix_words(uint64_t seed, bool high, const int32_t* ids, int32_t first_id, size_t n, uint32_t* words);
void mix_and_add(uint64_t seed, bool high, const int32_t* ids, int32_t first_id, uint32_t bits, const float* p,
                 size_t n, uint32_t* words, float* sums);
void scale_by_bits(const uint32_t* words, uint32_t shift, uint32_t bits, const float* low, const float* high,
                   float least, size_t n, const float* p, float* y);
void scale_and_add(const uint32_t* words, uint32_t shift, uint32_t bits, const float* low, const float* high,
                   float least, uint32_t next_bits, size_t n, const float* p, float* y, float* sums);
size_t collect_by_bits(const uint32_t* words, uint32_t shift, uint32_t bits, uint32_t pattern, int32_t first, size_t n,
                       int32_t* collected);
void slice_numbers(const float* x, size_t n, const Slices& slices, uint16_t* numbers);
size_t move_to_columns(const float* x, size_t n, const Slices& slices, float* table, size_t stride, uint8_t* counts,
                       LeftShare* left);
size_t sort_columns(const float* x, size_t stride, const uint8_t* counts, float* sorted);
double sum_column_bends(const float* x, size_t stride, const uint8_t* counts, float next[2]);
void min_hash(const MinHash& hash, const int32_t* ids, int32_t first_id, size_t n, int32_t* hashes);

inline constexpr Kernels kTable = {
    .isa = Isa::kReference,
    .layer_norm = layer_norm,
    .quantize_row = quantize_row,
    .quantize_symmetric = quantize_symmetric,
    .gelu_tanh = gelu_tanh,
    .gelu_erf = gelu_erf,
    .add = add,
    .embed = embed,
    .attention = attention,
    .attention_rows = generic::attention_rows<attention>,
    .max = max,
    .argmax = argmax,
    .exp_shifted = exp_shifted,
    .exp_weights = exp_weights,
    .exp_shares = kHasSamplerOps || kHasWatermarkOps ? exp_shares : nullptr,
    .keep_from = keep_from,
    .split = split,
    .nearness = kHasSamplerOps ? nearness : nullptr,
    .sum_gaps = sum_gaps,
    .sum_bends = kHasSamplerOps ? sum_bends : nullptr,
    .sum_bends_twice = kHasSamplerOps ? sum_bends_twice : nullptr,
    .sum_finite = sum_finite,
    .smooth = smooth,
    .aim = aim,
    .surprises = kHasSamplerOps ? surprises : nullptr,
    .collect_below = collect_below,
    .mix_words = mix_words,
    .mix_and_add = kHasWatermarkOps ? mix_and_add : nullptr,
    .scale_by_bits = kHasWatermarkOps ? scale_by_bits : nullptr,
    .scale_and_add = kHasWatermarkOps ? scale_and_add : nullptr,
    .collect_by_bits = kHasWatermarkOps ? collect_by_bits : nullptr,
    .slice_numbers = kHasSamplerOps ? slice_numbers : nullptr,
    .move_to_columns = kHasSamplerOps ? move_to_columns : nullptr,
    .sort_columns = kHasSamplerOps ? sort_columns : nullptr,
    .sum_column_bends = kHasSamplerOps ? sum_column_bends : nullptr,
    .min_hash = kHasWatermarkOps ? min_hash : nullptr,
};

}  // namespace sotto::reference
