#include "runtime/session/draft_sources.h"

#include <algorithm>

namespace sotto {

LookupMatch find_latest_match(std::span<const int32_t> text, size_t min_match, size_t max_match) {
  LookupMatch best;
  if (text.size() < 2) return best;
  const size_t end = text.size() - 1;
  const int32_t last = text[end];
  for (size_t i = end; i-- > 0 && best.size < max_match;) {
    if (text[i] != last) continue;
    const size_t max_size = std::min(i + 1, max_match);
    size_t size = 1;
    while (size < max_size && text[i - size] == text[end - size]) ++size;
    if (size >= min_match && size > best.size) best = {size, i + 1};
  }
  return best;
}

void DraftPool::layout(Arena& arena, bool used) { entries_ = arena.take<Entry>(used ? kEntryCount : 0); }

void DraftPool::clear() { std::fill_n(entries_, kEntryCount, Entry{-1, 0, {}}); }

void DraftPool::add(std::span<const int32_t> tokens) {
  if (tokens.size() < 2) return;
  Entry& entry = entries_[index_of(tokens[0])];
  entry.key = tokens[0];
  entry.count = static_cast<uint32_t>(std::min(tokens.size() - 1, kMaxTokens));
  std::copy_n(tokens.data() + 1, entry.count, entry.tokens);
}

std::span<const int32_t> DraftPool::find(int32_t token) const {
  const Entry& entry = entries_[index_of(token)];
  if (entry.key != token) return {};
  return {entry.tokens, entry.count};
}

void DraftedTokens::layout(Arena& arena, uint32_t context_tokens, bool used) {
  // One element is spare.
  tokens_ = arena.take<int32_t>(used ? size_t{context_tokens} + KvSequence::kMaxDraftTokens + 1 : 0);
}

void DraftedTokens::begin(const TokenHistory& tokens) {
  count_ = 0;
  for (const auto piece : tokens.pieces()) {
    std::copy(piece.begin(), piece.end(), tokens_ + count_);
    count_ += piece.size();
  }
  known_count_ = count_;
}

}  // namespace sotto
