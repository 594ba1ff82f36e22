// Compares linear layers of packed weights with the scalar definition, bit for bit.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "kernels/dispatch/cpu_features.h"
#include "kernels/dispatch/tables.h"
#include "kernels/linear/linear.h"
#include "tests/emulated/work.h"
#include "tests/kernels/isa_test.h"

namespace sotto::test {
namespace {

class LinearTest : public IsaTest {
 protected:
  const TileLayout& layout() const { return *packed_layout(GetParam()); }

  // Returns the kernels of the instruction set, and other kernels of the same packed layout that this CPU can run. The
  // others use AVX-VNNI, or on ARM they are those of kernels/arm in a build with XNNPACK's kernels.
  std::vector<LinearKernels> kernels() const {
    std::vector<LinearKernels> all = {linear_kernels(GetParam())};
    [[maybe_unused]] const auto add = [&all](const MatrixKernels& int8) { all.push_back({&int8, all[0].int4}); };
#if SOTTO_X86_64
    if (GetParam() == Isa::kAvx2 && has_avx_vnni()) add(avxvnni::kInt8);
#elif SOTTO_XNNPACK
    if (GetParam() == Isa::kNeon) add(neon::kInt8);
    if (GetParam() == Isa::kNeonDotprod) add(neon_dotprod::kInt8);
    if (GetParam() == Isa::kNeonI8mm) add(neon_i8mm::kInt8);
#endif
    return all;
  }
};

std::vector<Isa> packing_isas() {
  std::vector<Isa> isas = built_isas();
  std::erase_if(isas, [](Isa isa) { return packed_layout(isa) == nullptr; });
  return isas;
}
INSTANTIATE_TEST_SUITE_P(, LinearTest, testing::ValuesIn(packing_isas()), isa_label);

struct Layer {
  std::vector<int8_t> rows;
  std::vector<float> scales, bias;
  LinearWeights weights;
  std::vector<uint8_t> storage;

  Layer(uint32_t inputs, uint32_t outputs, bool with_bias, std::mt19937& random) {
    std::uniform_int_distribution<int> weight(-127, 127);
    std::uniform_real_distribution<float> scale(1e-4f, 1e-2f), shift(-1.0f, 1.0f);
    rows.resize(size_t{inputs} * outputs + kWeightPadding);
    for (auto& w : rows) w = static_cast<int8_t>(weight(random));
    for (uint32_t o = 0; o < outputs; ++o) {
      scales.push_back(scale(random));
      bias.push_back(shift(random));
    }
    weights = {inputs, outputs, rows.data(), scales.data(), with_bias ? bias.data() : nullptr, nullptr};
  }

  // Packs into memory that is not zero, with a canary after it.
  void pack(const TileLayout& layout) {
    const size_t bound = packed_size_bound(weights.inputs, weights.outputs);
    storage.assign(bound + 128, 0xA5);
    auto* aligned = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(storage.data()) + 63) / 64 * 64);
    const size_t used = pack_linear(layout, weights, aligned);
    ASSERT_GT(used, 0u);
    ASSERT_LE(used, bound);
    ASSERT_EQ(used, packed_size(layout, weights.inputs, weights.outputs));
    ASSERT_EQ(aligned[bound], 0xA5);
    weights.packed = aligned;
    weights.layout = &layout;
  }
};

struct Activations {
  std::vector<int8_t> q;
  std::vector<RowQuantization> quantization;

  Activations(size_t rows, uint32_t inputs, std::mt19937& random) {
    std::uniform_int_distribution<int> value(-128, 127);
    std::uniform_real_distribution<float> scale(1e-3f, 1.0f);
    q.resize(rows * inputs + kActivationPadding, 77);
    for (size_t i = 0; i < rows * inputs; ++i) q[i] = static_cast<int8_t>(value(random));
    for (size_t r = 0; r < rows; ++r) {
      quantization.push_back({value(random), scale(random)});
    }
  }

