#include "kernels/xnnpack/fully_connected.h"

#include <pthreadpool.h>
#include <xnnpack.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstring>
#include <limits>
#include <new>

#include "kernels/xnnpack/process_state.h"
#include "xnnpack/config.h"

namespace sotto::xnnpack {

static_assert(sizeof(RowQuantization) == sizeof(xnn_quantization_params));
static_assert(offsetof(RowQuantization, zero_point) == offsetof(xnn_quantization_params, zero_point));
static_assert(offsetof(RowQuantization, scale) == offsetof(xnn_quantization_params, scale));
static_assert(kActivationPadding >= XNN_EXTRA_BYTES);
static_assert(kQuantizationPadding >= XNN_EXTRA_QUANTIZATION_PARAMS);

// A linear layer of XNNPACK. Small batches use one operator for all columns. Batches that fill several tiles of rows
// use one operator for blocks of columns and one for the remaining columns, so that the weights of a block stay in the
// L2 cache while all rows are multiplied.
class FullyConnected {
 public:
  xnn_operator_t whole = nullptr;
  xnn_operator_t block = nullptr;  // for kBlockColumns columns; null if there are no more columns than that
  xnn_operator_t rest = nullptr;   // for the remaining columns; null if there are none
  uint32_t inputs = 0;
  uint32_t outputs = 0;
  const void* packed = nullptr;  // packed weights for the next run
  xnn_weights_cache_provider cache = {};
};

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr uint32_t kBlockColumns = 256;  // a multiple of the width of every kernel
// Up to this number of rows, weights are read only once or twice, so keeping blocks in the cache would not help.
constexpr size_t kMaxRowsOfWhole = 16;

xnn_status create_operator(uint32_t inputs, uint32_t outputs, uint32_t output_stride, const LinearWeights* weights,
                           xnn_weights_cache_provider* cache, xnn_operator_t* op) {
  return xnn_create_fully_connected_nc_qd8_f32_qc8w(
      inputs, outputs, /*input_stride=*/inputs, output_stride, weights == nullptr ? nullptr : weights->scales,
      weights == nullptr ? nullptr : weights->rows, weights == nullptr ? nullptr : weights->bias, -kInfinity, kInfinity,
      /*flags=*/0,
      /*code_cache=*/nullptr, cache, op);
}

// The weights cache while packing: every look-up fails, and memory comes from the caller.
struct PackTarget {
  void* memory;
  size_t capacity;
  size_t used;
};

size_t find_nothing(void*, const xnn_weights_cache_look_up_key*) { return SIZE_MAX; }
void* reserve_in_target(void* context, size_t size) {
  auto* target = static_cast<PackTarget*>(context);
  size = (size + 63) / 64 * 64;  // ARM builds reserve multiples of 16
  if (size > target->capacity) return nullptr;
  target->used = size;
  std::memset(target->memory, 0, size);  // the padding must not depend on previous contents
  return target->memory;
}
size_t keep_in_target(void*, const xnn_weights_cache_look_up_key*, void*, size_t) { return 0; }
bool never_finalized(void*) { return false; }
void* target_address(void* context, size_t) { return static_cast<PackTarget*>(context)->memory; }
xnn_status keep_cache(void*) { return xnn_status_success; }

// The weights cache during a run: every look-up finds the weights at `packed`.
size_t find_packed(void*, const xnn_weights_cache_look_up_key*) { return 0; }
void* reserve_nothing(void*, size_t) { return nullptr; }
size_t insert_nothing(void*, const xnn_weights_cache_look_up_key*, void*, size_t) { return SIZE_MAX; }
bool always_finalized(void*) { return true; }
void* packed_address(void* context, size_t) { return const_cast<void*>(static_cast<FullyConnected*>(context)->packed); }

}  // namespace

// Returns the bytes that a column of packed weights takes: its inputs, sum, scale and bias.
static size_t packed_column_size(const xnn_gemm_config& config, uint32_t inputs) {
  const size_t depth = size_t{1} << (config.log2_kr + config.log2_sr);
  return (inputs + depth - 1) / depth * depth + 3 * sizeof(float);
}

uint64_t build_identifier() {
  const auto* bytes = static_cast<const uint8_t*>(xnn_experimental_get_build_identifier_data());
  // FNV-1a
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < xnn_experimental_get_build_identifier_size(); ++i) hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash;
}

