#include "converters/quantize/int4.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

#include "converters/quantize/error_feedback.h"
#include "converters/quantize/parallel.h"
#include "kernels/linear/int4.h"

namespace sotto {
namespace {

constexpr int kLowest = -kInt4Zero;
constexpr int kHighest = 15 - kInt4Zero;
constexpr int kMaxBlockScale = 127;

using Block = std::array<float, kInt4Block>;  // values divided by the row's scale, padded with zeros

// Returns the sum, computed as a tree that compilers can vectorize.
float sum_of(Block values) {
  for (size_t width = kInt4Block / 2; width > 0; width /= 2) {
    for (size_t i = 0; i < width; ++i) values[i] += values[i + width];
  }
  return values[0];
}

struct Choice {
  int scale = 0;
  Block weights = {};
  float error = 0;  // squared error
};

// Rounds a block with a given block scale. `importance` holds the cost of the squared error of each weight.
Choice round_block(const Block& block, const Block& importance, int scale) {
  Choice choice = {scale, {}, 0};
  const auto value = static_cast<float>(scale);
  const float inverse = scale == 0 ? 0.0f : 1.0f / value;
  Block squares;
  for (size_t i = 0; i < kInt4Block; ++i) {
    const float rounded = round_to_integer(block[i] * inverse);
    const float low = rounded < kLowest ? static_cast<float>(kLowest) : rounded;
    choice.weights[i] = low > kHighest ? static_cast<float>(kHighest) : low;
    const float error = block[i] - choice.weights[i] * value;
    squares[i] = importance[i] * error * error;
  }
  choice.error = sum_of(squares);
  return choice;
}

// Returns the block scale with the least squared error for given quantized weights.
int fit_scale(const Block& block, const Block& importance, const Block& weights) {
  Block products, squares;
  for (size_t i = 0; i < kInt4Block; ++i) {
    products[i] = importance[i] * block[i] * weights[i];
    squares[i] = importance[i] * weights[i] * weights[i];
  }
  const float best = sum_of(products) / std::max(sum_of(squares), std::numeric_limits<float>::min());
  const auto limit = static_cast<float>(kMaxBlockScale);
  return static_cast<int>(std::nearbyint(std::clamp(best, -limit, limit)));
}

Choice choose_block(const Block& block, const Block& importance, int max_scale) {
  float extreme = 0;
  for (const float value : block) {
    if (std::fabs(value) > std::fabs(extreme)) extreme = value;
  }
  const float suggested = std::fabs(extreme) / kHighest;
  const int low = static_cast<int>(std::floor(suggested * 0.7f));
  const int high = std::min(static_cast<int>(std::ceil(suggested * 1.2f)), max_scale);
  const int step = std::max(1, (high - low) / 16);
  Choice best = round_block(block, importance, 0);
  const auto consider = [&](int scale) {
    const Choice choice = round_block(block, importance, scale);
    if (choice.error >= best.error) return false;
    best = choice;
    return true;
  };
  for (int scale = low; scale <= high; scale += step) {
    consider(scale);
    consider(-scale);
  }
  for (int rounds = 0; rounds < 3; ++rounds) {
    const int fitted = fit_scale(block, importance, best.weights);
    if (std::abs(fitted) > max_scale || !consider(fitted)) break;
  }
  return best;
}

float row_scale(const float* row, size_t inputs, int max_scale) {
  float max = 0;
  for (size_t i = 0; i < inputs; ++i) max = std::max(max, std::fabs(row[i]));
  return max == 0 ? 1.0f : std::max(max / static_cast<float>(kHighest * max_scale), std::numeric_limits<float>::min());
}

void round_row(const float* row, int max_scale, QuantizedInt4& result, size_t output) {
  const size_t inputs = result.inputs, blocks = int4_block_count(inputs);
  const float scale = result.scales[output];
  Block importance;
  importance.fill(1);
  for (size_t b = 0; b < blocks; ++b) {
    const size_t first = b * kInt4Block;
    const size_t count = std::min(kInt4Block, inputs - first);
    Block block = {};
    for (size_t i = 0; i < count; ++i) block[i] = row[first + i] / scale;
    const Choice choice = choose_block(block, importance, max_scale);
    result.block_scales[output * blocks + b] = static_cast<int8_t>(choice.scale);
    for (size_t i = 0; i < count; ++i) {
      result.weights[output * inputs + first + i] = static_cast<int8_t>(static_cast<int>(choice.weights[i]));
    }
  }
}

void round_rows(std::span<const float> weights, const ErrorFeedback& feedback, std::span<const int> max_scales,
                QuantizedInt4& result) {
  static_assert(ErrorFeedback::kBlock == kInt4Block);
  const size_t blocks = int4_block_count(result.inputs);
  const auto choose_scale = [&](size_t output, size_t b, std::span<const float> targets,
                                std::span<const float> importance) {
    Block block = {}, costs = {};
    for (size_t i = 0; i < targets.size(); ++i) {
      block[i] = targets[i] / result.scales[output];
      costs[i] = importance[i];
    }
    const int scale = choose_block(block, costs, max_scales[output]).scale;
    result.block_scales[output * blocks + b] = static_cast<int8_t>(scale);
    return static_cast<float>(scale) * result.scales[output];
  };
  result.bias_changes = feedback.round(weights, result.outputs, kLowest, kHighest, choose_scale, result.weights.data());
}

// Returns whether the int32 sum of an output stays in range for any int8 activations.
bool sum_fits(const QuantizedInt4& result, size_t output) {
  const size_t inputs = result.inputs, blocks = int4_block_count(inputs);
  int64_t largest = 0;
  for (size_t i = 0; i < inputs; ++i) {
    const int weight = result.weights[output * inputs + i];
    largest += int64_t{255} * std::abs(weight * result.block_scales[output * blocks + i / kInt4Block]);
  }
  return largest <= std::numeric_limits<int32_t>::max();
}

void add_noise(const float* row, size_t output, QuantizedInt4& result) {
  const size_t inputs = result.inputs, blocks = int4_block_count(inputs);
  for (size_t i = 0; i < inputs; ++i) {
    const double value = row[i];
    const int weight = result.weights[output * inputs + i] * result.block_scales[output * blocks + i / kInt4Block];
    const double error = value - weight * static_cast<double>(result.scales[output]);
    result.signal += value * value;
    result.noise += error * error;
    result.largest_error = std::max(result.largest_error, std::abs(error));
  }
}

}  // namespace

QuantizedInt4 quantize_int4(std::span<const float> weights, uint32_t inputs, uint32_t outputs,
                            const ErrorFeedback* feedback, unsigned thread_count) {
  assert(weights.size() == size_t{inputs} * outputs);
  QuantizedInt4 result;
  result.inputs = inputs;
  result.outputs = outputs;
  result.weights.resize(weights.size());
  result.block_scales.resize(outputs * int4_block_count(inputs));
  result.scales.resize(outputs);
  std::vector<int> max_scales(outputs, kMaxBlockScale);
  for (bool fits = false; !fits;) {
    for_each_index(outputs, thread_count, [&](size_t output) {
      const float* row = weights.data() + output * inputs;
      result.scales[output] = row_scale(row, inputs, max_scales[output]);
      if (feedback == nullptr) round_row(row, max_scales[output], result, output);
    });
    if (feedback != nullptr) round_rows(weights, *feedback, max_scales, result);
    fits = true;
    for (size_t output = 0; output < outputs; ++output) {
      if (sum_fits(result, output)) continue;
      max_scales[output] /= 2;  // necessary only in very wide layers with nearly equal weights
      fits = false;
    }
  }
  for (size_t output = 0; output < outputs; ++output) add_noise(weights.data() + output * inputs, output, result);
  return result;
}

namespace {

void fill_tile(const QuantizedInt4& layer, std::span<const float> bias, size_t first_output, uint8_t* tile) {
  const size_t inputs = layer.inputs, blocks = int4_block_count(inputs);
  uint8_t* nibbles = tile + int4_nibbles_offset(inputs);
  std::memset(nibbles, kInt4Zero << 4 | kInt4Zero, blocks * kInt4BlockBytes);
  Int4Frame frame = {};
  std::fill_n(frame.scales, kInt4Columns, 1.0f);
  const size_t columns = std::min(kInt4Columns, layer.outputs - first_output);
  for (size_t column = 0; column < columns; ++column) {
    const size_t output = first_output + column;
    const int8_t* scales = layer.block_scales.data() + output * blocks;
    frame.scales[column] = layer.scales[output];
    if (!bias.empty()) frame.biases[column] = bias[output];
    for (size_t b = 0; b < blocks; ++b) {
      tile[sizeof frame + b * kInt4Columns + column] = static_cast<uint8_t>(scales[b]);
    }
    for (size_t i = 0; i < inputs; ++i) {
      const int weight = layer.weights[output * inputs + i];
      const NibblePosition place = int4_nibble(i, column);
      const unsigned other = nibbles[place.byte] & ~(15u << place.shift);
      nibbles[place.byte] = static_cast<uint8_t>(other | static_cast<unsigned>(weight + kInt4Zero) << place.shift);
      frame.sums[column] += weight * scales[i / kInt4Block];
    }
  }
  std::memcpy(tile, &frame, sizeof frame);
}

}  // namespace

std::vector<uint8_t> build_int4_tiles(const QuantizedInt4& layer, std::span<const float> bias) {
  std::vector<uint8_t> tiles(int4_size(layer.inputs, layer.outputs));
  const size_t tile_size = int4_tile_size(layer.inputs);
  for (size_t t = 0; t < int4_tile_count(layer.outputs); ++t) {
    fill_tile(layer, bias, t * kInt4Columns, tiles.data() + t * tile_size);
  }
  return tiles;
}

}  // namespace sotto