  Activations first(size_t rows, uint32_t inputs) const {
    Activations some = *this;
    some.q.resize(rows * inputs);
    some.q.resize(rows * inputs + kActivationPadding, 77);
    some.quantization.resize(rows);
    return some;
  }
};

std::vector<float> run(const Layer& layer, const LinearKernels& kernels, Activations x, size_t rows, ThreadPool* pool) {
  constexpr size_t kCanary = 16;
  std::vector<float> y(rows * layer.weights.outputs + kCanary, -1.0f);
  // Memory that is not zero, with a canary after it.
  const size_t scratch_size = linear_scratch_size(layer.weights, rows);
  std::vector<uint8_t> storage(scratch_size + 128, 0xA5);
  auto* scratch = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(storage.data()) + 63) / 64 * 64);
  run_linear(kernels, layer.weights, rows, x.q.data(), x.quantization.data(), y.data(), scratch, pool);
  EXPECT_EQ(std::count(scratch + scratch_size, scratch + scratch_size + 64, 0xA5), 64);
  EXPECT_EQ(std::count(y.end() - kCanary, y.end(), -1.0f), kCanary);
  y.resize(y.size() - kCanary);
  return y;
}

// Batch sizes on both sides of every limit in the kernels: few rows, blocks of rows, tiles of 16 rows, and groups of
// 128.
constexpr size_t kBatches[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,  13,
                               14, 16, 17, 18, 20, 22, 24, 31, 32, 33, 80, 127, 145};
constexpr size_t kMaxRows = std::end(kBatches)[-1];
// On emulated CPUs: one of each kernel and one of several tasks.
constexpr size_t kBatchesOfLargeLayers[] = {1, 6, 13, 33, 145};

TEST_P(LinearTest, EqualsTheReferenceBitForBit) {
  const std::vector<LinearKernels> all_kernels = kernels();
  std::mt19937 random(7);
  alignas(kThreadPoolAlignment) uint8_t memory_of_two[kThreadPoolBytes];
  ThreadPool* two = create_thread_pool(memory_of_two, 2, nullptr);
  alignas(kThreadPoolAlignment) uint8_t memory_of_four[kThreadPoolBytes];
  ThreadPool* four = create_thread_pool(memory_of_four, 4, nullptr);
  const auto pools = work<std::vector<ThreadPool*>>({nullptr, two, four}, {nullptr, four});
  bool with_bias = false;
  for (const auto& [inputs, outputs] : std::vector<std::pair<uint32_t, uint32_t>>{{1, 1},
                                                                                  {3, 5},
                                                                                  {8, 16},
                                                                                  {31, 33},
                                                                                  {48, 3},
                                                                                  {48, 144},
                                                                                  {32, 32},
                                                                                  {33, 17},
                                                                                  {64, 257},
                                                                                  {96, 96},
                                                                                  {255, 65},
                                                                                  {39, 7},
                                                                                  {511, 23},
                                                                                  {520, 24},
                                                                                  {1025, 40},
                                                                                  {256, 4096},
                                                                                  {768, 768},
                                                                                  {3072, 100},
                                                                                  {1000, 1000}}) {
    with_bias = !with_bias;
    Layer layer(inputs, outputs, with_bias, random);
    layer.pack(layout());
    const Activations all(kMaxRows, inputs, random);
    const auto expected = run(layer, linear_kernels(Isa::kReference), all, kMaxRows, nullptr);
    const bool is_large = inputs * outputs > 100'000;
    const std::span<const size_t> all_batches = kBatches, few_batches = kBatchesOfLargeLayers;
    const auto batches = work(all_batches, is_large ? few_batches : all_batches);
    for (const size_t rows : batches) {
      const Activations x = all.first(rows, inputs);
      for (size_t k = 0; k < all_kernels.size(); ++k) {
        for (ThreadPool* pool : pools) {
          const auto got = run(layer, all_kernels[k], x, rows, pool);
          ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0)
              << inputs << " -> " << outputs << ", rows " << rows << ", bias " << with_bias << ", kernels " << k;
        }
      }
    }
  }
  destroy_thread_pool(two);
  destroy_thread_pool(four);
}

