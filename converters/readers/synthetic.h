// Models of any shape with random weights, initialized as GPT-2 is before training. Such models serve benchmarks and
// tests of speed and memory, where the values of weights do not matter.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "converters/readers/checkpoint.h"

namespace sotto {

// Returns the shape of a published model, or nullopt for an unknown name.
std::optional<ModelShape> find_published_shape(std::string_view name);
// Returns the names that find_published_shape() knows.
std::vector<std::string> published_shape_names();

// A model whose linear weights and embeddings are drawn from normal(0, 0.02), with biases of 0 and norms that are the
// identity. The same seed gives the same weights.
class SyntheticCheckpoint final : public Checkpoint {
 public:
  SyntheticCheckpoint(const std::string& name, const ModelShape& shape, uint64_t seed);

  std::vector<float> positions() const override;
  std::vector<float> token_embedding() const override;
  FloatLayer layer(uint32_t index) const override;
  FloatNorm final_norm() const override;
  FloatLinear head() const override;

 private:
  std::vector<float> draw(uint64_t tensor, size_t count) const;
  FloatLinear draw_linear(uint64_t tensor, uint32_t inputs, uint32_t outputs) const;
  FloatNorm identity_norm() const;

  uint64_t seed_;
  std::vector<float> quantiles_;
};

}  // namespace sotto
