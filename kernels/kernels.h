// The operations of the transformer, of greedy selection and of the default sampler chain, each with its contract.
// Every instruction set implements them with the same bits as kernels/reference.
//
// The section "Equal bits" of kernels/README.md has the rules that ensure this, and describes the 16 virtual lanes in
// which every float reduction runs. Rounding is to nearest, ties to even.
//
// Inputs are finite unless a comment says otherwise; other inputs give unspecified numbers but never a fault. Pointers
// need no alignment, and arrays do not overlap unless a comment allows it. A comment such as (slot, row_stride) is the
// shape of an array, with the outermost dimension first.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/generated/isa.h"
#include "kernels/sizes.h"

namespace sotto {

// Returns the public name of an instruction set. The values are consecutive from 0; any other value gives "unknown".
const char* isa_name(Isa isa);

// The affine quantization of a row: x ~ (q - zero_point) * scale. The layout equals XNNPACK's
// xnn_qd8_quantization_params, so that its microkernels can read an array of them.
struct RowQuantization {
  int32_t zero_point;
  float scale;
};

// Consecutive slots of a KV ring.
struct SlotSpan {
  uint32_t first;
  uint32_t count;
};

// A query of one head, and the slots that the query attends to.
struct AttentionArgs {
  const float* query;         // (head_size)
  const int8_t* keys;         // (slot, row_stride), zero beyond head_size
  const float* key_scales;    // (slot)
  const int8_t* values;       // (slot, row_stride), zero beyond head_size
  const float* value_scales;  // (slot)
  size_t head_size;           // 1 ... kMaxHeadSize
  size_t row_stride;          // head_size rounded up to kHeadAlignment
  float score_scale;          // 1/sqrt(head_size)
  const SlotSpan* spans;      // in the order of the tokens, oldest first
  size_t span_count;          // at least one
  float* scores;              // scratch memory: one float per slot of the spans
  float* output;              // (head_size)
  // The keys that will probably be read next, in the same spans, for prefetching; or null.
  const int8_t* next_keys = nullptr;
};

// Rows of keys and values are padded to a multiple of kHeadAlignment bytes, so that kernels read whole blocks, and
// heads are limited, so that kernels can keep a query in an array of fixed size.
inline constexpr size_t kHeadAlignment = 16;
inline constexpr size_t kMaxHeadSize = 256;

// Queries of one head for consecutive tokens. Row r attends to slots 0 ... slot_count - 1 + r.
struct AttentionRowsArgs {
  const float* queries;  // (row), query_stride apart
  size_t query_stride;
  size_t row_count;    // 1 ... kAttentionRows
  size_t slot_count;   // at least 1
  const int8_t* keys;  // the members from here to score_scale are as in AttentionArgs
  const float* key_scales;
  const int8_t* values;
  const float* value_scales;
  size_t head_size;
  size_t row_stride;
  float score_scale;
  float* scores;   // scratch memory: attention_score_count() floats, for the slots of the last row
  float* outputs;  // (row), output_stride apart
  size_t output_stride;

  // Returns the number of slots that a row attends to.
  size_t slots_of(size_t row) const { return slot_count + row; }
};

// Number of rows in a group, one per virtual lane. Rows are processed group by group, and full groups take the least
// time per row.
inline constexpr size_t kAttentionGroupRows = 16;
inline constexpr size_t kAttentionRows = 3 * kAttentionGroupRows;

// The distance in bytes at which weights, keys and values are prefetched: two pages, since the hardware prefetcher
// stops at the end of a page.
inline constexpr size_t kPrefetchDistance = 8192;

constexpr size_t attention_score_count(size_t row_count, size_t slot_count) {
  return align_up(row_count, kAttentionGroupRows) * slot_count;
}

// A sum of weights, and the number of elements that were collected (Kernels::sum_and_collect).
struct CollectedSum {
  uint64_t sum;
  size_t collected;
};

// The activation functions of feed-forward layers, as X(value of Activation, function). kernels/math.h defines them:
//   gelu_tanh: x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) (Hendrycks and Gimpel 2016)
//   gelu_erf: x/2 (1 + erf(x/sqrt 2)); relu: max(x, 0); silu: x / (1 + exp(-x))
//   tanh: tanh(x); quick_gelu: x / (1 + exp(-1.702 x)); squared_relu: max(x, 0)^2
// Model files contain the values. They count from 0 in this order.
#define SOTTO_ACTIVATIONS(X) \
  X(kGeluTanh, gelu_tanh)    \
  X(kGeluErf, gelu_erf)      \
  X(kRelu, relu)             \
  X(kSilu, silu)             \
  X(kTanh, tanh)             \
  X(kQuickGelu, quick_gelu)  \
  X(kSquaredRelu, squared_relu)

enum class Activation : uint8_t {
#define SOTTO_ACTIVATION(value, function) value,
  SOTTO_ACTIVATIONS(SOTTO_ACTIVATION)
#undef SOTTO_ACTIVATION
};
#define SOTTO_ACTIVATION(value, function) +1
inline constexpr size_t kActivationCount = 0 SOTTO_ACTIVATIONS(SOTTO_ACTIVATION);
#undef SOTTO_ACTIVATION

// The operations of one instruction set.
struct Kernels {
  Isa isa;

