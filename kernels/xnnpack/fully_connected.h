// Linear layers through XNNPACK's fully connected operator qd8-f32-qc8w. One operator serves all layers of its shape,
// because its weights cache returns the packed weights of the next run. This is also the implementation of the
// functions of kernels/linear/linear.h for packed weights.
#pragma once

#include "kernels/linear/linear.h"

namespace sotto::xnnpack {

// Returns a hash that differs between builds of XNNPACK, whose layouts may differ.
uint64_t build_identifier();

class FullyConnected;

// Builds an operator in `memory`, which must be aligned to 64. Returns null on failure.
FullyConnected* create_fully_connected(uint32_t inputs, uint32_t outputs, void* memory, size_t memory_size);

bool run_fully_connected(FullyConnected* op, const void* packed, size_t rows, const int8_t* q,
                         RowQuantization* quantization, float* y, ThreadPool* pool);

}  // namespace sotto::xnnpack
