// The operations of kernels/kernels.h in scalar code, which defines their results.
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

#include "kernels/math.h"
#include "kernels/reference/reference.h"
#include "kernels/reference/row_mapping.h"

namespace sotto {
namespace reference {
namespace {

// The functions of kernels/math.h for a single number, and the lanes of a reduction.

float exp(float x) {
  if (!(x >= kExpMin)) return 0.0f;
  const float t = std::fma(x, kLog2E, kRoundToInteger);
  const float n = t - kRoundToInteger;
  float r = std::fma(-n, kLn2High, x);
  r = std::fma(-n, kLn2Low, r);
  float p = kExp[6];
  for (int k = 5; k >= 0; --k) p = std::fma(p, r, kExp[k]);
  return p * std::bit_cast<float>((std::bit_cast<uint32_t>(t) + kExponentBias) << 23);
}

float exp_or_infinity(float x) { return x <= kExpMax ? exp(x) : std::numeric_limits<float>::infinity(); }

float clamp(float x, float low, float high) {
  const float y = x > low ? x : low;
  return y < high ? y : high;
}

// Requires |x| < 2^22.
int32_t round_to_int(float x) { return static_cast<int32_t>((x + kRoundToInteger) - kRoundToInteger); }

// The lanes of a reduction (kernels/math.h).
class Lanes {
 public:
  // Returns the lane of element `i`. Lanes start at 0.
  float& operator[](size_t i) { return values_[i % kLanes]; }

  float fold() { return fold_lanes(values_); }

 private:
  float values_[kLanes] = {};
};

}  // namespace
}  // namespace reference

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

namespace reference {

// Layer normalization (Ba et al. 2016).
void layer_norm(const float* x, const float* gain, const float* bias, float epsilon, size_t n, float* y) {
  const float count = static_cast<float>(n);
  Lanes sum;
  for (size_t i = 0; i < n; ++i) sum[i] = sum[i] + x[i];
  const float mean = sum.fold() / count;

  Lanes squares;
  for (size_t i = 0; i < n; ++i) {
    const float d = x[i] - mean;
    squares[i] = std::fma(d, d, squares[i]);
  }
  const float variance = squares.fold() / count;
  const float r = 1.0f / std::sqrt(variance + epsilon);

  for (size_t i = 0; i < n; ++i) y[i] = std::fma((x[i] - mean) * r, gain[i], bias[i]);
}

void quantize_row(const float* x, size_t n, int8_t* q, RowQuantization* quantization) {
  float lo = 0.0f;
  float hi = 0.0f;
  for (size_t i = 0; i < n; ++i) {
    if (x[i] < lo) lo = x[i];
    if (x[i] > hi) hi = x[i];
  }
  const RowMapping mapping = map_row(lo, hi);
  *quantization = mapping.quantization;
  for (size_t i = 0; i < n; ++i) {
    const float scaled = clamp(x[i] * mapping.inverse, mapping.low, mapping.high);
    q[i] = static_cast<int8_t>(round_to_int(scaled) + mapping.quantization.zero_point);
  }
}

float quantize_symmetric(const float* x, size_t n, int8_t* q) {
  float m = 0.0f;
  for (size_t i = 0; i < n; ++i) {
    const float magnitude = std::fabs(x[i]);
    if (magnitude > m) m = magnitude;
  }
  const float inverse = m == 0.0f ? 0.0f : 127.0f / m;
  for (size_t i = 0; i < n; ++i) {
    q[i] = static_cast<int8_t>(round_to_int(clamp(x[i] * inverse, -127.0f, 127.0f)));
  }
  return m / 127.0f;
}

// Gaussian error linear units (Hendrycks and Gimpel 2016).
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

// Rectified linear units (Nair and Hinton 2010).
void relu(float* x, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] = 0.0f > x[i] ? 0.0f : x[i];
}

// Primer's squared ReLU (So et al. 2021).
void squared_relu(float* x, size_t n) {
  relu(x, n);
  for (size_t i = 0; i < n; ++i) x[i] = x[i] * x[i];
}

// Sigmoid linear units (Elfwing et al. 2017), also called swish.
void silu(float* x, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] = x[i] / (1.0f + exp_or_infinity(-x[i]));
}

