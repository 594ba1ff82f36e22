#include "runtime/session/output/healing.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "runtime/base/bits.h"
#include "runtime/text/spelling.h"

namespace sotto {

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
    const auto found = find_with_prefix(tokenizer, {joined, size});
    const bool longer = !found.empty() && tokenizer.bytes_of(found.back()).size() > size;
    if (longer) unfinished = back;
  }
  return unfinished;
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

void Healing::allow(const TokenizerView& tokenizer, size_t left, uint64_t* words) const {
  const auto remaining = bytes().last(left);
  for (const uint32_t token : find_with_prefix(tokenizer, remaining)) set_bit(words, token);
  for (size_t size = 1; size < remaining.size(); ++size) {
    const auto found = find_with_prefix(tokenizer, remaining.first(size));
    if (!found.empty() && tokenizer.bytes_of(found.front()).size() == size) set_bit(words, found.front());
  }
}

}  // namespace sotto
