// Compares a hash of the outputs of each operation over fixed inputs with the committed hash. The hash is the same on
// every CPU.
#include <cstring>

#include "tests/kernels/isa_test.h"

namespace sotto::test {
namespace {

// FNV-1a.
class Hash {
 public:
  template <typename T>
  void add(const T* values, size_t count) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(values);
    for (size_t i = 0; i < count * sizeof(T); ++i) {
      value_ = (value_ ^ bytes[i]) * 0x100000001b3u;
    }
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325u;
};

// Generates the same numbers with every library, which the standard distributions do not guarantee.
class Inputs {
 public:
  float next() {  // in [-8, 8), most of them small
    const auto draw = static_cast<float>(bits() >> 40) * 0x1p-23f - 1.0f;
    return draw * draw * draw * 8.0f;
  }
  int8_t next_int8() { return static_cast<int8_t>(bits() >> 56); }
  std::vector<float> floats(size_t n) {
    std::vector<float> values(n);
    for (float& x : values) x = next();
    return values;
  }
  std::vector<int8_t> bytes(size_t n) {
    std::vector<int8_t> values(n);
    for (int8_t& x : values) x = next_int8();
    return values;
  }

 private:
  uint64_t bits() { return state_ = state_ * 6364136223846793005u + 1442695040888963407u; }
  uint64_t state_ = 42;
};

constexpr size_t kLengths[] = {1, 15, 16, 37, 64, 257, 768, 3072};

// Calls body(inputs, n, hash) for each length.
template <typename Body>
uint64_t hash_of(Body&& body) {
  Inputs inputs;
  Hash hash;
  for (const size_t n : kLengths) body(inputs, n, hash);
  return hash.value();
}

using Golden = IsaTest;

TEST_P(Golden, LayerNormKeepsItsBits) {
  const uint64_t hash = hash_of([&](Inputs& inputs, size_t n, Hash& sink) {
    const std::vector<float> x = inputs.floats(n), gain = inputs.floats(n), bias = inputs.floats(n);
    std::vector<float> y(n);
    kernels_->layer_norm(x.data(), gain.data(), bias.data(), 1e-5f, n, y.data());
    sink.add(y.data(), n);
  });
  EXPECT_EQ(hash, 0xa11bd79b0025314bu);
}

TEST_P(Golden, QuantizationKeepsItsBits) {
  const uint64_t hash = hash_of([&](Inputs& inputs, size_t n, Hash& sink) {
    const std::vector<float> x = inputs.floats(n);
    std::vector<int8_t> q(n);
    RowQuantization quantization{};
    kernels_->quantize_row(x.data(), n, q.data(), &quantization);
    sink.add(q.data(), n);
    sink.add(&quantization.zero_point, 1);
    sink.add(&quantization.scale, 1);
    const float scale = kernels_->quantize_symmetric(x.data(), n, q.data());
    sink.add(q.data(), n);
    sink.add(&scale, 1);
  });
  EXPECT_EQ(hash, 0x8d9fe15fe676c003u);
}

TEST_P(Golden, GeluKeepsItsBits) {
  const uint64_t hash = hash_of([&](Inputs& inputs, size_t n, Hash& sink) {
    std::vector<float> x = inputs.floats(n);
    std::vector<float> y = x;
    kernels_->activate(Activation::kGeluTanh, x.data(), n);
    kernels_->activate(Activation::kGeluErf, y.data(), n);
    sink.add(x.data(), n);
    sink.add(y.data(), n);
  });
  EXPECT_EQ(hash, 0xf032ff0f4d992857u);
}

TEST_P(Golden, OtherActivationsKeepTheirBits) {
  const uint64_t hash = hash_of([&](Inputs& inputs, size_t n, Hash& sink) {
    const std::vector<float> x = inputs.floats(n);
    for (const Activation activation : kActivations) {
      if (activation == Activation::kGeluTanh || activation == Activation::kGeluErf) continue;
      std::vector<float> y = x;
      kernels_->activate(activation, y.data(), n);
      sink.add(y.data(), n);
    }
  });
  EXPECT_EQ(hash, 0x74d8e6e87fcde3e7u);
}

TEST_P(Golden, AddAndEmbedKeepTheirBits) {
  const uint64_t hash = hash_of([&](Inputs& inputs, size_t n, Hash& sink) {
    const std::vector<float> x = inputs.floats(n);
    const std::vector<int8_t> q = inputs.bytes(n);
    std::vector<float> y(n);
    kernels_->embed(q.data(), 0.013f, x.data(), n, y.data());
    kernels_->add(x.data(), n, y.data());
    sink.add(y.data(), n);
  });
  EXPECT_EQ(hash, 0xb5e636b40deb02dcu);
}

TEST_P(Golden, SoftmaxKeepsItsBits) {
  const uint64_t hash = hash_of([&](Inputs& inputs, size_t n, Hash& sink) {
    const std::vector<float> x = inputs.floats(n);
    std::vector<float> y(n);
    const float max = kernels_->max(x.data(), n);
    const uint64_t argmax = kernels_->argmax(x.data(), n);
    const float sum = kernels_->exp_shifted(x.data(), n, max, y.data());
    sink.add(&max, 1);
    sink.add(&argmax, 1);
    sink.add(&sum, 1);
    sink.add(y.data(), n);
  });
  EXPECT_EQ(hash, 0x959244f32a0d3249u);
}

TEST_P(Golden, AttentionKeepsItsBits) {
  const uint64_t hash = hash_of([&](Inputs& inputs, size_t n, Hash& sink) {
    constexpr uint32_t kSlots = 77;
    const size_t head_size = n < 256 ? n : 256;
    const size_t stride = align_up(head_size, kHeadAlignment);
    const std::vector<float> query = inputs.floats(head_size);
    std::vector<int8_t> rows = inputs.bytes(kSlots * stride);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (i % stride >= head_size) rows[i] = 0;
    }
    std::vector<float> scales = inputs.floats(kSlots);
    for (float& scale : scales) scale *= scale * 0.01f;
    const SlotSpan spans[] = {{0, 4}, {30, 47}, {4, 26}};
    std::vector<float> scores(kSlots), output(head_size);
    kernels_->attention({query.data(), rows.data(), scales.data(), rows.data(), scales.data(), head_size, stride,
                         0.125f, spans, 3, scores.data(), output.data()});
    sink.add(output.data(), head_size);
  });
  EXPECT_EQ(hash, 0xd3156d3f0bec2797u);
}

SOTTO_INSTANTIATE_ISAS(Golden);

}  // namespace
}  // namespace sotto::test
