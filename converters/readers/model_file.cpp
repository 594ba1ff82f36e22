#include "converters/readers/model_file.h"

#include <cstring>
#include <stdexcept>

#include "converters/file.h"
#include "kernels/linear/int4.h"

namespace sotto {
namespace {

// Computes W[o][i] = rows[o][i] * scales[o].
void dequantize_int8(const LinearWeights& linear, std::vector<float>& weights) {
  for (size_t output = 0; output < linear.outputs; ++output) {
    for (size_t i = output * linear.inputs; i < (output + 1) * linear.inputs; ++i) {
      weights[i] = static_cast<float>(linear.rows[i]) * linear.scales[output];
    }
  }
}

// Computes W[o][i] = (nibble - 7) * block_scale * scale from tiles, and copies the biases.
void dequantize_int4(const LinearWeights& linear, FloatLinear& result) {
  result.bias.resize(linear.outputs);
  for (size_t output = 0; output < linear.outputs; ++output) {
    const uint8_t* const tile = linear.tiles + output / kInt4Columns * int4_tile_size(linear.inputs);
    const size_t column = output % kInt4Columns;
    Int4Frame frame;
    std::memcpy(&frame, tile, sizeof frame);
    result.bias[output] = frame.biases[column];
    const uint8_t* const nibbles = tile + int4_nibbles_offset(linear.inputs);
    for (size_t i = 0; i < linear.inputs; ++i) {
      const auto [byte, shift] = int4_nibble(i, column);
      const auto block_scale = static_cast<int8_t>(tile[sizeof frame + i / kInt4Block * kInt4Columns + column]);
      const int weight = (nibbles[byte] >> shift & 15) - kInt4Zero;
      result.weights[output * linear.inputs + i] = static_cast<float>(weight * block_scale) * frame.scales[column];
    }
  }
}

// Returns whether a layer has a bias. Tiles always contain biases; they are zero if the layer has none.
bool has_bias(const LinearWeights& linear) {
  if (linear.tiles == nullptr) return linear.bias != nullptr;
  for (size_t tile = 0; tile < int4_tile_count(linear.outputs); ++tile) {
    Int4Frame frame;
    std::memcpy(&frame, linear.tiles + tile * int4_tile_size(linear.inputs), sizeof frame);
    for (const float bias : frame.biases) {
      if (bias != 0) return true;
    }
  }
  return false;
}

}  // namespace

ModelFile::ModelFile(const std::filesystem::path& path) : Checkpoint({}), path_(path) {
  const InputFile file(path);
  lines_.resize((file.size() + sizeof(Line) - 1) / sizeof(Line));
  file.read_at(0, lines_.data(), file.size());
  Error error;
  if (view_.open(lines_.data(), file.size(), &error) != Status::kOk || view_.verify_contents(&error) != Status::kOk ||
      view_.verify_small_tensors(&error) != Status::kOk) {
    fail(error.message);
  }
  const ModelConfig& config = view_.config();
  info_.name = view_.name();
  info_.source = view_.source();
  info_.shape = {.vocabulary_size = config.vocabulary_size,
                 .position_count = config.position_count,
                 .embedding_size = config.embedding_size,
                 .head_count = config.head_count,
                 .feed_forward_size = config.feed_forward_size,
                 .layer_count = config.layer_count};
  info_.activation = config.activation;
  info_.norm_epsilon = config.norm_epsilon;
  for (const int32_t token : view_.end_of_text_tokens()) info_.add_end_of_text(token);
  info_.license = view_.license();
  info_.chat_template = view_.chat_template();
  info_.chat_format = view_.chat_format();
  info_.reward_count = config.reward_count;
  // The format stores a tied head with a bias as a separate head with equal weights.
  if (has_bias(view_.head())) {
    info_.head_kind = HeadKind::kBiased;
  } else if (!view_.has_tied_head()) {
    info_.head_kind = HeadKind::kPlain;
  }
}

void ModelFile::fail(const std::string& message) const { throw std::runtime_error(path_.string() + ": " + message); }

void ModelFile::verify(const ByteRange& range, const std::string& name) const {
  Error error;
  if (view_.verify_range(range, name.c_str(), &error) != Status::kOk) fail(error.message);
}

FloatLinear ModelFile::dequantize(const LinearWeights& linear, const ByteRange& range, const std::string& name) const {
  verify(range, name);
  FloatLinear result = {linear.inputs, linear.outputs, std::vector<float>(size_t{linear.inputs} * linear.outputs), {}};
  if (linear.tiles != nullptr) {
    dequantize_int4(linear, result);
  } else {
    dequantize_int8(linear, result.weights);
    if (linear.bias != nullptr) result.bias.assign(linear.bias, linear.bias + linear.outputs);
  }
  return result;
}

FloatNorm ModelFile::read_norm(const NormView& norm) const {
  const uint32_t width = info_.shape.embedding_size;
  return {{norm.gain, norm.gain + width}, {norm.bias, norm.bias + width}};
}

std::vector<float> ModelFile::positions() const {
  const float* const positions = view_.positions();
  return {positions, positions + size_t{info_.shape.position_count} * info_.shape.embedding_size};
}

std::vector<float> ModelFile::token_embedding() const {
  return dequantize(view_.token_embedding(), view_.token_embedding_bytes(), "token embeddings").weights;
}

FloatLayer ModelFile::layer(uint32_t index) const {
  const LayerView layer = view_.layer(index);
  const auto linear = [&](const LinearWeights& weights, size_t part) {
    return dequantize(weights, view_.linear_bytes(4 * size_t{index} + part),
                      "weights of layer " + std::to_string(index));
  };
  return {read_norm(layer.attention_norm),    linear(layer.attention_qkv, 0),   linear(layer.attention_output, 1),
          read_norm(layer.feed_forward_norm), linear(layer.feed_forward_up, 2), linear(layer.feed_forward_down, 3)};
}

FloatNorm ModelFile::final_norm() const { return read_norm(view_.final_norm()); }

FloatLinear ModelFile::head() const {
  return dequantize(view_.head(), view_.linear_bytes(view_.linear_count() - 1), "head");
}

}  // namespace sotto
