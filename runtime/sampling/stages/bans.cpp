#include "runtime/sampling/stages/bans.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sotto {

void allow_only(Candidates& candidates, std::span<const int32_t> tokens) { candidates.keep_tokens(tokens); }

void ban(Candidates& candidates, int32_t token) {
  candidates.change_logit(token, [](float) { return kMinusInfinity; });
}

void ban(Candidates& candidates, std::span<const int32_t> tokens) {
  for (const int32_t token : tokens) ban(candidates, token);
}

bool completes(const TokenHistory& history, std::span<const int32_t> tokens) {
  const size_t before = tokens.size() - 1;
  if (before > history.size()) return false;
  for (size_t back = 0; back < before; ++back) {
    if (history.from_end(back) != tokens[before - 1 - back]) return false;
  }
  return true;
}

void ban_bad_words(Candidates& candidates, std::span<const TokenList> words, const TokenHistory& history,
                   std::span<const int32_t> end_tokens) {
  for (const TokenList& word : words) {
    const std::span<const int32_t> tokens(word.tokens, word.count);
    if (tokens.size() == 1 && std::find(end_tokens.begin(), end_tokens.end(), tokens[0]) != end_tokens.end()) continue;
    if (completes(history, tokens)) ban(candidates, tokens.back());
  }
}

void ban_repeated_ngrams(Candidates& candidates, PastTokens& past, uint32_t n) {
  const size_t reach = past.reach(kWholeWindow);
  if (reach < n) return;
  const std::span<const int32_t> reversed = past.reversed();
  if (n == 1) return ban(candidates, reversed.first(reach));
  const std::span<const uint32_t> repeats = past.repeats();
  for (size_t k = 1; k + n <= reach + 1; ++k) {
    if (repeats[k] + 1 >= n) ban(candidates, reversed[k - 1]);
  }
}

void force(Candidates& candidates, const SampleInput& input, std::span<const int32_t> prefix, int32_t last_token) {
  int32_t token = kNoTokenId;
  if (input.generated_count < prefix.size()) {
    token = prefix[static_cast<size_t>(input.generated_count)];
  } else if (input.token_limit > 0 && input.generated_count + 1 == input.token_limit) {
    token = last_token;
  }
  if (token == kNoTokenId || !candidates.keep_tokens({&token, 1})) return;
  candidates.change_logit(token, [](float) { return 0.0f; });
}

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
    candidates.change_logit(entry.token, [bias = entry.bias](float l) { return l + bias; });
  }
}

void add_sequence_bias(Candidates& candidates, std::span<const SequenceBias> biases, const TokenHistory& history) {
  for (const SequenceBias& entry : biases) {
    const std::span<const int32_t> tokens(entry.tokens, entry.count);
    if (!completes(history, tokens)) continue;
    candidates.change_logit(tokens.back(), [bias = entry.bias](float l) { return l + bias; });
  }
}

void raise_end(Candidates& candidates, std::span<const int32_t> end_tokens, float factor, uint64_t tokens) {
  const double power = bounded_power(static_cast<double>(factor), tokens);
  const auto raise = [power](float l) {
    constexpr double kLargest = std::numeric_limits<float>::max();
    if (!(std::fabs(l) <= std::numeric_limits<float>::max())) return l;
    const auto logit = static_cast<double>(l);
    const double raised = logit + std::fabs(logit) * (power - 1);
    return static_cast<float>(std::min(std::max(raised, -kLargest), kLargest));
  };
  for (const int32_t token : end_tokens) candidates.change_logit(token, raise);
}

}  // namespace sotto
