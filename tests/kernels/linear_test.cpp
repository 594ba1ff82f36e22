// Compares linear layers with the scalar definition, bit for bit. A process uses one instruction set, so ctest runs
// this program once for each: linear_test ISA.

#include <gtest/gtest.h>
#if defined(__linux__) && defined(__x86_64__)
#  include <sys/syscall.h>
#  include <unistd.h>
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

#include "kernels/dispatch/cpu_features.h"
#include "kernels/dispatch/tables.h"
#include "kernels/linear/linear.h"

namespace sotto {
namespace {

Isa isa_under_test = Isa::kAuto;

// Returns the kernels of the instruction set, and other kernels of the same packed layout that this CPU can run. The
// others use AVX-VNNI, or on ARM they are those of kernels/arm in a build with XNNPACK's kernels.
std::vector<LinearKernels> kernels_under_test() {
  std::vector<LinearKernels> all = {linear_kernels(isa_under_test)};
  [[maybe_unused]] const auto add = [&all](const Int8Kernels& int8) { all.push_back({&int8, all[0].int4}); };
#if SOTTO_X86_64
  if (isa_under_test == Isa::kAvx2 && has_avx_vnni()) add(avxvnni::kInt8);
#elif SOTTO_XNNPACK
  if (isa_under_test == Isa::kNeon) add(neon::kInt8);
  if (isa_under_test == Isa::kNeonDotprod) add(neon_dotprod::kInt8);
  if (isa_under_test == Isa::kNeonI8mm) add(neon_i8mm::kInt8);
#endif
  return all;
}

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
  void pack() {
    const size_t bound = packed_size_bound(weights.inputs, weights.outputs);
    storage.assign(bound + 128, 0xA5);
    auto* aligned = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(storage.data()) + 63) / 64 * 64);
    const size_t used = pack_linear(weights, aligned);
    ASSERT_GT(used, 0u);
    ASSERT_LE(used, bound);
    ASSERT_EQ(used, packed_size(weights.inputs, weights.outputs));
    ASSERT_EQ(aligned[bound], 0xA5);
    weights.packed = aligned;
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

TEST(Linear, EqualsTheReferenceBitForBit) {
  const std::vector<LinearKernels> kernels = kernels_under_test();
  std::mt19937 random(7);
  alignas(kThreadPoolAlignment) uint8_t memory_of_two[kThreadPoolBytes];
  ThreadPool* two = create_thread_pool(memory_of_two, 2, nullptr);
  alignas(kThreadPoolAlignment) uint8_t memory_of_four[kThreadPoolBytes];
  ThreadPool* four = create_thread_pool(memory_of_four, 4, nullptr);
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
    for (const bool with_bias : {true, false}) {
      Layer layer(inputs, outputs, with_bias, random);
      layer.pack();
      const Activations all(kMaxRows, inputs, random);
      const auto expected = run(layer, linear_kernels(Isa::kReference), all, kMaxRows, nullptr);
      for (const size_t rows : kBatches) {
        const Activations x = all.first(rows, inputs);
        for (size_t k = 0; k < kernels.size(); ++k) {
          for (ThreadPool* pool : {static_cast<ThreadPool*>(nullptr), two, four}) {
            const auto got = run(layer, kernels[k], x, rows, pool);
            ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0)
                << inputs << " -> " << outputs << ", rows " << rows << ", bias " << with_bias << ", kernels " << k;
          }
        }
      }
    }
  }
  destroy_thread_pool(two);
  destroy_thread_pool(four);
}

// Scales, biases and products that are denormal or close to it.
TEST(Linear, DenormalsCountAsZero) {
  std::mt19937 random(14);
  const auto tiny = [&random] { return std::bit_cast<float>(static_cast<uint32_t>(random()) & 0x80ffffffu); };
  for (const auto& [inputs, outputs] : std::vector<std::pair<uint32_t, uint32_t>>{{7, 40}, {48, 144}, {520, 200}}) {
    for (const bool tiny_scales : {false, true}) {
      Layer layer(inputs, outputs, /*with_bias=*/true, random);
      std::ranges::generate(layer.bias, tiny);
      if (tiny_scales) std::ranges::generate(layer.scales, tiny);
      layer.pack();
      for (const size_t rows : {1, 5, 20}) {
        Activations x(rows, inputs, random);
        for (RowQuantization& row : x.quantization) row.scale = std::abs(tiny());
        const auto expected = run(layer, linear_kernels(Isa::kReference), x, rows, nullptr);
        for (const LinearKernels& kernels : kernels_under_test()) {
          const auto got = run(layer, kernels, x, rows, nullptr);
          ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0)
              << inputs << " -> " << outputs << ", rows " << rows << ", tiny scales " << tiny_scales;
        }
      }
    }
  }
}

