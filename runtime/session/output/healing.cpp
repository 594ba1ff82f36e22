#include "runtime/session/output/healing.h"

#include <cassert>
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

// Returns the tokens that begin with `prefix`, in order of their bytes.
std::span<const uint32_t> find_prefix(const TokenizerView& tokenizer, std::span<const char> prefix) {
  const auto tokens = tokenizer.sorted_tokens;
  const auto first = std::lower_bound(tokens.begin(), tokens.end(), prefix, [&](uint32_t token, auto bytes) {
    return precedes(tokenizer.bytes_of(token), bytes);
  });
  const auto end = std::partition_point(first, tokens.end(),
                                        [&](uint32_t token) { return begins_with(tokenizer.bytes_of(token), prefix); });
  return {first, end};
}

}  // namespace

size_t Healing::count_unfinished(const TokenizerView& tokenizer, std::span<const int32_t> tokens) {
  char joined[kMaxTokenBytes];
  size_t size = 0;
  size_t unfinished = 0;
  for (size_t back = 1; back <= tokens.size() && back <= kMaxTokens; ++back) {
    const auto bytes = tokenizer.bytes_of(static_cast<uint32_t>(tokens[tokens.size() - back]));
    if (bytes.empty() || size + bytes.size() > kMaxTokenBytes) break;
    std::memmove(joined + bytes.size(), joined, size);
    std::memcpy(joined, bytes.data(), bytes.size());
    size += bytes.size();
    const auto found = find_prefix(tokenizer, {joined, size});
    const bool longer = !found.empty() && tokenizer.bytes_of(found.back()).size() > size;
    if (longer) unfinished = back;
  }
  return unfinished;
}

int32_t Healing::find_longest(const TokenizerView& tokenizer, std::span<const char> text) {
  for (size_t size = std::min<size_t>(text.size(), tokenizer.max_token_bytes); size > 0; --size) {
    const auto found = find_prefix(tokenizer, text.first(size));
    if (!found.empty() && tokenizer.bytes_of(found.front()).size() == size) return static_cast<int32_t>(found.front());
  }
  return -1;
}

void Healing::begin(const TokenizerView& tokenizer, std::span<const int32_t> tokens, uint64_t place) {
  clear();
  place_ = place;
  for (const int32_t token : tokens) {
    const auto bytes = tokenizer.bytes_of(static_cast<uint32_t>(token));
    assert(size_ + bytes.size() <= bytes_.size());
    std::memcpy(bytes_.data() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
}

void Healing::restore(std::span<const char> bytes, uint64_t place) {
  clear();
  place_ = place;
  size_ = bytes.size();
  std::copy(bytes.begin(), bytes.end(), bytes_.begin());
}

void Healing::allow(const TokenizerView& tokenizer, uint64_t* words) const {
  const auto remaining = bytes().subspan(done_);
  const auto set = [&](uint32_t token) { words[token / 64] |= uint64_t{1} << (token % 64); };
  for (const uint32_t token : find_prefix(tokenizer, remaining)) set(token);
  for (size_t size = 1; size < remaining.size(); ++size) {
    const auto found = find_prefix(tokenizer, remaining.first(size));
    if (!found.empty() && tokenizer.bytes_of(found.front()).size() == size) set(found.front());
  }
}

}  // namespace sotto