// Scales, biases and products that are denormal or close to it.
TEST_P(LinearTest, DenormalsCountAsZero) {
  std::mt19937 random(14);
  const auto tiny = [&random] { return std::bit_cast<float>(static_cast<uint32_t>(random()) & 0x80ffffffu); };
  for (const auto& [inputs, outputs] : std::vector<std::pair<uint32_t, uint32_t>>{{7, 40}, {48, 144}, {520, 200}}) {
    for (const bool tiny_scales : {false, true}) {
      Layer layer(inputs, outputs, /*with_bias=*/true, random);
      std::ranges::generate(layer.bias, tiny);
      if (tiny_scales) std::ranges::generate(layer.scales, tiny);
      layer.pack(layout());
      for (const size_t rows : {1, 5, 20}) {
        Activations x(rows, inputs, random);
        for (RowQuantization& row : x.quantization) row.scale = std::abs(tiny());
        const auto expected = run(layer, linear_kernels(Isa::kReference), x, rows, nullptr);
        for (const LinearKernels& these : kernels()) {
          const auto got = run(layer, these, x, rows, nullptr);
          ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0)
              << inputs << " -> " << outputs << ", rows " << rows << ", tiny scales " << tiny_scales;
        }
      }
    }
  }
}

TEST_P(LinearTest, PartsOfALayerEqualTheWhole) {
  std::mt19937 random(8);
  for (const auto& [inputs, outputs] :
       std::vector<std::pair<uint32_t, uint32_t>>{{3, 130}, {48, 144}, {64, 257}, {520, 200}}) {
    Layer layer(inputs, outputs, /*with_bias=*/true, random);
    layer.pack(layout());
    const LinearWeights whole = layer.weights;
    for (const size_t rows : {1, 5, 20}) {
      const Activations x(rows, inputs, random);
      const auto expected = run(layer, linear_kernels(GetParam()), x, rows, nullptr);
      for (uint32_t first = 0; first < outputs; first += 64) {
        const uint32_t count = std::min(outputs - first, first % 128 == 0 ? 128u : 64u);
        layer.weights = select_outputs(whole, first, count);
        const auto got = run(layer, linear_kernels(GetParam()), x, rows, nullptr);
        for (size_t row = 0; row < rows; ++row) {
          ASSERT_EQ(
              std::memcmp(got.data() + row * count, expected.data() + row * outputs + first, count * sizeof(float)), 0)
              << inputs << " -> " << outputs << ", rows " << rows << ", first " << first;
        }
        layer.weights = whole;
      }
    }
  }
}

// Sums of products of one sign, for the widest layers that tiles can hold and slightly wider ones.
TEST_P(LinearTest, LargestSumsAreExact) {
  std::mt19937 random(12);
  constexpr size_t kRows = 13;
  for (const uint32_t inputs : {32u, 3072u, 32768u, 32769u}) {
    Layer layer(inputs, 18, true, random);
    for (size_t i = 0; i < size_t{inputs} * 18; ++i) {
      layer.rows[i] = i / inputs % 2 == 0 ? int8_t{127} : int8_t{-127};
    }
    layer.pack(layout());
    Activations all(kRows, inputs, random);
    for (size_t r = 0; r < kRows; ++r) {
      const int8_t value = r % 2 == 0 ? int8_t{-128} : int8_t{127};
      std::fill_n(all.q.begin() + static_cast<ptrdiff_t>(r * inputs), inputs, value);
      all.quantization[r].zero_point = r % 4 < 2 ? 127 : -128;
    }
    const auto expected = run(layer, linear_kernels(Isa::kReference), all, kRows, nullptr);
    for (size_t rows = 1; rows <= kRows; ++rows) {
      for (const LinearKernels& these : kernels()) {
        const auto got = run(layer, these, all.first(rows, inputs), rows, nullptr);
        ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0)
            << inputs << " inputs, rows " << rows;
      }
    }
  }
}