void quick_gelu(float* x, size_t n) {
  for (size_t i = 0; i < n; ++i) x[i] = x[i] / (1.0f + exp_or_infinity(x[i] * kQuickGeluFactor));
}

void tanh(float* x, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const float a = std::fabs(x[i]);
    if (a >= kTanhLimit) {
      const float t = 1.0f - 2.0f / (1.0f + exp_or_infinity(a + a));
      x[i] = x[i] >= 0.0f ? t : 0.0f - t;
    } else {
      const float s = x[i] * x[i];
      float p = kTanhRatio[4];
      for (int k = 3; k >= 0; --k) p = std::fma(p, s, kTanhRatio[k]);
      x[i] = x[i] * std::fma(p, s, 1.0f);
    }
  }
}

void add(const float* x, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = y[i] + x[i];
}

void embed(const int8_t* q, float scale, const float* position, size_t n, float* y) {
  for (size_t i = 0; i < n; ++i) y[i] = std::fma(static_cast<float>(q[i]), scale, position[i]);
}

float max(const float* x, size_t n) {
  float m = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < n; ++i) m = x[i] > m ? x[i] : m;
  return m + 0.0f;
}

size_t argmax(const float* x, size_t n) {
  const float m = max(x, n);
  for (size_t i = 0; i < n; ++i) {
    if (x[i] == m) return i;
  }
  return 0;
}

float exp_shifted(const float* x, size_t n, float max, float* y) {
  Lanes sum;
  for (size_t i = 0; i < n; ++i) {
    const float e = exp(x[i] - max);
    sum[i] = sum[i] + e;
    if (y != nullptr) y[i] = e;
  }
  return sum.fold();
}

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

CollectedSum sum_and_collect(const float* x, float floor, float ceiling, const float* weights, int32_t first, size_t n,
                             int32_t* indices) {
  CollectedSum result = {};
  for (size_t i = 0; i < n; ++i) {
    if (x[i] >= ceiling) {
      result.sum += to_fixed(weights[i]);
    } else if (x[i] >= floor) {
      indices[result.collected++] = first + static_cast<int32_t>(i);
    }
  }
  return result;
}

// Attention of one query over the int8 KV ring (Vaswani et al. 2017, equation 1).
namespace {

// Computes the scores of all slots in order and returns their number.
size_t score_slots(const AttentionArgs& args) {
  int8_t query[kMaxHeadSize];
  const float s = quantize_symmetric(args.query, args.head_size, query);
  const float query_scale = s * args.score_scale;
  size_t t = 0;
  for (size_t k = 0; k < args.span_count; ++k) {
    const SlotSpan span = args.spans[k];
    for (size_t slot = span.first; slot < size_t{span.first} + span.count; ++slot, ++t) {
      const int8_t* key = args.keys + slot * args.row_stride;
      int32_t dot = 0;
      for (size_t d = 0; d < args.head_size; ++d) dot += query[d] * key[d];
      args.scores[t] = static_cast<float>(dot) * (query_scale * args.key_scales[slot]);
    }
  }
  return t;
}

}  // namespace

void attention(const AttentionArgs& args) {
  assert(args.head_size <= kMaxHeadSize);
  const size_t count = score_slots(args);
  const float m = max(args.scores, count);
  const float sum = exp_shifted(args.scores, count, m, args.scores);

  float output[kMaxHeadSize] = {};
  size_t t = 0;
  for (size_t k = 0; k < args.span_count; ++k) {
    const SlotSpan span = args.spans[k];
    for (size_t slot = span.first; slot < size_t{span.first} + span.count; ++slot, ++t) {
      const int8_t* value = args.values + slot * args.row_stride;
      const float w = args.scores[t] * args.value_scales[slot];
      for (size_t d = 0; d < args.head_size; ++d) {
        output[d] = std::fma(w, static_cast<float>(value[d]), output[d]);
      }
    }
  }
  const float inverse = 1.0f / sum;
  for (size_t d = 0; d < args.head_size; ++d) args.output[d] = output[d] * inverse;
}

}  // namespace reference
}  // namespace sotto