  // Layer normalization (Ba et al. 2016), y = (x - mean) / sqrt(variance + epsilon) * gain + bias, computed as:
  //   mean = sum(x) / n; d = x - mean; variance = (sum of fma(d, d, .)) / n;
  //   r = 1 / sqrt(variance + epsilon); y = fma(d * r, gain, bias)
  // y may be x.
  void (*layer_norm)(const float* x, const float* gain, const float* bias, float epsilon, size_t n, float* y);

  // Quantizes a row to asymmetric int8:
  //   lo = min(0, min x); hi = max(0, max x); scale = (hi - lo) / 255; inverse = 255 / (hi - lo);
  //   zero_point = clamp(round(-128 - lo * inverse), -128, 127);
  //   q = round(clamp(x * inverse, -128 - zero_point, 127 - zero_point)) + zero_point
  // If lo = hi, scale and inverse are 1. NaN counts as the lower bound.
  void (*quantize_row)(const float* x, size_t n, int8_t* q, RowQuantization* quantization);

  // Quantizes the vector of a head to symmetric int8 and returns the scale m / 127, where m = max |x|:
  //   q = round(clamp(x * (127 / m), -127, 127))
  // If m = 0, all q and the result are 0.
  float (*quantize_symmetric)(const float* x, size_t n, int8_t* q);

  // Replaces x by its activation. NaN stays NaN.
  void activate(Activation activation, float* x, size_t n) const { activations[static_cast<size_t>(activation)](x, n); }
  void (*activations[kActivationCount])(float* x, size_t n);

  // Computes y += x.
  void (*add)(const float* x, size_t n, float* y);

  // Computes y = fma(q, scale, position): a token's embedding at a position.
  void (*embed)(const int8_t* q, float scale, const float* position, size_t n, float* y);

  // Attention of one query (Vaswani et al. 2017), output = softmax(query . keys * score_scale) . values. With the query
  // quantized by quantize_symmetric to the scale s, it is computed as:
  //   score_t = float(dot_t) * ((s * score_scale) * key_scale_t); m = max score;
  //   p_t = exp(score_t - m); w_t = p_t * value_scale_t;
  //   output_d = (sum over t in order, from 0, of fma(w_t, value_t_d, .)) * (1 / sum p)
  // For the lanes of sum p, slots are numbered consecutively through all spans. There must be at least one slot.
  void (*attention)(const AttentionArgs& args);

  // Computes attention() for every row.
  void (*attention_rows)(const AttentionRowsArgs& args);

  // Returns the largest element of x (n > 0). NaN is ignored; if all elements are NaN, the result is -infinity.
  float (*max)(const float* x, size_t n);

  // Returns the lowest index of the largest element of x (n > 0). NaN is ignored; if all elements are NaN, the result
  // is 0.
  size_t (*argmax)(const float* x, size_t n);

  // Computes y_i = exp(x_i - max) and returns their sum. No x_i may exceed max; -infinity gives 0. y may be x. If y is
  // null, only the sum is computed.
  float (*exp_shifted)(const float* x, size_t n, float max, float* y);

  // Computes weights (unnormalized probabilities): y_i = 1 if x_i = max, and exp((x_i - max) * scale) otherwise.
  // Returns the sum of to_fixed(y_i) (kernels/math.h). No x_i may exceed max; -infinity and NaN give 0. y may be x.
  uint64_t (*exp_weights)(const float* x, size_t n, float max, float scale, float* y);

  // Keeps the elements with key_i >= floor (so no NaN), in order, and returns their number. Writes x_i to kept_x, and
  // ids_i to kept_ids, or first_id + i if ids is null. kept_x and kept_ids must have capacity for n elements, and those
  // after the kept ones may be overwritten. kept_x and kept_ids may be the same arrays as x and ids, or as key.
  size_t (*keep_from)(const float* key, float floor, const float* x, const int32_t* ids, int32_t first_id, size_t n,
                      float* kept_x, int32_t* kept_ids);

  // Sums the elements above one bound and collects those between two bounds. Elements with x_i >= ceiling add
  // to_fixed(weight_i) to the sum; weights are from 0 to 1. For elements with floor <= x_i < ceiling, writes first + i
  // to `indices`, in ascending order. If the ceiling is NaN, nothing is summed, and all elements with x_i >= floor are
  // collected. `indices` must have capacity for n elements. Those after the collected ones may be overwritten. It may
  // be null if floor >= ceiling.
  CollectedSum (*sum_and_collect)(const float* x, float floor, float ceiling, const float* weights, int32_t first,
                                  size_t n, int32_t* indices);
};

// Returns the operations of an instruction set, or null if this build, this CPU or the operating system does not have
// it, which cannot happen for kReference. kAuto means the best one that can run here. Requests permission for a set
// from the operating system if it needs one (InstructionSet::enable). Even the size of a model's memory requires this
// request, because only the answer shows which set, and so which layout of the weights, the model can use.
const Kernels* find_kernels(Isa isa);

// Like find_kernels(Isa::kAuto), but never requests permission from the operating system. For work without a model,
// this loses no speed, because kAvx512amx differs from kAvx512vnni only in attention_rows and in linear layers.
const Kernels* find_vector_kernels();

}  // namespace sotto
