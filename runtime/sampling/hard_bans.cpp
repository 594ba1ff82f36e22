#include "runtime/sampling/hard_bans.h"

#include <algorithm>

#include "runtime/base/token_mask.h"

namespace sotto {
namespace {

void ban(uint64_t* words, int32_t token) { clear_bit(words, static_cast<size_t>(token)); }

void ban(uint64_t* words, std::span<const int32_t> tokens) {
  for (const int32_t token : tokens) ban(words, token);
}

// Keeps the tokens of a list in ascending order.
void keep(uint64_t* words, size_t word_count, std::span<const int32_t> tokens) {
  size_t at = 0;
  for (size_t i = 0; i < word_count; ++i) {
    uint64_t kept = 0;
    for (; at < tokens.size() && static_cast<size_t>(tokens[at]) / 64 == i; ++at) {
      set_bit(&kept, static_cast<size_t>(tokens[at]) % 64);
    }
    words[i] &= kept;
  }
}

}  // namespace

bool has_hard_bans(const SamplerParams& params) {
  return std::any_of(std::begin(kHardBans), std::end(kHardBans), [&](StageKind ban) { return is_on(ban, params); });
}

bool completes(const TokenHistory& history, std::span<const int32_t> tokens) {
  const size_t before = tokens.size() - 1;
  if (before > history.size()) return false;
  for (size_t back = 0; back < before; ++back) {
    if (history.from_end(back) != tokens[before - 1 - back]) return false;
  }
  return true;
}

void apply_hard_bans(const SamplerParams& params, const SamplerContext& context, const SampleInput& input,
                     uint64_t* words) {
  if (!params.allowed_tokens.empty()) {
    keep(words, TokenMask::word_count(context.vocabulary_size), params.allowed_tokens);
  }
  ban(words, params.suppressed_tokens);
  if (input.generated_count == 0) ban(words, params.begin_suppressed_tokens);
  if (params.ignore_end) ban(words, context.end_tokens);
  // The last token of each list is banned if the text ends with the other tokens of the list. A list of one token is
  // always banned, unless that is an end-of-text token (as in NoBadWordsLogitsProcessor of transformers).
  const std::span<const int32_t> ends = context.end_tokens;
  for (const TokenList& word : params.bad_words) {
    const std::span<const int32_t> tokens(word.tokens, word.count);
    if (tokens.size() == 1 && std::find(ends.begin(), ends.end(), tokens[0]) != ends.end()) continue;
    if (completes(input.history, tokens)) ban(words, tokens.back());
  }
}

}  // namespace sotto
