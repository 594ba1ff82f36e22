// Times linear layers of a model's shapes. For each shape, as many matrices as the model has are used in turn. Batch 1
// then reads them from the same level of the memory hierarchy as the model would.
#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernels/linear/linear.h"
#include "tests/bench/machine/clock.h"
#include "tests/bench/machine/dot_limit.h"
#include "tests/bench/machine/read_limit.h"
#include "tests/bench/workloads/micro_cases.h"

namespace sotto::bench {
namespace {

constexpr double kLimitSeconds = 0.002;  // a short run; the best of several counts

struct LinearShape {
  const char* name;
  uint32_t inputs;
  uint32_t outputs;
  uint32_t count;  // number of such layers in the model
  std::vector<size_t> batches;
};

struct Limits {
  double bytes_per_second;
  double macs_per_second;
  bool has_tiles;
};

// Copies of one matrix, packed or as rows.
class Matrices {
 public:
  Matrices(Isa isa, const LinearShape& shape, Pages pages)
      : scales_(shape.outputs, 0.01f),
        bias_(shape.outputs, 0.5f),
        rows_(size_t{shape.inputs} * shape.outputs),
        count_(shape.count),
        layout_(packed_layout(isa)),
        copy_size_(layout_ != nullptr ? packed_size(*layout_, shape.inputs, shape.outputs) : rows_.size()),
        // Packing the last copy needs as many bytes as the bound.
        copies_(count_ * copy_size_ + packed_size_bound(shape.inputs, shape.outputs), pages) {
    std::mt19937 random(11);
    for (auto& weight : rows_) weight = static_cast<int8_t>(random() % 255 - 127);
    rows_.reserve(rows_.size() + kWeightPadding);
    weights_ = {shape.inputs, shape.outputs, rows_.data(), scales_.data(), bias_.data(), nullptr};
    if (layout_ != nullptr) {
      pack_linear(*layout_, weights_, copies_.bytes());
    } else {
      std::memcpy(copies_.bytes(), rows_.data(), rows_.size());
    }
    for (size_t i = 1; i < count_; ++i) {
      std::memcpy(copies_.bytes() + i * copy_size_, copies_.bytes(), copy_size_);
    }
  }

  LinearWeights next() {
    const uint8_t* copy = copies_.bytes() + turn_ * copy_size_;
    turn_ = (turn_ + 1) % count_;
    LinearWeights weights = weights_;
    if (layout_ != nullptr) {
      weights.packed = copy;
      weights.layout = layout_;
    } else {
      weights.rows = reinterpret_cast<const int8_t*>(copy);
    }
    return weights;
  }
  size_t size() const { return copy_size_; }

 private:
  std::vector<float> scales_, bias_;
  std::vector<int8_t> rows_;
  size_t count_;
  const TileLayout* layout_;  // null for rows
  size_t copy_size_;
  Memory copies_;
  LinearWeights weights_;
  size_t turn_ = 0;
};

void run_shape(Isa isa, const LinearShape& shape, Pages pages, const Limits& limits, nlohmann::json* cases) {
  Matrices matrices(isa, shape, pages);
  const LinearKernels kernels = linear_kernels(isa);
  const size_t max_rows = *std::max_element(shape.batches.begin(), shape.batches.end());
  std::vector<int8_t> x(max_rows * shape.inputs + kActivationPadding, 3);
  std::vector<RowQuantization> quantization(max_rows, {1, 0.01f});
  std::vector<float> y(max_rows * shape.outputs);
  const Memory scratch(linear_scratch_size({shape.inputs, shape.outputs}, max_rows), Pages::kHuge);
  for (const size_t batch : shape.batches) {
    const auto multiply = [&] {
      run_linear(kernels, matrices.next(), batch, x.data(), quantization.data(), y.data(), scratch.bytes(), nullptr);
    };
    multiply();
    const double read_ns = static_cast<double>(matrices.size()) / limits.bytes_per_second * 1e9;
    const double dot_ns = static_cast<double>(batch) * shape.inputs * shape.outputs / limits.macs_per_second * 1e9;
    const std::string name = std::string(shape.name) + ", batch " + std::to_string(batch);
    cases->push_back({{"name", "linear " + name},
                      {"ns", fastest_call(multiply) * 1e9},
                      {"limit_ns", std::max(read_ns, dot_ns)},
                      {"limit_name", read_ns > dot_ns   ? "memory_read"
                                     : limits.has_tiles ? "int8_tiles"
                                                        : "int8_dot"}});
  }
}

}  // namespace

void run_linear_cases(Isa isa, const MicroShape& shape, nlohmann::json* cases) {
  const uint32_t width = shape.embedding_size, inner = shape.feed_forward_size;
  const LinearShape shapes[] = {{"qkv", width, 3 * width, shape.layer_count, {1, 10, 128}},
                                {"attention output", width, width, shape.layer_count, {1, 10, 128}},
                                {"up", width, inner, shape.layer_count, {1, 10, 128}},
                                {"down", inner, width, shape.layer_count, {1, 10, 128}},
                                // The runtime multiplies few rows by the head, usually one.
                                {"head", width, shape.vocabulary_size, 1, {1, 10}}};
  const DotLoop tiles = tile_loop(static_cast<sotto_isa>(isa));
  const DotLoop loop = tiles.run != nullptr ? tiles : dot_loop(static_cast<sotto_isa>(isa));
  for (const LinearShape& linear : shapes) {
    const ReadLimit read(size_t{linear.count} * linear.inputs * linear.outputs, shape.pages, 1);
    Limits limits = {0, 0, tiles.run != nullptr};
    for (int i = 0; i < 8; ++i) {
      limits.bytes_per_second = std::max(limits.bytes_per_second, read.bytes_per_second(kLimitSeconds));
      limits.macs_per_second = std::max(limits.macs_per_second, macs_per_second(loop, 1, kLimitSeconds));
    }
    run_shape(isa, linear, shape.pages, limits, cases);
  }
}

}  // namespace sotto::bench
