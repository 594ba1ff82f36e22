#include "runtime/text/added_tokens.h"

#include "runtime/text/bpe.h"

namespace sotto {

AddedTokenFinder::AddedTokenFinder(const TokenizerView& tokenizer, bool parse_special)
    : tokenizer_(tokenizer), parse_special_(parse_special) {
  for (const uint32_t token : tokenizer.added_tokens) {
    if (!is_wanted(token)) continue;
    any_ = true;
    const auto bytes = tokenizer.bytes_of(token);
    const auto first = static_cast<uint8_t>(bytes[0]);
    if (bytes.size() == 1) {
      single_[first / 64] |= uint64_t{1} << first % 64;
    } else {
      const size_t bit = pair_bit(first, static_cast<uint8_t>(bytes[1]));
      pairs_[bit / 64] |= uint64_t{1} << bit % 64;
    }
  }
}

AddedTokenFinder::Match AddedTokenFinder::find(std::span<const char> text, size_t start) const {
  for (size_t at = start; any_ && at < text.size(); ++at) {
    if (!may_start(text, at)) continue;
    const uint32_t token = token_at(text, at);
    if (token != kNoToken) return {at, token};
  }
  return {text.size(), kNoToken};
}

bool AddedTokenFinder::may_start(std::span<const char> text, size_t at) const {
  const auto first = static_cast<uint8_t>(text[at]);
  if ((single_[first / 64] >> first % 64 & 1) != 0) return true;
  if (at + 1 == text.size()) return false;
  const size_t bit = pair_bit(first, static_cast<uint8_t>(text[at + 1]));
  return (pairs_[bit / 64] >> bit % 64 & 1) != 0;
}

uint32_t AddedTokenFinder::token_at(std::span<const char> text, size_t at) const {
  const Word rest{text.subspan(at)};
  for (size_t limit = rest.size();;) {
    const uint32_t token = longest_token(tokenizer_, tokenizer_.added_tokens, rest, limit);
    if (token == kNoToken || is_wanted(token)) return token;
    limit = tokenizer_.bytes_of(token).size() - 1;
  }
}

bool AddedTokenFinder::is_wanted(uint32_t token) const {
  return parse_special_ || tokenizer_.token_kinds[token] == TokenKind::kAdded;
}

}  // namespace sotto
