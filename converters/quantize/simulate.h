// Simulates quantization with any number of bits, to compare it with the formats of model files (int8.h and int4.h).
#pragma once

#include <cstdint>
#include <span>

namespace sotto {

struct SimulatedError {
  double signal = 0;         // sum of w^2
  double noise = 0;          // sum of (w - quantized w)^2
  double largest_error = 0;  // largest |w - quantized w|

  void add(const SimulatedError& other);
};

// Weights of 32 consecutive inputs of an output share a scale.
inline constexpr uint32_t kSimulatedBlock = 32;

// Returns the smallest magnitude in the `share` of the largest weights: that of weight number ceil(share * count) in
// descending order. Infinity if the share is 0.
double importance_threshold(std::span<const float> weights, double share);

// Returns the error of rounding each weight to the nearest of 2^bits - 1 values. They are symmetric about zero and
// multiples of a scale per block: the largest magnitude divided by 2^(bits - 1) - 1. Weights with a magnitude of
// `kept_from` or more stay as they are and do not count for the scales. `weights` is (outputs, inputs) and finite.
SimulatedError simulate_quantization(std::span<const float> weights, uint32_t inputs, uint32_t bits, double kept_from,
                                     unsigned thread_count);

}  // namespace sotto
