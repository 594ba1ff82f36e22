#include "runtime/sampling/stages/dry.h"

#include <algorithm>
#include <limits>

#include "runtime/base/scalar_math.h"
#include "runtime/base/token_mask.h"
#include "runtime/sampling/stages/stage.h"

namespace sotto {

void BreakerSet::layout(Arena& arena, size_t vocabulary_size) {
  vocabulary_size_ = vocabulary_size;
  words_ = arena.take<uint64_t>(TokenMask::word_count(vocabulary_size));
}

void BreakerSet::init() { std::fill_n(words_, TokenMask::word_count(vocabulary_size_), 0); }

void BreakerSet::set(std::span<const TextView> texts, std::span<const int32_t> tokens, const TokenBytes& bytes) {
  init();
  for (const int32_t token : tokens) set_bit(words_, static_cast<size_t>(token));
  if (bytes.of == nullptr || texts.empty()) return;
  for (size_t token = 0; token < vocabulary_size_; ++token) {
    const std::span<const char> text = bytes.of(bytes.self, static_cast<int32_t>(token));
    const bool breaks = std::any_of(texts.begin(), texts.end(), [text](const TextView& breaker) {
      const char* end = breaker.text + breaker.size;
      return std::search(text.begin(), text.end(), breaker.text, end) != text.end();
    });
    if (breaks) set_bit(words_, token);
  }
}

// DRY, "don't repeat yourself" (p-e-w 2024, text-generation-webui pull request 5677), as in llama.cpp. A token is
// penalized if it would continue a repetition: the n newest tokens also occur earlier, and there the token follows
// them. None of the n tokens may be a breaker. The stage takes the largest such n >= allowed_length and reduces the
// logit by multiplier * base^(n - allowed_length).
void stages::dry(Candidates& candidates, const StageInput& input) {
  const SamplerParams& p = input.params;
  const size_t count = input.past.count_in(p.dry_window);
  const size_t allowed_length = p.dry_allowed_length;
  if (count <= allowed_length) return;
  const std::span<const int32_t> reversed = input.past.reversed().first(count);
  const auto breaker =
      std::find_if(reversed.begin(), reversed.end(), [&](int32_t token) { return input.breakers.contains(token); });
  const auto limit = static_cast<size_t>(breaker - reversed.begin());
  if (limit < allowed_length) return;
  const std::span<const uint32_t> repeats = input.past.repeats();
  TokenTable& table = input.past.table();
  table.clear(count);
  for (size_t k = 1; k < count; ++k) {
    const size_t length = std::min({size_t{repeats[k]}, count - k, limit});
    if (length < allowed_length || input.breakers.contains(reversed[k - 1])) continue;
    PastToken& followed = table.at(reversed[k - 1]);
    followed.longest = std::max(followed.longest, static_cast<uint32_t>(length));
  }
  for (const PastToken& followed : table.entries()) {
    const double power = bounded_power(static_cast<double>(p.dry_base), followed.longest - allowed_length);
    const auto penalty = static_cast<float>(std::min(static_cast<double>(p.dry_multiplier) * power,
                                                     static_cast<double>(std::numeric_limits<float>::max())));
    candidates.change_logit(followed.token, [penalty](float l) { return l - penalty; });
  }
}

}  // namespace sotto
