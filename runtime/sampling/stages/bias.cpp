#include "runtime/sampling/stages/bias.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/sampling/stages/bans.h"

namespace sotto {

double bounded_power(double base, uint64_t exponent) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  double power = 1;
  for (double square = base; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) power = std::min(power * square, kLargest);
    square = std::min(square * square, kLargest);
  }
  return power;
}

void add_bias(Candidates& candidates, std::span<const TokenBias> biases) {
  for (const TokenBias& entry : biases) {
    candidates.change(entry.token, [bias = entry.bias](float l) { return l + bias; });
  }
}

void add_sequence_bias(Candidates& candidates, std::span<const SequenceBias> biases, const TokenHistory& history) {
  for (const SequenceBias& entry : biases) {
    const std::span<const int32_t> tokens(entry.tokens, entry.count);
    if (!completes(history, tokens)) continue;
    candidates.change(tokens.back(), [bias = entry.bias](float l) { return l + bias; });
  }
}

void raise_end(Candidates& candidates, int32_t end_token, float factor, uint64_t tokens) {
  const double power = bounded_power(static_cast<double>(factor), tokens);
  candidates.change(end_token, [power](float l) {
    constexpr double kLargest = std::numeric_limits<float>::max();
    if (!(std::fabs(l) <= std::numeric_limits<float>::max())) return l;
    const auto logit = static_cast<double>(l);
    const double raised = logit + std::fabs(logit) * (power - 1);
    return static_cast<float>(std::min(std::max(raised, -kLargest), kLargest));
  });
}

}  // namespace sotto
