#include "converters/readers/synthetic.h"

#include <cassert>
#include <cmath>
#include <numbers>

#include "platforms/command_line/published_shapes.h"
#include "runtime/base/random.h"

namespace sotto {
namespace {

constexpr double kDeviation = 0.02;
constexpr size_t kQuantileCount = size_t{1} << 16;

// Random streams, one per tensor. Layer i uses kFirstLayer + 4 i and the next three.
enum : uint64_t { kPositions, kTokenEmbedding, kFirstLayer };

// SplitMix64 with a counter as its state.
uint64_t mix(uint64_t state) { return split_mix(0, state - 1); }

// The medians of kQuantileCount equally likely intervals of normal(0, kDeviation), so that drawing a weight takes 16
// random bits. Newton's method computes each from the previous one.
std::vector<float> normal_quantiles() {
  std::vector<float> quantiles(kQuantileCount);
  double x = 0;
  for (size_t i = kQuantileCount / 2; i < kQuantileCount; ++i) {
    const double upper_tail = 1 - (static_cast<double>(i) + 0.5) / kQuantileCount;
    for (int step = 0; step < 6; ++step) {
      const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
      x += (std::erfc(x / std::numbers::sqrt2) / 2 - upper_tail) / density;
    }
    quantiles[i] = static_cast<float>(x * kDeviation);
    quantiles[kQuantileCount - 1 - i] = -quantiles[i];
  }
  return quantiles;
}

CheckpointInfo info_of(const std::string& name, const ModelShape& shape, uint64_t seed) {
  CheckpointInfo info;
  info.name = name;
  info.source = "random weights, seed " + std::to_string(seed);
  info.shape = shape;
  if (shape.vocabulary_size == cli::kPublishedVocabulary) info.end_of_text_token = cli::kPublishedVocabulary - 1;
  check_info(info, name);
  return info;
}

}  // namespace

std::optional<ModelShape> find_published_shape(std::string_view name) {
  for (const cli::PublishedShape& known : cli::kPublishedShapes) {
    if (name != known.name) continue;
    return ModelShape{.vocabulary_size = cli::kPublishedVocabulary,
                      .position_count = cli::kPublishedPositions,
                      .embedding_size = known.embedding,
                      .head_count = known.heads,
                      .feed_forward_size = 4 * known.embedding,
                      .layer_count = known.layers};
  }
  return std::nullopt;
}

std::vector<std::string> published_shape_names() {
  std::vector<std::string> names;
  for (const cli::PublishedShape& known : cli::kPublishedShapes) names.push_back(known.name);
  return names;
}

SyntheticCheckpoint::SyntheticCheckpoint(const std::string& name, const ModelShape& shape, uint64_t seed)
    : Checkpoint(info_of(name, shape, seed)), seed_(seed), quantiles_(normal_quantiles()) {}

std::vector<float> SyntheticCheckpoint::draw(uint64_t tensor, size_t count) const {
  const uint64_t stream = mix(mix(seed_ + 1) ^ tensor);
  std::vector<float> values(count);
  for (size_t i = 0; i < count; i += 4) {
    uint64_t bits = mix(stream + i / 4);
    for (size_t j = i; j < count && j < i + 4; ++j, bits >>= 16) {
      values[j] = quantiles_[bits % kQuantileCount];
    }
  }
  return values;
}

FloatLinear SyntheticCheckpoint::draw_linear(uint64_t tensor, uint32_t inputs, uint32_t outputs) const {
  return {inputs, outputs, draw(tensor, size_t{inputs} * outputs), std::vector<float>(outputs, 0.0f)};
}

FloatNorm SyntheticCheckpoint::identity_norm() const {
  const size_t size = info_.shape.embedding_size;
  return {std::vector<float>(size, 1.0f), std::vector<float>(size, 0.0f)};
}

std::vector<float> SyntheticCheckpoint::positions() const {
  return draw(kPositions, size_t{info_.shape.position_count} * info_.shape.embedding_size);
}

std::vector<float> SyntheticCheckpoint::token_embedding() const {
  return draw(kTokenEmbedding, size_t{info_.shape.vocabulary_size} * info_.shape.embedding_size);
}

FloatLayer SyntheticCheckpoint::layer(uint32_t index) const {
  const uint64_t first = kFirstLayer + uint64_t{4} * index;
  const uint32_t embedding = info_.shape.embedding_size;
  const uint32_t feed_forward = info_.shape.feed_forward_size;
  FloatLayer layer;
  layer.attention_norm = identity_norm();
  layer.attention_qkv = draw_linear(first, embedding, 3 * embedding);
  layer.attention_output = draw_linear(first + 1, embedding, embedding);
  layer.feed_forward_norm = identity_norm();
  layer.feed_forward_up = draw_linear(first + 2, embedding, feed_forward);
  layer.feed_forward_down = draw_linear(first + 3, feed_forward, embedding);
  return layer;
}

FloatNorm SyntheticCheckpoint::final_norm() const { return identity_norm(); }

FloatLinear SyntheticCheckpoint::head() const {
  assert(false && "the head is tied");
  return {};
}

}  // namespace sotto
