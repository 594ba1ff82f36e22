// Estimates where a truncation ends, so that a Ranking has to look at few tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace sotto {

// The logits l with floor <= l < ceiling, or all from `floor` on if the ceiling is kNoCeiling.
struct LogitRange {
  float floor;
  float ceiling;
};
inline constexpr float kNoCeiling = std::numeric_limits<float>::quiet_NaN();

inline constexpr size_t kMinEstimated = 4096;  // minimum number of logits for an estimate

// Estimates an interval of logits that contains the border: the logit at which the weights, summed from the largest
// logit down, reach `target`. If `weights` is null, every weight is 1. `total` is the sum of all weights, in fixed
// point as `target`. The result may be wrong; its floor is -infinity if nothing can be estimated.
//
// The interval extends three standard deviations to either side of the estimate from an evenly spaced sample. Variances
// are compared instead of deviations, because a square root per bucket would cost more than the sums.
LogitRange estimate_border(std::span<const float> logits, const float* weights, uint64_t total, uint64_t target);

}  // namespace sotto
