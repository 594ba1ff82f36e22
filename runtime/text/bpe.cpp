#include "runtime/text/bpe.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace sotto {
namespace {

uint32_t find_merge(const TokenizerView& tokenizer, uint32_t left, uint32_t right) {
  const size_t mask = tokenizer.merge_index.size() - 1;
  for (size_t slot = merge_hash(left, right) & mask;; slot = (slot + 1) & mask) {
    const uint32_t entry = tokenizer.merge_index[slot];
    if (entry == 0) return kNoMerge;
    const TokenMerge& merge = tokenizer.merges[entry - 1];
    if (merge.left == left && merge.right == right) return entry - 1;
  }
}

uint32_t byte_token(const TokenizerView& tokenizer, char byte) {
  return tokenizer.byte_tokens[static_cast<uint8_t>(byte)];
}

bool compatible_by_merging(const TokenizerView& tokenizer, uint32_t left, uint32_t right) {
  static_assert(2 * kMaxUnorderedTokenBytes <= kShortWordUnits);
  uint32_t tokens[kShortWordUnits];
  char bytes[kShortWordUnits];
  size_t size = 0;
  for (const uint32_t token : {left, right}) {
    for (const char byte : tokenizer.bytes_of(token)) bytes[size++] = byte;
  }
  const size_t count = unit_tokens(tokenizer, {{bytes, size}}, tokens);
  return merge_tokens(tokenizer, tokens, count) == 2 && tokens[0] == left && tokens[1] == right;
}

// Returns whether two adjacent tokens are compatible: encoding their joined bytes gives the same two tokens.
//
// As long as nothing merges across the boundary, each side merges as it would alone. The function therefore repeatedly
// undoes the later of the two merges at the boundary, and checks each time whether the two tokens that now meet there
// would have merged earlier. Among merges of equal rank the leftmost comes first: the one inside the left token, then
// the one across the boundary, then the one inside the right token.
bool compatible(const TokenizerView& tokenizer, uint32_t left, uint32_t right) {
  if (!tokenizer.merges_ascend) return compatible_by_merging(tokenizer, left, right);
  uint32_t left_used = kNoMerge;  // rank of the merge that consumes `left`, or kNoMerge
  uint32_t right_used = kNoMerge;
  for (;;) {
    const uint32_t rank = find_merge(tokenizer, left, right);
    if (rank != kNoMerge && rank < left_used && rank <= right_used) return false;
    const uint32_t left_made = tokenizer.token_merges[left];
    const uint32_t right_made = tokenizer.token_merges[right];
    if (left_made == kNoMerge && right_made == kNoMerge) return true;
    if (left_made == kNoMerge || (right_made != kNoMerge && right_made >= left_made)) {
      right_used = right_made;
      right = tokenizer.merges[right_made].left;
    } else {
      left_used = left_made;
      left = tokenizer.merges[left_made].right;
    }
  }
}

// Returns the length of the common prefix of `bytes` and the first `size` bytes of the word.
size_t common_size(std::span<const char> bytes, const Word& word, size_t size) {
  size = std::min(size, bytes.size());
  const size_t lead = word.space_before ? 1 : 0;
  if (lead > 0 && size > 0 && bytes[0] != ' ') return 0;
  const size_t text_end = std::min(size, lead + word.bytes.size());
  if (text_end <= lead) return text_end;
  const auto end = std::mismatch(bytes.begin() + static_cast<ptrdiff_t>(lead),
                                 bytes.begin() + static_cast<ptrdiff_t>(text_end), word.bytes.begin());
  const auto same = static_cast<size_t>(end.first - bytes.begin());
  return same == text_end && text_end < size && bytes[text_end] == ' ' ? size : same;
}

}  // namespace

size_t unit_size(TokenizerModel model, WordSpace word_space, const Word& word, size_t at) {
  if (model == TokenizerModel::kByteBpe) return 1;
  size_t end = at;
  if (word_space == WordSpace::kBefore && at == 0 && word.size() > 1 && word.at(0) == ' ') ++end;
  end += word.character_at(end).size;
  if (word_space == WordSpace::kAfter && end + 1 == word.size() && word.at(end) == ' ') ++end;
  return end - at;
}

size_t unit_tokens(const TokenizerView& tokenizer, const Word& word, uint32_t* tokens) {
  size_t count = 0;
  if (tokenizer.model == TokenizerModel::kByteBpe) {
    if (word.space_before) tokens[count++] = byte_token(tokenizer, ' ');
    for (const char byte : word.bytes) tokens[count++] = byte_token(tokenizer, byte);
    return count;
  }
  for (size_t at = 0; at < word.size();) {
    const size_t size = unit_size(tokenizer.model, tokenizer.word_space, word, at);
    tokens[count++] = find_token(tokenizer, word.slice(at, at + size));
    at += size;
  }
  return count;
}