TEST(Linear, PartsOfALayerEqualTheWhole) {
  std::mt19937 random(8);
  for (const auto& [inputs, outputs] :
       std::vector<std::pair<uint32_t, uint32_t>>{{3, 130}, {48, 144}, {64, 257}, {520, 200}}) {
    Layer layer(inputs, outputs, /*with_bias=*/true, random);
    layer.pack();
    const LinearWeights whole = layer.weights;
    for (const size_t rows : {1, 5, 20}) {
      const Activations x(rows, inputs, random);
      const auto expected = run(layer, linear_kernels(isa_under_test), x, rows, nullptr);
      for (uint32_t first = 0; first < outputs; first += 64) {
        const uint32_t count = std::min(outputs - first, first % 128 == 0 ? 128u : 64u);
        layer.weights = select_outputs(whole, first, count);
        const auto got = run(layer, linear_kernels(isa_under_test), x, rows, nullptr);
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
TEST(Linear, LargestSumsAreExact) {
  std::mt19937 random(12);
  constexpr size_t kRows = 13;
  for (const uint32_t inputs : {32u, 3072u, 32768u, 32769u}) {
    Layer layer(inputs, 18, true, random);
    for (size_t i = 0; i < size_t{inputs} * 18; ++i) {
      layer.rows[i] = i / inputs % 2 == 0 ? int8_t{127} : int8_t{-127};
    }
    layer.pack();
    Activations all(kRows, inputs, random);
    for (size_t r = 0; r < kRows; ++r) {
      const int8_t value = r % 2 == 0 ? int8_t{-128} : int8_t{127};
      std::fill_n(all.q.begin() + static_cast<ptrdiff_t>(r * inputs), inputs, value);
      all.quantization[r].zero_point = r % 4 < 2 ? 127 : -128;
    }
    const auto expected = run(layer, linear_kernels(Isa::kReference), all, kRows, nullptr);
    for (size_t rows = 1; rows <= kRows; ++rows) {
      for (const LinearKernels& kernels : kernels_under_test()) {
        const auto got = run(layer, kernels, all.first(rows, inputs), rows, nullptr);
        ASSERT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0)
            << inputs << " inputs, rows " << rows;
      }
    }
  }
}

// Tests every number of outputs from none to all. Memory that must not be written is poisoned.
TEST(Linear, SelectedOutputsEqualThoseOfTheWholeLayer) {
  std::mt19937 random(11);
  for (const auto& [inputs, outputs] :
       std::vector<std::pair<uint32_t, uint32_t>>{{1, 1}, {31, 33}, {64, 257}, {255, 65}, {768, 130}}) {
    for (const bool with_bias : {true, false}) {
      Layer layer(inputs, outputs, with_bias, random);
      layer.pack();
      const Activations x(1, inputs, random);
      const LinearKernels kernels = linear_kernels(isa_under_test);
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
        std::vector<float> y(outputs, -1.0f);
        std::vector<int8_t> scratch(inputs);
        run_linear_outputs(kernels, layer.weights, wanted.data(), x.q.data(), x.quantization[0], y.data(),
                           scratch.data());
        ASSERT_EQ(std::memcmp(y.data(), expected.data(), outputs * sizeof(float)), 0)
            << inputs << " -> " << outputs << ", " << share << "% of them";
      }
    }
  }
}

TEST(Linear, PackedRowsAreReadable) {
  std::mt19937 random(10);
  for (const auto& [inputs, outputs] :
       std::vector<std::pair<uint32_t, uint32_t>>{{1, 1}, {8, 16}, {31, 33}, {100, 70}}) {
    Layer layer(inputs, outputs, true, random);
    layer.pack();
    for (uint32_t output = 0; output < outputs; ++output) {
      std::vector<int8_t> row(inputs + 1, 99);
      read_packed_row(layer.weights, output, row.data());
      EXPECT_EQ(std::memcmp(row.data(), layer.rows.data() + output * inputs, inputs), 0)
          << inputs << " -> " << outputs << ", row " << output;
      EXPECT_EQ(row[inputs], 99);
    }
  }
}

TEST(Linear, PackingIsReproducible) {
  std::mt19937 random(9);
  Layer layer(70, 50, true, random);
  layer.pack();
  alignas(64) uint8_t again[packed_size_bound(70, 50)];
  std::memset(again, 0x5A, sizeof again);
  const size_t used = pack_linear(layer.weights, again);
  EXPECT_EQ(std::memcmp(again, layer.weights.packed, used), 0);
  EXPECT_EQ(packed_layout_fingerprint(), packed_layout_fingerprint());
}

// Model files may contain packed weights. The values are of XNNPACK's own packing functions with the parameters of its
// GEMM configurations.
TEST(Linear, PackedBytesAreThoseOfXnnpack) {
  const struct {
    std::vector<Isa> isas;
    uint64_t fingerprint;
  } layouts[] = {
      {{Isa::kNeon}, 0x1484afe7d57f38bd},
      {{Isa::kNeonDotprod}, 0x7fccb907dfb4dd1d},
      {{Isa::kNeonI8mm, Isa::kAvx512, Isa::kAvx512vnni, Isa::kAvx512amx}, 0x4f9f861e6f3d780d},
      {{Isa::kAvx2, Isa::kSimd128, Isa::kRelaxedSimd}, 0x9b171dd157f20499},
  };
  size_t checked = 0;
  for (const auto& [isas, fingerprint] : layouts) {
    if (std::find(isas.begin(), isas.end(), isa_under_test) == isas.end()) continue;
    EXPECT_EQ(packed_layout_fingerprint(), fingerprint);
    ++checked;
  }
  EXPECT_EQ(checked, 1u);
}

TEST(Linear, AProcessKeepsItsInstructionSet) {
  EXPECT_TRUE(select_linear_isa(isa_under_test));
  EXPECT_TRUE(select_linear_isa(Isa::kReference));
  const Isa other = isa_under_test == Isa::kAvx2 ? Isa::kAvx512 : Isa::kAvx2;
  EXPECT_FALSE(select_linear_isa(other));
}

TEST(Linear, OnlyAmxRequestsTilePermission) {
#if defined(__linux__) && defined(__x86_64__)
  constexpr long kGetPermission = 0x1022;  // ARCH_GET_XCOMP_PERM
  constexpr int kTileData = 18;
  EXPECT_NE(find_vector_kernels(), nullptr);
  uint64_t features = 0;
  if (syscall(SYS_arch_prctl, kGetPermission, &features) != 0) {
    GTEST_SKIP() << "this kernel has no permissions for registers";
  }
  EXPECT_EQ((features >> kTileData & 1) != 0, isa_under_test == Isa::kAvx512amx);
#else
  GTEST_SKIP() << "only for Linux on x86-64";
#endif
}

Isa find_isa(std::string_view name) {
  for (int32_t isa = 2; std::string_view(isa_name(static_cast<Isa>(isa))) != "unknown"; ++isa) {
    if (name == isa_name(static_cast<Isa>(isa))) return static_cast<Isa>(isa);
  }
  return Isa::kAuto;
}

}  // namespace
}  // namespace sotto

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 2) sotto::isa_under_test = sotto::find_isa(argv[1]);
  if (sotto::isa_under_test == sotto::Isa::kAuto) {
    std::fprintf(stderr, "usage: linear_test ISA\n");
    return 2;
  }
  if (sotto::find_kernels(sotto::isa_under_test) == nullptr) {
    std::printf("[  SKIPPED ] this CPU has no %s\n", argv[1]);
    return 77;
  }
  if (!sotto::select_linear_isa(sotto::isa_under_test)) return 1;
  return RUN_ALL_TESTS();
}
