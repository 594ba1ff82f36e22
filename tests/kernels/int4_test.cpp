// Tests linear layers with 4-bit weights: compares the scalar code with a sum over plain numbers, and every instruction
// set with the scalar code, bit for bit.
#include "kernels/linear/int4.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "kernels/linear/linear.h"
#include "kernels/linear/reference.h"
#include "tests/kernels/isa_test.h"

namespace sotto::test {
namespace {

// The size of the largest shape of a model file is right on 32-bit machines, which cannot hold it.
static_assert(int4_size(1u << 18, 1u << 22) > uint64_t{1} << 38);

enum class Extreme { kNone, kLowest, kHighest };

// The tiles of a layer, and the numbers that they hold.
struct Layer {
  size_t inputs, outputs;
  std::vector<int> weights;       // (output, input), -7 ... 8
  std::vector<int> block_scales;  // (output, block)
  std::vector<float> scales, biases;
  GuardedArray<uint8_t> storage;
  uint8_t* tiles;

  Layer(size_t inputs_count, size_t outputs_count, Extreme extreme, Random& random)
      : inputs(inputs_count),
        outputs(outputs_count),
        storage(int4_size(inputs, outputs), Placement::kBeforeGuard),
        tiles(storage.data()) {
    const size_t blocks = int4_block_count(inputs);
    for (size_t i = 0; i < outputs * inputs; ++i) {
      weights.push_back(extreme == Extreme::kLowest    ? -7
                        : extreme == Extreme::kHighest ? 8
                                                       : static_cast<int>(random() % 16) - 7);
    }
    for (size_t i = 0; i < outputs * blocks; ++i) {
      block_scales.push_back(extreme == Extreme::kNone ? static_cast<int>(random() % 256) - 128 : -128);
    }
    scales = make_floats(Numbers::kActivations, outputs, random);
    biases = make_floats(Numbers::kActivations, outputs, random);
    write();
  }

  void write() {
    std::memset(tiles, 0, int4_size(inputs, outputs));
    for (size_t t = 0; t < int4_tile_count(outputs); ++t) {
      uint8_t* nibbles = tiles + t * int4_tile_size(inputs) + int4_nibbles_offset(inputs);
      std::memset(nibbles, 0x77, int4_block_count(inputs) * kInt4BlockBytes);
    }
    for (size_t o = 0; o < outputs; ++o) write_output(o);
  }

  void write_output(size_t o) {
    uint8_t* tile = tiles + o / kInt4Columns * int4_tile_size(inputs);
    const size_t column = o % kInt4Columns;
    const size_t blocks = int4_block_count(inputs);
    auto& frame = *reinterpret_cast<Int4Frame*>(tile);
    frame.scales[column] = scales[o];
    frame.biases[column] = biases[o];
    for (size_t b = 0; b < blocks; ++b) {
      tile[sizeof frame + b * kInt4Columns + column] = static_cast<uint8_t>(block_scales[o * blocks + b]);
    }
    int32_t sum = 0;
    for (size_t i = 0; i < inputs; ++i) {
      const int weight = weights[o * inputs + i];
      const NibblePosition place = int4_nibble(i, column);
      uint8_t& byte = tile[int4_nibbles_offset(inputs) + place.byte];
      byte = static_cast<uint8_t>((byte & ~(15u << place.shift)) | static_cast<unsigned>(weight + kInt4Zero)
                                                                       << place.shift);
      sum += weight * block_scales[o * blocks + i / kInt4Block];
    }
    frame.sums[column] = sum;
  }

  // Computes the definition over plain numbers.
  float dot(size_t o, const int8_t* q, RowQuantization quantization) const {
    const size_t blocks = int4_block_count(inputs);
    int64_t sum = 0;
    for (size_t i = 0; i < inputs; ++i) {
      sum +=
          int64_t{q[i] - quantization.zero_point} * weights[o * inputs + i] * block_scales[o * blocks + i / kInt4Block];
    }
    const auto wrapped = static_cast<int32_t>(static_cast<uint64_t>(sum));
    return std::fma(static_cast<float>(wrapped) * quantization.scale, scales[o], biases[o]);
  }
};

struct Rows {
  std::vector<int8_t> q;
  std::vector<RowQuantization> quantization;

