// Rounds weights with error feedback: the weights of an output are rounded one after the other, and each compensates
// the errors of those before it, so that the outputs for typical inputs change least.
//
// Example: two inputs are always equal, and both weights are 0.4 steps. Rounded alone, both become 0. With feedback,
// the second is rounded from 0.4 + 0.4 and becomes 1. The sum 1 is nearer to 0.8 than 0 is.
//
// With the inputs x of a layer, the squared error of an output is d H d^T for errors d of its weights and the
// covariance H of x; the bias compensates d E[x]. The factorization H = (I + A) D (I + A)^T, with A strictly upper
// triangular, makes it sum_j D_j (d_j + sum_{k<j} d_k A_kj)^2. The error is therefore least if weight j is rounded to
// the number nearest to w_j + sum_{k<j} d_k A_kj. (In the example, A_01 = 1.) The method is GPTQ (Frantar et al. 2022,
// "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers") in the form of LDLQ (Chee et al.
// 2023, "QuIP"), which needs no inverse of H. Inputs with the largest moments come first, because many other weights
// can still compensate their errors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace sotto {

// Rounds to the nearest integer, ties to even, in a way that compilers vectorize. |x| is below 2^22.
inline float round_to_integer(float x) {
  constexpr float kShift = 12582912.0f;  // 1.5 * 2^23
  return (x + kShift) - kShift;
}

class ErrorFeedback {
 public:
  // Inputs are rounded in blocks of this size; a last block of fewer inputs is rounded last. In layers of 4-bit
  // weights, a block shares a scale.
  static constexpr size_t kBlock = 32;

  // `x` is (row, input). `damping` times the mean variance is added to every variance, which keeps the compensated
  // weights close to the original ones.
  ErrorFeedback(std::vector<float> x, size_t inputs, float damping, unsigned thread_count);

  // Chooses the scale of block `block`, inputs kBlock * block and following, of one output. `targets` are its weights,
  // in an unspecified order, plus the compensation for the blocks rounded before it. importance[i] is the cost of the
  // squared error of targets[i].
  using ChooseScale = std::function<float(size_t output, size_t block, std::span<const float> targets,
                                          std::span<const float> importance)>;

  // Writes q (outputs, inputs): integers from `lowest` to `highest` that approximate weights / scale. A block with
  // scale 0 becomes zeros. choose_scale is called from several threads, for different outputs. Returns the numbers to
  // add to the biases, (outputs).
  std::vector<float> round(std::span<const float> weights, size_t outputs, float lowest, float highest,
                           const ChooseScale& choose_scale, int8_t* q) const;

 private:
  void factorize(float smallest_pivot);
  void round_outputs(const float* weights, size_t first_output, size_t count, float lowest, float highest,
                     const ChooseScale& choose_scale, int8_t* q, float* bias_changes) const;

  size_t inputs_;
  unsigned thread_count_;
  std::vector<uint32_t> order_;    // the inputs in the order of rounding, one block after the other
  std::vector<float> means_;       // (j): mean of input j
  std::vector<float> feedback_;    // (j, k): A_kj for k < j
  std::vector<float> importance_;  // (j): D_j
};

}  // namespace sotto
