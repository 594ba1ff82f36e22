#include "converters/readers/checkpoint.h"

#include <cmath>
#include <limits>
#include <stdexcept>

namespace sotto {
namespace {

constexpr uint32_t kHeadSizeLimit = 256;
// A limit that keeps int32 sums of int8 products exact: 127 * 255 * 65536 < 2^31.
constexpr uint32_t kInputLimit = 65536;
constexpr uint32_t kCountLimit = uint32_t{1} << 24;

void check_count(uint32_t value, uint32_t limit, const char* what, const std::string& where) {
  if (value < 1 || value > limit) {
    throw std::runtime_error(where + ": " + what + " is " + std::to_string(value) + "; it must be between 1 and " +
                             std::to_string(limit));
  }
}

}  // namespace

void check_info(const CheckpointInfo& info, const std::string& where) {
  const ModelShape& shape = info.shape;
  check_count(shape.vocabulary_size, kCountLimit, "the vocabulary size", where);
  check_count(shape.position_count, kCountLimit, "the number of positions", where);
  check_count(shape.embedding_size, kInputLimit, "the embedding size", where);
  check_count(shape.feed_forward_size, kInputLimit, "the feed-forward size", where);
  check_count(shape.head_count, kInputLimit, "the number of heads", where);
  check_count(shape.layer_count, kInputLimit, "the number of layers", where);
  if (shape.embedding_size % shape.head_count != 0) {
    throw std::runtime_error(where + ": the embedding size " + std::to_string(shape.embedding_size) +
                             " is not a multiple of the " + std::to_string(shape.head_count) + " heads");
  }
  check_count(shape.embedding_size / shape.head_count, kHeadSizeLimit, "the head size", where);
  if (!(info.norm_epsilon >= std::numeric_limits<float>::min()) || !std::isfinite(info.norm_epsilon)) {
    throw std::runtime_error(where + ": the epsilon of the layer norms is not a positive number");
  }
}

FloatModel load_float_model(const Checkpoint& checkpoint) {
  const CheckpointInfo& info = checkpoint.info();
  FloatModel model;
  model.name = info.name;
  model.source = info.source;
  model.shape = info.shape;
  model.activation = info.activation;
  model.norm_epsilon = info.norm_epsilon;
  model.end_of_text_token = info.end_of_text_token;
  model.positions = checkpoint.positions();
  model.token_embedding = checkpoint.token_embedding();
  for (uint32_t i = 0; i < info.shape.layer_count; ++i) model.layers.push_back(checkpoint.layer(i));
  model.final_norm = checkpoint.final_norm();
  if (info.head_kind != HeadKind::kTied) model.head = checkpoint.head();
  return model;
}

}  // namespace sotto
