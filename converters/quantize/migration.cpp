#include "converters/quantize/migration.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace sotto {
namespace {

// Expected squared error of rounding with step 1.
constexpr double kRoundingError = 1.0 / 12;
constexpr double kActivationSteps = 255;
constexpr double kWeightSteps = 127;

// Returns the sums of the squares of the weights of each channel.
std::vector<double> weight_powers(const FloatLinear& layer, std::span<const float> importance) {
  std::vector<double> powers(layer.inputs);
  for (size_t o = 0; o < layer.outputs; ++o) {
    for (size_t c = 0; c < layer.inputs; ++c) {
      const double weight = layer.weights[o * layer.inputs + c];
      powers[c] += importance[o] * weight * weight;
    }
  }
  return powers;
}

// Computes the error of a quantized layer and its derivatives as functions of the scales of its input channels.
// Rounding with step s causes a mean squared error of s^2 / 12. The layer multiplies the errors of its inputs by the
// weights, and the errors of its weights by the inputs.
class ErrorModel {
 public:
  ErrorModel(std::span<const float> x, std::span<const float> shifts, const FloatLinear& layer,
             std::span<const float> importance)
      : x_(x),
        shifts_(shifts),
        weights_(layer.weights),
        importance_(importance),
        channels_(layer.inputs),
        powers_(channels_),
        weight_powers_(weight_powers(layer, importance)) {
    const size_t rows = x.size() / channels_;
    for (size_t row = 0; row < rows; ++row) {
      for (size_t c = 0; c < channels_; ++c) {
        const double value = x[row * channels_ + c] - shifts[c];
        powers_[c] += value * value / static_cast<double>(rows);
      }
    }
  }

  // Returns the error. Writes its derivatives by the logarithms of the scales, up to a constant factor.
  double error(std::span<const float> scales, std::vector<double>& slopes) const {
    std::vector<float> inverses(channels_);
    for (size_t c = 0; c < channels_; ++c) inverses[c] = 1 / scales[c];
    std::vector<double> activation_slopes(channels_), weight_slopes(channels_);
    const double step = activation_step(inverses, activation_slopes);
    const double weight_step = weight_step_of(scales, weight_slopes);
    double gain = 0, power = 0;
    for (size_t c = 0; c < channels_; ++c) {
      gain += weight_powers_[c] * scales[c] * scales[c];
      power += powers_[c] * inverses[c] * inverses[c];
    }
    const double activation_error = kRoundingError * step * gain;
    const double weight_error = kRoundingError * weight_step * power;
    for (size_t c = 0; c < channels_; ++c) {
      const double own_gain = weight_powers_[c] * scales[c] * scales[c] / gain;
      const double own_power = powers_[c] * inverses[c] * inverses[c] / power;
      slopes[c] = activation_error * (own_gain - activation_slopes[c]) + weight_error * (weight_slopes[c] - own_power);
    }
    return activation_error + weight_error;
  }

 private:
  // Returns the mean squared quantization step of the rows. slopes[c] receives the part of the rows whose extreme is in
  // channel c.
  double activation_step(std::span<const float> inverses, std::vector<double>& slopes) const {
    double sum = 0;
    for (size_t first = 0; first < x_.size(); first += channels_) {
      float low = 0, high = 0;
      size_t lowest = 0, highest = 0;
      for (size_t c = 0; c < channels_; ++c) {
        const float value = (x_[first + c] - shifts_[c]) * inverses[c];
        if (value < low) {
          low = value;
          lowest = c;
        }
        if (value > high) {
          high = value;
          highest = c;
        }
      }
      const double range = static_cast<double>(high) - low;
      sum += range * range;
      slopes[highest] += range * high;
      slopes[lowest] -= range * low;
    }
    for (double& slope : slopes) slope /= std::max(sum, std::numeric_limits<double>::min());
    return sum * static_cast<double>(channels_) / static_cast<double>(x_.size()) /
           (kActivationSteps * kActivationSteps);
  }

  // Returns the sum of the squared quantization steps of the outputs, and the parts of the channels as above.
  double weight_step_of(std::span<const float> scales, std::vector<double>& slopes) const {
    double sum = 0;
    for (size_t o = 0; o < importance_.size(); ++o) {
      float largest = 0;
      size_t where = 0;
      for (size_t c = 0; c < channels_; ++c) {
        const float value = std::fabs(weights_[o * channels_ + c]) * scales[c];
        if (value > largest) {
          largest = value;
          where = c;
        }
      }
      const double square = importance_[o] * static_cast<double>(largest) * largest;
      sum += square;
      slopes[where] += square;
    }
    for (double& slope : slopes) slope /= std::max(sum, std::numeric_limits<double>::min());
    return sum / (kWeightSteps * kWeightSteps);
  }

