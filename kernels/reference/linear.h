// Linear layers in scalar code: the definition of kernels/linear/linear.h.
#pragma once

#include "kernels/linear/linear.h"

namespace sotto::reference {

void run_linear(const LinearWeights& weights, size_t rows, const int8_t* q, const RowQuantization* quantization,
                float* y, ThreadPool* pool);

// Returns one output for one row q (inputs). `row` (inputs) holds the output's weights.
float run_linear_output(const LinearWeights& weights, size_t output, const int8_t* row, const int8_t* q,
                        RowQuantization quantization);

}  // namespace sotto::reference
