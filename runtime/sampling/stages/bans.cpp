// Stages that ban tokens, force a token, or add to the logits of given tokens. The sum of infinities of opposite signs
// is NaN, which counts as -infinity.
#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/base/scalar_math.h"
#include "runtime/sampling/hard_bans.h"
#include "runtime/sampling/stages/stage.h"

namespace sotto {
namespace {

void ban(Candidates& candidates, int32_t token) {
  candidates.change_logit(token, [](float) { return kMinusInfinity; });
}

void ban(Candidates& candidates, std::span<const int32_t> tokens) {
  for (const int32_t token : tokens) ban(candidates, token);
}

// Replaces NaN by -infinity. If there are logits of +infinity, they become 0 and all others -infinity: these tokens are
// equally likely.
void resolve_infinities(std::span<float> logits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (std::find(logits.begin(), logits.end(), kInfinity) != logits.end()) {
    for (float& logit : logits) logit = logit == kInfinity ? 0 : kMinusInfinity;
  }
  for (float& logit : logits) logit = logit == logit ? logit : kMinusInfinity;
}

}  // namespace

namespace stages {

// Lets the callbacks change the logits of the whole vocabulary. Tokens that are not candidates have -infinity, and
// remain excluded.
void logits_callback(Candidates& candidates, const StageInput& input) {
  const auto call = [&](float* logits, size_t count) {
    const SamplerParams& p = input.params;
    if (p.logits_callback != nullptr) p.logits_callback(p.logits_user_data, logits, count);
    if (p.logits_processor == nullptr) return;
    const auto tokens = input.past.in_order();
    p.logits_processor(p.processor_user_data, tokens.data(), tokens.size(), input.sample.sequence, logits, count);
  };
  candidates.change_logits([&](std::span<float> own) {
    if (candidates.ids() == nullptr) {
      call(own.data(), own.size());
    } else {
      float* whole = input.scratch.floats;
      std::fill_n(whole, input.context.vocabulary_size, kMinusInfinity);
      for (size_t i = 0; i < own.size(); ++i) whole[candidates.id(i)] = own[i];
      call(whole, input.context.vocabulary_size);
      for (size_t i = 0; i < own.size(); ++i) own[i] = whole[candidates.id(i)];
    }
    resolve_infinities(own);
  });
}

void bias(Candidates& candidates, const StageInput& input) {
  for (const TokenBias& entry : input.params.logit_bias) {
    candidates.change_logit(entry.token, [&](float l) { return l + entry.bias; });
  }
}

// Adds the bias of each sequence to its last token if the text ends with the other tokens of the sequence.
void sequence_bias(Candidates& candidates, const StageInput& input) {
  for (const SequenceBias& entry : input.params.sequence_bias) {
    const std::span<const int32_t> tokens(entry.tokens, entry.count);
    if (!completes(input.sample.history, tokens)) continue;
    candidates.change_logit(tokens.back(), [&](float l) { return l + entry.bias; });
  }
}

void min_tokens(Candidates& candidates, const StageInput& input) {
  if (input.sample.generated_count < input.params.min_new_tokens) ban(candidates, input.context.end_tokens);
}

// Forces a token if this position of the answer has one: the next token of the prefix, or the last token at the token
// limit. Keeps only this token, with l = 0. Does nothing if the token is not a candidate.
void forced(Candidates& candidates, const StageInput& input) {
  const uint64_t generated = input.sample.generated_count, limit = input.sample.token_limit;
  const std::span<const int32_t> prefix = input.params.forced_prefix;
  int32_t token = kNoTokenId;
  if (generated < prefix.size()) {
    token = prefix[static_cast<size_t>(generated)];
  } else if (limit > 0 && generated + 1 == limit) {
    token = input.params.forced_last_token;
  }
  if (token == kNoTokenId || !candidates.keep_tokens({&token, 1})) return;
  candidates.change_logit(token, [](float) { return 0.0f; });
}

// Adds |l_end| (factor^tokens - 1), limited to finite values, to the logit of each end-of-text token. The end becomes
// more likely, exponentially in the number of tokens since the start of the decay (ExponentialDecayLengthPenalty of
// transformers).
void end_decay(Candidates& candidates, const StageInput& input) {
  const uint64_t count = input.sample.generated_count, start = input.params.end_decay_start;
  if (count <= start) return;
  const double power = bounded_power(static_cast<double>(input.params.end_decay_factor), count - start);
  const auto raise = [power](float l) {
    constexpr double kLargest = std::numeric_limits<float>::max();
    if (!(std::fabs(l) <= std::numeric_limits<float>::max())) return l;
    const auto logit = static_cast<double>(l);
    const double raised = logit + std::fabs(logit) * (power - 1);
    return static_cast<float>(std::min(std::max(raised, -kLargest), kLargest));
  };
  for (const int32_t token : input.context.end_tokens) candidates.change_logit(token, raise);
}

// Bans each token that would complete an n-gram of the history (Paulus et al. 2018). With n = 1 this is each token of
// the history.
void no_repeat_ngram(Candidates& candidates, const StageInput& input) {
  const uint32_t n = input.params.no_repeat_ngram;
  const size_t count = input.past.count_in(kWholeWindow);
  if (count < n) return;
  const std::span<const int32_t> reversed = input.past.reversed();
  if (n == 1) return ban(candidates, reversed.first(count));
  const std::span<const uint32_t> repeats = input.past.repeats();
  for (size_t k = 1; k + n <= count + 1; ++k) {
    if (repeats[k] + 1 >= n) ban(candidates, reversed[k - 1]);
  }
}

}  // namespace stages
}  // namespace sotto