  std::span<const float> x_;
  std::span<const float> shifts_;
  std::span<const float> weights_;
  std::span<const float> importance_;
  size_t channels_;
  std::vector<double> powers_;         // mean squares of the shifted inputs
  std::vector<double> weight_powers_;  // sums of squares of the weights of a channel
};

}  // namespace

std::vector<float> middles_of_channels(std::span<const float> x, size_t channels) {
  std::vector<float> lows(x.begin(), x.begin() + static_cast<ptrdiff_t>(channels));
  std::vector<float> highs = lows;
  for (size_t i = channels; i < x.size(); ++i) {
    const size_t c = i % channels;
    lows[c] = std::min(lows[c], x[i]);
    highs[c] = std::max(highs[c], x[i]);
  }
  for (size_t c = 0; c < channels; ++c) lows[c] = (lows[c] + highs[c]) / 2;
  return lows;
}

// Values near 0 are raised to a limit, so that unused channels get a finite scale.
ChannelMap balance_channels(std::span<const float> x, std::vector<float> shifts, const FloatLinear& layer,
                            std::span<const float> importance) {
  const size_t channels = layer.inputs;
  std::vector<float> ranges(channels);
  for (size_t i = 0; i < x.size(); ++i) {
    float& range = ranges[i % channels];
    range = std::max(range, std::fabs(x[i] - shifts[i % channels]));
  }
  const std::vector<double> powers = weight_powers(layer, importance);
  constexpr float kMin = 1e-6f;
  const float min_range = std::max(kMin * *std::max_element(ranges.begin(), ranges.end()), kMin);
  const double max_power = *std::max_element(powers.begin(), powers.end());
  const float min_weight = std::max(kMin * static_cast<float>(std::sqrt(max_power)), kMin);
  std::vector<float> scales(channels);
  for (size_t c = 0; c < channels; ++c) {
    const auto weight = static_cast<float>(std::sqrt(powers[c]));
    scales[c] = std::sqrt(std::max(ranges[c], min_range) / std::max(weight, min_weight));
  }
  return {std::move(scales), std::move(shifts)};
}

// Uses normalized gradient descent on the logarithms of the scales, with steps that shrink to 0, and keeps the best
// scales.
ChannelMap optimize_channels(std::span<const float> x, const FloatLinear& layer, std::span<const float> importance) {
  constexpr int kSteps = 100;
  constexpr double kFirstStep = 0.15;
  ChannelMap map = balance_channels(x, middles_of_channels(x, layer.inputs), layer, importance);
  const ErrorModel model(x, map.shifts, layer, importance);
  std::vector<float> scales = map.scales;
  std::vector<double> slopes(scales.size());
  double smallest = std::numeric_limits<double>::infinity();
  for (int step = 0; step < kSteps; ++step) {
    const double error = model.error(scales, slopes);
    if (error < smallest) {
      smallest = error;
      map.scales = scales;
    }
    double squares = 0;
    for (const double slope : slopes) squares += slope * slope;
    if (!(squares > 0)) break;
    const double size = kFirstStep * (kSteps - step) / kSteps / std::sqrt(squares / static_cast<double>(slopes.size()));
    for (size_t c = 0; c < scales.size(); ++c) {
      const double change = 1 + std::fabs(slopes[c]) * size;
      scales[c] = static_cast<float>(slopes[c] > 0 ? scales[c] / change : scales[c] * change);
    }
  }
  return map;
}

void fold(const ChannelMap& map, FloatNorm& norm, FloatLinear& layer) {
  layer.bias.resize(layer.outputs);
  for (size_t o = 0; o < layer.outputs; ++o) {
    double bias = layer.bias[o];
    for (size_t c = 0; c < layer.inputs; ++c) {
      float& weight = layer.weights[o * layer.inputs + c];
      bias += static_cast<double>(weight) * map.shifts[c];
      weight *= map.scales[c];
    }
    layer.bias[o] = static_cast<float>(bias);
  }
  for (size_t c = 0; c < layer.inputs; ++c) {
    norm.gain[c] /= map.scales[c];
    norm.bias[c] = (norm.bias[c] - map.shifts[c]) / map.scales[c];
  }
}

}  // namespace sotto
