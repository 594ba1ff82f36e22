#include "runtime/text/spelling.h"

#include <algorithm>
#include <cstring>

#include "runtime/text/bpe.h"

namespace sotto {
namespace {

bool precedes(std::span<const char> a, std::span<const char> b) {
  const int order = std::memcmp(a.data(), b.data(), std::min(a.size(), b.size()));
  return order != 0 ? order < 0 : a.size() < b.size();
}

bool begins_with(std::span<const char> bytes, std::span<const char> prefix) {
  return bytes.size() >= prefix.size() && std::memcmp(bytes.data(), prefix.data(), prefix.size()) == 0;
}

}  // namespace

std::span<const uint32_t> find_with_prefix(const TokenizerView& tokenizer, std::span<const char> prefix) {
  const auto tokens = tokenizer.sorted_tokens;
  const auto first = std::lower_bound(tokens.begin(), tokens.end(), prefix, [&](uint32_t token, auto bytes) {
    return precedes(tokenizer.bytes_of(token), bytes);
  });
  const auto end = std::partition_point(first, tokens.end(),
                                        [&](uint32_t token) { return begins_with(tokenizer.bytes_of(token), prefix); });
  return {first, end};
}

size_t spell(const TokenizerView& tokenizer, std::span<const char> text, std::span<int32_t> tokens) {
  size_t count = 0;
  while (!text.empty()) {
    const uint32_t token = longest_token(tokenizer, tokenizer.sorted_tokens, Word{text}, text.size());
    if (token == kNoToken || count == tokens.size()) return 0;
    tokens[count++] = static_cast<int32_t>(token);
    text = text.subspan(tokenizer.bytes_of(token).size());
  }
  return count;
}

}  // namespace sotto
