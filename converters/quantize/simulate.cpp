#include "converters/quantize/simulate.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "converters/quantize/parallel.h"

namespace sotto {
namespace {

void add_block(std::span<const float> block, uint32_t bits, double kept_from, SimulatedError& error) {
  const double highest = std::ldexp(1.0, static_cast<int>(bits) - 1) - 1;
  const auto is_kept = [kept_from](double value) { return std::fabs(value) >= kept_from; };
  double max = 0;
  for (const double value : block) max = is_kept(value) ? max : std::max(max, std::fabs(value));
  const double scale = max / highest;
  for (const double value : block) {
    error.signal += value * value;
    if (is_kept(value) || max == 0) continue;
    const double difference = value - std::nearbyint(value / scale) * scale;
    error.noise += difference * difference;
    error.largest_error = std::max(error.largest_error, std::fabs(difference));
  }
}

}  // namespace

void SimulatedError::add(const SimulatedError& other) {
  signal += other.signal;
  noise += other.noise;
  largest_error = std::max(largest_error, other.largest_error);
}

double importance_threshold(std::span<const float> weights, double share) {
  const auto count = static_cast<size_t>(std::ceil(share * static_cast<double>(weights.size())));
  if (count == 0) return std::numeric_limits<double>::infinity();
  std::vector<float> magnitudes(weights.size());
  std::transform(weights.begin(), weights.end(), magnitudes.begin(), [](float value) { return std::fabs(value); });
  const auto last = magnitudes.begin() + static_cast<ptrdiff_t>(std::min(count, weights.size()) - 1);
  std::nth_element(magnitudes.begin(), last, magnitudes.end(), std::greater<>());
  return *last;
}

SimulatedError simulate_quantization(std::span<const float> weights, uint32_t inputs, uint32_t bits, double kept_from,
                                     unsigned thread_count) {
  std::vector<SimulatedError> errors(weights.size() / inputs);  // per output, added in order
  for_each_index(errors.size(), thread_count, [&](size_t output) {
    const std::span<const float> row = weights.subspan(output * inputs, inputs);
    for (size_t first = 0; first < inputs; first += kSimulatedBlock) {
      add_block(row.subspan(first, std::min<size_t>(kSimulatedBlock, inputs - first)), bits, kept_from, errors[output]);
    }
  });
  SimulatedError sum;
  for (const SimulatedError& error : errors) sum.add(error);
  return sum;
}

}  // namespace sotto