size_t merge_tokens(const TokenizerView& tokenizer, uint32_t* tokens, size_t count) {
  assert(count >= 1 && count <= kShortWordUnits);
  uint32_t ranks[kShortWordUnits];  // ranks[i] is the rank of the pair (tokens[i], tokens[i + 1])
  for (size_t i = 0; i + 1 < count; ++i) {
    ranks[i] = find_merge(tokenizer, tokens[i], tokens[i + 1]);
  }
  while (count > 1) {
    const auto best = static_cast<size_t>(std::min_element(ranks, ranks + count - 1) - ranks);
    if (ranks[best] == kNoMerge) break;
    tokens[best] = tokenizer.merges[ranks[best]].result;
    --count;
    for (size_t i = best + 1; i < count; ++i) tokens[i] = tokens[i + 1];
    for (size_t i = best + 1; i + 1 < count; ++i) ranks[i] = ranks[i + 1];
    if (best > 0) ranks[best - 1] = find_merge(tokenizer, tokens[best - 1], tokens[best]);
    if (best + 1 < count) ranks[best] = find_merge(tokenizer, tokens[best], tokens[best + 1]);
  }
  return count;
}

uint32_t longest_token(const TokenizerView& tokenizer, std::span<const uint32_t> sorted, const Word& word,
                       size_t limit) {
  size_t size = std::min(limit, word.size());
  while (size > 0) {
    // Find the last token that does not sort after the first `size` bytes of the word. Its common prefix with them is
    // an upper bound on the length of all shorter matches.
    const auto is_after = [&](size_t limit_size, uint32_t token) {
      const auto bytes = tokenizer.bytes_of(token);
      const size_t common = common_size(bytes, word, limit_size);
      if (common == bytes.size()) return false;
      return common == limit_size || static_cast<uint8_t>(bytes[common]) > static_cast<uint8_t>(word.at(common));
    };
    const auto next = std::upper_bound(sorted.begin(), sorted.end(), size, is_after);
    if (next == sorted.begin()) return kNoToken;
    const uint32_t token = *(next - 1);
    const auto bytes = tokenizer.bytes_of(token);
    const size_t common = common_size(bytes, word, size);
    if (common == bytes.size()) return token;
    size = common;
  }
  return kNoToken;
}

uint32_t find_token(const TokenizerView& tokenizer, const Word& word) {
  const uint32_t token = longest_token(tokenizer, tokenizer.sorted_tokens, word, word.size());
  return token != kNoToken && tokenizer.bytes_of(token).size() == word.size() ? token : kNoToken;
}

// Searches the encoding as a path in a tree. Every prefix of an encoding is the encoding of its own bytes. Hence only
// one token can end the encoding of a given prefix of the word, and the encodings of all prefixes form a tree with one
// node per position. The search walks the tree to the end of the word, depth first, trying the longest token first.
SearchResult search_word(const TokenizerView& tokenizer, const Word& word, std::span<int32_t> tokens, size_t* count) {
  size_t used = 0;  // number of tokens on the current path
  size_t limit = word.size();
  Word rest = word;
  for (size_t steps = 0; rest.size() > 0;) {
    uint32_t token;
    do {
      token = longest_token(tokenizer, tokenizer.sorted_tokens, rest, limit);
      if (token != kNoToken) limit = tokenizer.bytes_of(token).size() - 1;
    } while (token != kNoToken && used > 0 && !compatible(tokenizer, static_cast<uint32_t>(tokens[used - 1]), token));
    if (token != kNoToken) {
      if (++steps > word.size()) return SearchResult::kInconsistent;
      if (used == tokens.size()) return SearchResult::kNoSpace;
      tokens[used++] = static_cast<int32_t>(token);
      rest = rest.from(tokenizer.bytes_of(token).size());
      limit = rest.size();
      continue;
    }
    // Dead end: return to the previous token and try a shorter one.
    if (used == 0) return SearchResult::kInconsistent;
    const size_t size = tokenizer.bytes_of(static_cast<uint32_t>(tokens[--used])).size();
    const size_t position = word.size() - rest.size() - size;
    rest = word.from(position);
    limit = size - 1;
  }
  *count = used;
  return SearchResult::kFound;
}

}  // namespace sotto