FullyConnected* create_fully_connected(uint32_t inputs, uint32_t outputs, void* memory, size_t memory_size) {
  auto* layer = new (memory) FullyConnected;
  layer->cache = {layer, find_packed, reserve_nothing, insert_nothing, always_finalized, packed_address, keep_cache};
  layer->inputs = inputs;
  layer->outputs = outputs;
  constexpr size_t kUsed = (sizeof(FullyConnected) + 63) / 64 * 64;
  ScopedArena arena(static_cast<uint8_t*>(memory) + kUsed, memory_size - kUsed);
  const auto create = [&](uint32_t columns, xnn_operator_t* op) {
    return create_operator(inputs, columns, outputs, nullptr, &layer->cache, op) == xnn_status_success;
  };
  if (!create(outputs, &layer->whole)) return nullptr;
  if (outputs <= kBlockColumns) return layer;
  if (!create(kBlockColumns, &layer->block)) return nullptr;
  const uint32_t rest = outputs % kBlockColumns;
  return rest == 0 || create(rest, &layer->rest) ? layer : nullptr;
}

namespace {

// The rows of one run.
struct Rows {
  size_t count;
  const int8_t* q;
  const xnn_quantization_params* quantization;
  pthreadpool_t pool;
};

bool run_operator(FullyConnected* layer, xnn_operator_t op, const void* packed, const Rows& rows, float* y) {
  layer->packed = packed;  // the call that reshapes the operator reads it
  return xnn_reshape_fully_connected_nc_qd8_f32_qc8w(op, rows.count, rows.pool) == xnn_status_success &&
         xnn_setup_fully_connected_nc_qd8_f32_qc8w(op, rows.q, y, rows.quantization) == xnn_status_success &&
         xnn_run_operator(op, rows.pool) == xnn_status_success;
}

}  // namespace

bool run_fully_connected(FullyConnected* layer, const void* packed, size_t row_count, const int8_t* q,
                         RowQuantization* quantization, float* y, ThreadPool* pool) {
  assert(packed != nullptr && row_count > 0);
  // If a tile has fewer rows than the kernel's height, the kernel computes the last row repeatedly and stores it to the
  // same place.
  for (size_t i = 0; i < kQuantizationPadding; ++i) {
    quantization[row_count + i] = quantization[row_count - 1];
  }
  const Rows rows = {row_count, q, reinterpret_cast<const xnn_quantization_params*>(quantization),
                     pthreadpool_of(pool)};
  if (row_count <= kMaxRowsOfWhole || layer->block == nullptr) {
    return run_operator(layer, layer->whole, packed, rows, y);
  }
  const size_t block_size = kBlockColumns * packed_column_size(*xnn_init_qd8_f32_qc8w_gemm_config(), layer->inputs);
  const auto* block_packed = static_cast<const uint8_t*>(packed);
  for (uint32_t column = 0; column < layer->outputs; column += kBlockColumns) {
    const bool is_rest = layer->outputs - column < kBlockColumns;
    if (!run_operator(layer, is_rest ? layer->rest : layer->block, block_packed, rows, y + column)) {
      return false;
    }
    block_packed += block_size;
  }
  return true;
}

}  // namespace sotto::xnnpack

namespace sotto {

using namespace xnnpack;

bool select_linear_isa(Isa isa) { return !linear_needs_packing(isa) || select_isa(isa); }

size_t packed_size(uint32_t inputs, uint32_t outputs) {
  const xnn_gemm_config& config = *xnn_init_qd8_f32_qc8w_gemm_config();
  const size_t columns = (outputs + config.nr - 1u) / config.nr * config.nr;
  return (columns * packed_column_size(config, inputs) + 63) / 64 * 64;
}

bool packed_rows_are_readable() { return xnn_init_qd8_f32_qc8w_gemm_config()->log2_sr == 0; }

// A packed tile consists of the sums of its columns, the weights (kr inputs of each column in turn), the scales and the
// biases.
void read_packed_row(const LinearWeights& weights, size_t output, int8_t* q) {
  const xnn_gemm_config& config = *xnn_init_qd8_f32_qc8w_gemm_config();
  const size_t columns = config.nr;
  const size_t depth = size_t{1} << config.log2_kr;
  const size_t tile_size = columns * packed_column_size(config, weights.inputs);
  const auto* tile = static_cast<const uint8_t*>(weights.packed) + output / columns * tile_size;
  const uint8_t* from = tile + columns * sizeof(int32_t) + output % columns * depth;
  for (size_t i = 0; i < weights.inputs; i += depth, from += columns * depth) {
    std::memcpy(q + i, from, std::min(depth, weights.inputs - i));
  }
}

size_t pack_linear(const LinearWeights& weights, void* packed) {
  alignas(64) uint8_t operator_memory[kLinearOperatorBytes];
  ScopedArena arena(operator_memory, sizeof operator_memory);
  PackTarget target = {packed, packed_size_bound(weights.inputs, weights.outputs), 0};
  xnn_weights_cache_provider cache = {&target,         find_nothing,   reserve_in_target, keep_in_target,
                                      never_finalized, target_address, keep_cache};
  xnn_operator_t op = nullptr;
  if (create_operator(weights.inputs, weights.outputs, weights.outputs, &weights, &cache, &op) != xnn_status_success) {
    return 0;
  }
  xnn_delete_operator(op);
  return target.used;
}

}  // namespace sotto