// Tests every number of outputs from none to all. Memory that must not be written is poisoned.
TEST_P(LinearTest, SelectedOutputsEqualThoseOfTheWholeLayer) {
  std::mt19937 random(11);
  for (const auto& [inputs, outputs] :
       std::vector<std::pair<uint32_t, uint32_t>>{{1, 1}, {31, 33}, {64, 257}, {255, 65}, {768, 130}}) {
    for (const bool with_bias : {true, false}) {
      Layer layer(inputs, outputs, with_bias, random);
      layer.pack(layout());
      const Activations x(1, inputs, random);
      for (const uint32_t share : {0u, 1u, 5u, 60u, 100u}) {
        std::vector<uint64_t> wanted((outputs + 63) / 64);
        std::vector<float> expected = run(layer, linear_kernels(Isa::kReference), x, 1, nullptr);
        for (uint32_t o = 0; o < outputs; ++o) {
          if (random() % 100 < share) {
            wanted[o / 64] |= uint64_t{1} << (o % 64);
          } else {
            expected[o] = -1.0f;
          }
        }
        // Bits without an output may have any value.
        wanted.back() |= outputs % 64 == 0 ? 0 : ~uint64_t{0} << outputs % 64;
        std::vector<float> y(64 * wanted.size(), -1.0f);
        expected.resize(y.size(), -1.0f);
        std::vector<int8_t> scratch(inputs);
        run_linear_outputs(linear_kernels(GetParam()), layer.weights, wanted.data(), x.q.data(), x.quantization[0],
                           y.data(), scratch.data());
        ASSERT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)), 0)
            << inputs << " -> " << outputs << ", " << share << "% of them";
      }
    }
  }
}

TEST_P(LinearTest, PackedRowsAreReadable) {
  std::mt19937 random(10);
  for (const auto& [inputs, outputs] :
       std::vector<std::pair<uint32_t, uint32_t>>{{1, 1}, {8, 16}, {31, 33}, {100, 70}}) {
    Layer layer(inputs, outputs, true, random);
    layer.pack(layout());
    for (uint32_t output = 0; output < outputs; ++output) {
      std::vector<int8_t> row(inputs + 1, 99);
      read_packed_row(layer.weights, output, row.data());
      EXPECT_EQ(std::memcmp(row.data(), layer.rows.data() + output * inputs, inputs), 0)
          << inputs << " -> " << outputs << ", row " << output;
      EXPECT_EQ(row[inputs], 99);
    }
  }
}

TEST_P(LinearTest, PackingIsReproducible) {
  std::mt19937 random(9);
  Layer layer(70, 50, true, random);
  layer.pack(layout());
  alignas(64) uint8_t again[packed_size_bound(70, 50)];
  std::memset(again, 0x5A, sizeof again);
  const size_t used = pack_linear(layout(), layer.weights, again);
  EXPECT_EQ(std::memcmp(again, layer.weights.packed, used), 0);
}

// Model files may contain packed weights. The fingerprints are of XNNPACK's own packing functions with the parameters
// of its GEMM configurations. Every build can pack weights in every layout.
TEST(PackedLayouts, BytesAreThoseOfXnnpack) {
  const std::vector<std::pair<const TileLayout*, uint64_t>> layouts = {{&kNeonTiles, 0x1484afe7d57f38bd},
                                                                       {&kDotprodTiles, 0x7fccb907dfb4dd1d},
                                                                       {&kI8mmTiles, 0x4f9f861e6f3d780d},
                                                                       {&kTilesOf16, 0x4f9f861e6f3d780d},
                                                                       {&kTilesOf8, 0x9b171dd157f20499}};
  for (const auto& [layout, fingerprint] : layouts) EXPECT_EQ(layout_fingerprint(*layout), fingerprint);
  for (const Isa isa : packing_isas()) {
    const uint64_t fingerprint = layout_fingerprint(*packed_layout(isa));
    EXPECT_TRUE(std::ranges::any_of(layouts, [=](const auto& known) { return known.second == fingerprint; }))
        << isa_name(isa) << " has an untested layout";
  }
}

}  // namespace
}  // namespace sotto::test
