#include "runtime/text/spelling.h"

#include <algorithm>
#include <cstring>

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

int32_t find_longest_token(const TokenizerView& tokenizer, std::span<const char> text) {
  for (size_t size = std::min<size_t>(text.size(), tokenizer.max_token_bytes); size > 0; --size) {
    const auto found = find_with_prefix(tokenizer, text.first(size));
    if (!found.empty() && tokenizer.bytes_of(found.front()).size() == size) return static_cast<int32_t>(found.front());
  }
  return -1;
}

}  // namespace sotto
