#include "runtime/text/unigram.h"

#include <algorithm>
#include <limits>

#include "runtime/base/utf8.h"

namespace sotto {
namespace {

// Calls visit(token) for all tokens that are prefixes of the rest of a word, from short to long. The candidates are a
// range of the sorted tokens, which shrinks with each byte.
template <typename Visit>
void for_each_prefix(const TokenizerView& tokenizer, const Word& word, size_t start, Visit visit) {
  const auto sorted = tokenizer.sorted_tokens;
  auto first = sorted.begin();
  auto end = sorted.end();
  const size_t longest = std::min<size_t>(word.size() - start, tokenizer.max_token_bytes);
  for (size_t depth = 0; depth < longest && first != end; ++depth) {
    const auto byte = static_cast<uint8_t>(word.at(start + depth));
    const auto byte_of = [&](uint32_t token) -> int {
      const auto bytes = tokenizer.bytes_of(token);
      return bytes.size() <= depth ? -1 : static_cast<uint8_t>(bytes[depth]);
    };
    first = std::partition_point(first, end, [&](uint32_t token) { return byte_of(token) < byte; });
    end = std::partition_point(first, end, [&](uint32_t token) { return byte_of(token) == byte; });
    if (first != end && tokenizer.bytes_of(*first).size() == depth + 1) visit(*first);
  }
}

}  // namespace

void find_best_tokens(const TokenizerView& tokenizer, const Word& word, std::span<uint32_t> tokens) {
  constexpr double kUnreached = -std::numeric_limits<double>::infinity();
  // Ring of the best sums at the positions that tokens from the current one can reach.
  constexpr size_t kRingSize = kMaxTokenBytes + 1;
  double best[kRingSize];
  std::fill(best, best + kRingSize, kUnreached);
  best[0] = 0;
  // Forward pass: tokens[position - 1] becomes the last token of the best path to the position.
  for (size_t start = 0; start < word.size();) {
    const double sum = best[start % kRingSize];
    const size_t character = word.character_at(start).size;
    bool has_character = false;
    const auto reach = [&](size_t size, uint32_t token, double score) {
      double& other = best[(start + size) % kRingSize];
      const double next = tokenizer.float_sums ? static_cast<double>(static_cast<float>(sum + score)) : sum + score;
      if (next <= other) return;
      other = next;
      tokens[start + size - 1] = token;
    };
    for_each_prefix(tokenizer, word, start, [&](uint32_t token) {
      const size_t size = tokenizer.bytes_of(token).size();
      has_character |= size == character;
      reach(size, token, tokenizer.token_scores[token]);
    });
    if (!has_character) reach(character, kNoToken, tokenizer.unknown_score);
    for (size_t i = 0; i < character; ++i) best[(start + i) % kRingSize] = kUnreached;
    start += character;
  }
  // Backward pass: follows the best path and stores each token at the position of its first byte. The pass does not
  // read this position again.
  for (size_t end = word.size(); end > 0;) {
    const uint32_t token = tokens[end - 1];
    size_t start = token == kNoToken ? end - 1 : end - tokenizer.bytes_of(token).size();
    while (token == kNoToken && start > 0 && is_continuation(word.at(start))) --start;
    tokens[start] = token;
    end = start;
  }
}

}  // namespace sotto
