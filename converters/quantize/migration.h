// Outlier migration: makes the channels of a layer's inputs similar in range and changes its weights to compensate.
//
// At run time a row of activations shares one scale and one zero point, so a few channels of large values cost the
// others their precision. Example: two channels reach 1 and 100. With the common scale 100 / 127, the values of the
// first channel become -1, 0 or 1. If the norm divides the second channel by 100, and the weights that read it are
// multiplied by 100, both channels use the whole range.
//
// In general, the norm before the layer produces (x - shift) / scale for every channel instead of x. The weights that
// read the channel are multiplied by its scale, and the layer's bias takes up the shift. The model then computes the
// same function (Xiao et al. 2023, "SmoothQuant"; the shifts are from Wei et al. 2023, "Outlier Suppression+").
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "converters/readers/checkpoint.h"

namespace sotto {

// Maps the value x of each channel to (x - shift) / scale.
struct ChannelMap {
  std::vector<float> scales;
  std::vector<float> shifts;
};

// Returns the middle of the range of each channel of `x` (row, channel).
std::vector<float> middles_of_channels(std::span<const float> x, size_t channels);

// Returns the map with these shifts, and with scales that give each channel the same range as its weights
// (SmoothQuant's formula with alpha 1/2). `x` is (row, input), and importance[o] is the cost of the squared error of
// output o.
ChannelMap balance_channels(std::span<const float> x, std::vector<float> shifts, const FloatLinear& layer,
                            std::span<const float> importance);

// Returns the map that minimizes the expected squared error of the layer's outputs: the error of activations rounded to
// 8 bits per row plus the error of weights rounded to 8 bits per output. Multiplying a channel of x by a factor and
// dividing its weights by it changes only that channel's scale, by the same factor.
ChannelMap optimize_channels(std::span<const float> x, const FloatLinear& layer, std::span<const float> importance);

// Changes a norm and the layer that reads it so that the layer's inputs become (x - shift) / scale.
void fold(const ChannelMap& map, FloatNorm& norm, FloatLinear& layer);

}  // namespace sotto
