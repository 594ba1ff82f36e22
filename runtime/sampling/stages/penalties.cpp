#include "runtime/sampling/stages/penalties.h"

#include <algorithm>
#include <limits>

#include "runtime/sampling/stages/bans.h"

namespace sotto {

void repetition_penalty(Candidates& candidates, std::span<const PastToken> window, float penalty) {
  for (const PastToken& past : window) {
    const float r = past.newest == 1 ? penalty : 1 + past.newest * (penalty - 1);
    candidates.change_logit(past.token, [r](float l) { return l > 0 ? l / r : l * r; });
  }
}

void frequency_penalty(Candidates& candidates, std::span<const PastToken> window, float penalty) {
  for (const PastToken& past : window) {
    const float amount = past.sum * penalty;
    candidates.change_logit(past.token, [amount](float l) { return l - amount; });
  }
}

void presence_penalty(Candidates& candidates, std::span<const PastToken> window, float penalty) {
  for (const PastToken& past : window) {
    const float amount = past.newest * penalty;
    candidates.change_logit(past.token, [amount](float l) { return l - amount; });
  }
}

float guarded_penalty(float penalty, float limit, float severity) {
  return limit > penalty ? penalty + severity * (limit - penalty) : penalty;
}

void BreakerSet::layout(Arena& arena, size_t vocabulary_size) {
  vocabulary_size_ = vocabulary_size;
  words_ = arena.take<uint64_t>(TokenMask::word_count(vocabulary_size));
  if (words_ != nullptr) std::fill_n(words_, TokenMask::word_count(vocabulary_size), 0);
}

void BreakerSet::set(std::span<const TextView> texts, std::span<const int32_t> tokens, const TokenBytes& bytes) {
  std::fill_n(words_, TokenMask::word_count(vocabulary_size_), 0);
  const auto add = [this](size_t token) { words_[token / 64] |= uint64_t{1} << (token % 64); };
  for (const int32_t token : tokens) add(static_cast<size_t>(token));
  if (bytes.of == nullptr || texts.empty()) return;
  for (size_t token = 0; token < vocabulary_size_; ++token) {
    const std::span<const char> text = bytes.of(bytes.self, static_cast<int32_t>(token));
    const bool breaks = std::any_of(texts.begin(), texts.end(), [text](const TextView& breaker) {
      const char* end = breaker.text + breaker.size;
      return std::search(text.begin(), text.end(), breaker.text, end) != text.end();
    });
    if (breaks) add(token);
  }
}

void dry(Candidates& candidates, PastTokens& past, const BreakerSet& breakers, const DryParams& params) {
  const size_t reach = past.reach(params.window);
  const size_t allowed = params.allowed_length;
  if (reach <= allowed) return;
  const std::span<const int32_t> reversed = past.reversed().first(reach);
  const auto breaker =
      std::find_if(reversed.begin(), reversed.end(), [&](int32_t token) { return breakers.contains(token); });
  const auto limit = static_cast<size_t>(breaker - reversed.begin());
  if (limit < allowed) return;
  const std::span<const uint32_t> repeats = past.repeats();
  TokenTable& table = past.table();
  table.clear(reach);
  for (size_t k = 1; k < reach; ++k) {
    const size_t length = std::min({size_t{repeats[k]}, reach - k, limit});
    if (length < allowed || breakers.contains(reversed[k - 1])) continue;
    PastToken& followed = table.at(reversed[k - 1]);
    followed.longest = std::max(followed.longest, static_cast<uint32_t>(length));
  }
  for (const PastToken& followed : table.entries()) {
    const double power = bounded_power(static_cast<double>(params.base), followed.longest - allowed);
    const auto penalty = static_cast<float>(std::min(static_cast<double>(params.multiplier) * power,
                                                     static_cast<double>(std::numeric_limits<float>::max())));
    candidates.change_logit(followed.token, [penalty](float l) { return l - penalty; });
  }
}

}  // namespace sotto
