// A vocabulary's byte strings as a trie in byte order, with what decides which slices hold
// them: plain arrays, built once, used in place and shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/status.h"
#include "runtime/grammar/vocabulary/token_prefilter.h"

namespace sotto {

// What a vocabulary is built from. Special tokens, and empty ones, have no place in a text:
// they are allowed only as the end of it, or by token literals.
struct VocabularySource {
  std::span<const char> bytes;
  std::span<const uint32_t> offsets;  // token_count + 1
  std::span<const uint8_t> special;   // token_count, or empty: only end tokens are special
  std::span<const int32_t> end_tokens;
  uint8_t least_special = 1;  // of the values in `special`

  uint32_t token_count() const { return static_cast<uint32_t>(offsets.size() - 1); }
  std::span<const char> token(uint32_t token) const {
    return bytes.subspan(offsets[token], offsets[token + 1] - offsets[token]);
  }
  bool is_end_token(uint32_t token) const {
    for (const int32_t end : end_tokens) {
      if (static_cast<uint32_t>(end) == token) return true;
    }
    return false;
  }
  bool is_special(uint32_t token) const {
    return (!special.empty() && special[token] >= least_special) || is_end_token(token);
  }
  // Empty for special tokens.
  std::span<const char> text(uint32_t token) const {
    return is_special(token) ? std::span<const char>() : this->token(token);
  }
};

// A node for each prefix, in the order of a walk that visits parents first.
class TrieNode {
 public:
  static constexpr uint32_t kMaxIndex = (1u << 24) - 1;
  static constexpr uint32_t kMaxDepth = 255;

  TrieNode() = default;
  TrieNode(uint32_t next, uint32_t first_token, uint32_t depth, uint8_t byte)
      : bits_(uint64_t{next} << 40 | uint64_t{first_token} << 16 | depth << 8 | byte) {}

  uint32_t next() const { return static_cast<uint32_t>(bits_ >> 40); }  // behind its subtree
  // Rank of the first token in its subtree. Those that end here come before the next node's.
  uint32_t first_token() const { return static_cast<uint32_t>(bits_ >> 16) & kMaxIndex; }
  uint32_t depth() const { return static_cast<uint32_t>(bits_ >> 8) & 0xFF; }  // 1: one byte
  uint8_t byte() const { return static_cast<uint8_t>(bits_); }

 private:
  uint64_t bits_ = 0;
};

// The arrays of a vocabulary, in memory as in model files: each begins on a boundary of
// kMemoryAlignment.
struct VocabularyArrays {
  uint32_t* order;  // first: where it is sorted
  TrieNode* nodes;
  TextSummary* node_summaries;
  TextSummary* token_summaries;
};
VocabularyArrays lay_out_vocabulary(Arena& arena, uint32_t token_count, size_t text_count, size_t node_count);
// Of token_summaries: one for each bit of a mask's words.
constexpr size_t token_summary_count(uint32_t token_count) { return (size_t{token_count} + 63) / 64 * 64; }

struct Vocabulary {
  uint32_t token_count = 0;
  uint32_t longest = 0;                          // bytes in the longest token
  std::span<const TrieNode> nodes;               // and one more behind the last
  std::span<const TextSummary> node_summaries;   // by node: its subtree's tokens, joined
  std::span<const TextSummary> token_summaries;  // by token, to the end of its mask's last word
  std::span<const uint32_t> order;               // by rank: the token
  VocabularySource source;                       // its end tokens are copied

  // Empty for special tokens.
  std::span<const char> token_bytes(uint32_t token) const { return source.text(token); }
  size_t word_count() const { return (size_t{token_count} + 63) / 64; }
};

// Checks the source. `*text_count`: its tokens that have text.
Status check_vocabulary(const VocabularySource& source, uint32_t* text_count, Error* error);

// Checks the source and classes its tokens by their bytes into `order` (room for token_count).
Status sort_tokens(const VocabularySource& source, uint32_t* order, uint32_t* order_count, Error* error);

// The order of tokens in the trie.
bool comes_before(const VocabularySource& source, uint32_t a, uint32_t b);

// Nodes that tokens in order add behind one with the text `before`.
size_t count_trie_nodes(const VocabularySource& source, std::span<const uint32_t> order,
                        std::span<const char> before = {});

size_t vocabulary_memory_size(const VocabularySource& source, size_t text_count, size_t node_count);
size_t vocabulary_memory_size(const VocabularySource& source, std::span<const uint32_t> order);

// `memory`: vocabulary_memory_size bytes, 64-byte aligned; `order` may be its beginning. The
// source's bytes, offsets and special flags are referred to, not copied.
void build_vocabulary(const VocabularySource& source, std::span<const uint32_t> order, void* memory,
                      Vocabulary* vocabulary);

}  // namespace sotto
