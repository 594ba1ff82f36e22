// Linear layers through XNNPACK's qd8-f32-qc8w fully connected operator. One operator
// serves every layer of its shape: its weights cache answers with whichever packed
// weights the next run is for.
#pragma once

#include "kernels/kernels.h"
#include "kernels/linear/linear_weights.h"
#include "kernels/thread_pool.h"

namespace sotto::xnnpack {

uint64_t packed_layout_fingerprint();

size_t packed_size(uint32_t inputs, uint32_t outputs);

size_t pack(const LinearWeights& weights, void* packed);

// Whether packed weights lie in tiles of so many columns and inputs, as kernels/linear/packed_tiles.h
// says.
bool packs_tiles(uint32_t columns, uint32_t depth);

// As in kernels/linear/linear.h.
bool packed_rows_are_readable();
void read_packed_row(const LinearWeights& weights, size_t output, int8_t* q);

class FullyConnected;

// In `memory` (64-byte aligned). Null on failure.
FullyConnected* create_fully_connected(uint32_t inputs, uint32_t outputs, void* memory, size_t memory_size);

bool run_fully_connected(FullyConnected* op, const void* packed, size_t rows, const int8_t* q,
                         RowQuantization* quantization, float* y, ThreadPool* pool);

}  // namespace sotto::xnnpack
