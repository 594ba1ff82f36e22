// Linear layers in scalar code, which defines their results.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/linear/int4.h"
#include "kernels/linear/linear.h"

namespace sotto::reference {

extern const MatrixKernels kInt4;

// Computes linear layers with int8 weights as kernels/linear/linear.h defines them, from LinearWeights::rows.
void run_linear(const LinearWeights& weights, size_t rows, const int8_t* q, const RowQuantization* quantization,
                float* y, ThreadPool* pool);

// Returns one output for one row of activations q (inputs). `row` (inputs) are the weights of the output.
float run_linear_output(const LinearWeights& weights, size_t output, const int8_t* row, const int8_t* q,
                        RowQuantization quantization);

}  // namespace sotto::reference