  Rows(size_t rows, size_t inputs, Extreme extreme, Random& random) : q(make_int8(rows * inputs, random)) {
    if (extreme != Extreme::kNone) std::fill(q.begin(), q.end(), int8_t{-128});
    for (size_t r = 0; r < rows; ++r) {
      quantization.push_back(
          {static_cast<int32_t>(random() % 256) - 128, 1e-3f * static_cast<float>(1 + random() % 1000)});
    }
  }
};

// Every array ends at a guard page.
std::vector<float> multiply(const MatrixKernels& kernels, const Layer& layer, const Rows& x, ThreadPool* pool) {
  const size_t rows = x.quantization.size();
  const GuardedArray<int8_t> q(x.q, Placement::kBeforeGuard);
  const GuardedArray<int8_t> scratch((int4_scratch_size(rows, layer.inputs) + 63) / 64 * 64, Placement::kBeforeGuard);
  const GuardedArray<float> y(rows * layer.outputs, Placement::kBeforeGuard);
  run_matrix(
      kernels, kInt4Columns,
      {layer.tiles, layer.inputs, layer.outputs, rows, q.data(), x.quantization.data(), y.data(), scratch.data()},
      pool);
  EXPECT_TRUE(q.intact() && scratch.intact() && y.intact());
  return y.values();
}

const std::vector<std::pair<size_t, size_t>> kShapes = {{1, 1},    {31, 16},   {32, 17},  {33, 5},   {64, 64},
                                                        {100, 70}, {256, 130}, {389, 50}, {768, 48}, {3072, 33}};

constexpr size_t kRowCounts[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 20, 29, 50, 130};

TEST(Int4, ScalarCodeIsTheDefinition) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(seed);
  Random random(seed);
  for (const auto& [inputs, outputs] : kShapes) {
    for (const Extreme extreme : {Extreme::kNone, Extreme::kLowest, Extreme::kHighest}) {
      const Layer layer(inputs, outputs, extreme, random);
      const Rows x(3, inputs, extreme, random);
      const std::vector<float> y = multiply(reference::kInt4, layer, x, nullptr);
      for (size_t i = 0; i < y.size(); ++i) {
        const size_t row = i / outputs;
        const float expected = layer.dot(i % outputs, x.q.data() + row * inputs, x.quantization[row]);
        ASSERT_TRUE(same_bits(y[i], expected)) << inputs << " -> " << outputs << ", " << i;
      }
    }
  }
}

TEST(Int4, PartsOfALayerEqualTheWhole) {
  Random random(test_seed());
  const Layer layer(100, 130, Extreme::kNone, random);
  const Rows x(3, layer.inputs, Extreme::kNone, random);
  const std::vector<float> whole = multiply(reference::kInt4, layer, x, nullptr);
  LinearWeights weights = {static_cast<uint32_t>(layer.inputs), static_cast<uint32_t>(layer.outputs)};
  weights.tiles = layer.tiles;
  for (const uint32_t first : {0u, 64u, 128u}) {
    const uint32_t count = std::min(66u, weights.outputs - first);
    const LinearWeights part = select_outputs(weights, first, count);
    std::vector<float> y(3 * count);
    alignas(64) uint8_t scratch[1024];
    ASSERT_LE(linear_scratch_size(part, 3), sizeof scratch);
    run_linear(linear_kernels(Isa::kReference), part, 3, x.q.data(), x.quantization.data(), y.data(), scratch, nullptr);
    for (size_t i = 0; i < y.size(); ++i) {
      ASSERT_TRUE(same_bits(y[i], whole[i / count * layer.outputs + first + i % count])) << first << ", " << i;
    }
  }
}

class Int4Isa : public IsaTest {};

TEST_P(Int4Isa, EqualsScalarCodeBitForBit) {
  const MatrixKernels& kernels = *find_instruction_set(GetParam())->int4;
  const uint64_t seed = test_seed();
  SCOPED_TRACE(seed);
  Random random(seed);
  alignas(kThreadPoolAlignment) uint8_t memory_of_two[kThreadPoolBytes];
  ThreadPool* two = create_thread_pool(memory_of_two, 2, nullptr);
  for (const auto& [inputs, outputs] : kShapes) {
    for (const Extreme extreme : {Extreme::kNone, Extreme::kLowest, Extreme::kHighest}) {
      const Layer layer(inputs, outputs, extreme, random);
      for (const size_t rows : kRowCounts) {
        const Rows x(rows, inputs, extreme, random);
        const std::vector<float> expected = multiply(reference::kInt4, layer, x, nullptr);
        for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), two}) {
          ASSERT_EQ(difference(expected, multiply(kernels, layer, x, pool)), "")
              << inputs << " -> " << outputs << ", rows " << rows;
        }
      }
    }
  }
  destroy_thread_pool(two);
}

TEST_P(Int4Isa, EmbedsTheWeightsOfAnOutput) {
  Random random(12);
  for (const auto& [inputs, outputs] : kShapes) {
    const Layer layer(inputs, outputs, Extreme::kNone, random);
    const std::vector<float> position = make_floats(Numbers::kActivations, inputs, random);
    for (const size_t output : {size_t{0}, outputs / 2, outputs - 1}) {
      const GuardedArray<float> y(inputs, Placement::kBeforeGuard);
      embed_int4(*kernels_, layer.tiles, inputs, output, position.data(), y.data());
      std::vector<float> expected(inputs);
      for (size_t i = 0; i < inputs; ++i) {
        const size_t block = output * int4_block_count(inputs) + i / kInt4Block;
        const auto block_scale = static_cast<float>(layer.block_scales[block]);
        expected[i] = std::fma(static_cast<float>(layer.weights[output * inputs + i]),
                               block_scale * layer.scales[output], position[i]);
      }
      EXPECT_EQ(difference(expected, y.values()), "") << inputs << " -> " << outputs;
    }
  }
}

SOTTO_INSTANTIATE_ISAS(Int4Isa);

}  // namespace
}  // namespace sotto::test
