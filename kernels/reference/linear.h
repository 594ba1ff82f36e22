// Linear layers in scalar code: the definition of kernels/linear.h.
#pragma once

#include "kernels/kernels.h"
#include "kernels/linear_weights.h"
#include "kernels/thread_pool.h"

namespace sotto::reference {

void run_linear(const LinearWeights& weights, size_t rows, const int8_t* q,
                const RowQuantization* quantization, float* y, ThreadPool* pool);

}  // namespace sotto::reference
