// A vocabulary, prepared for computing masks: the byte strings of its tokens as a trie in byte order.
//
// Tokens are ranked in byte order, so the tokens below a trie node are a contiguous range of ranks. Example: the tokens
// a, an, and, b have the ranks 0 to 3, and the node of "a" stands for the ranks 0 to 2. The trie is an array of nodes
// of eight bytes in depth-first order. A walk proceeds from a node to the next one, or past its subtree if no token
// with this prefix is possible. Each node and each token has a summary of its text (token_prefilter.h); it decides
// whether a prefilter contains the text. The arrays are built once, here in the caller's memory or by the converter in
// the model file (model_vocabulary.h), and then shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/status.h"
#include "runtime/base/token_mask.h"
#include "runtime/grammar/vocabulary/token_prefilter.h"

namespace sotto {

// The source of a vocabulary. Special and empty tokens never match text, so they are allowed only at the end of the
// text, or where the grammar names them.
struct VocabularySource {
  std::span<const char> bytes;
  std::span<const uint32_t> offsets;  // token_count + 1 offsets
  std::span<const uint8_t> special;   // one per token; if empty, only the end tokens are special
  std::span<const int32_t> end_tokens;
  uint8_t min_special = 1;  // the smallest value in `special` that marks a special token

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
    return (!special.empty() && special[token] >= min_special) || is_end_token(token);
  }
  // Returns the bytes of a token, or none if it is special.
  std::span<const char> text(uint32_t token) const {
    return is_special(token) ? std::span<const char>() : this->token(token);
  }
};

// A node of the trie: a prefix of at least one token.
class TrieNode {
 public:
  static constexpr uint32_t kMaxIndex = (1u << 24) - 1;
  static constexpr uint32_t kMaxDepth = 255;

  TrieNode() = default;
  TrieNode(uint32_t next, uint32_t first_token, uint32_t depth, uint8_t byte)
      : bits_(uint64_t{next} << 40 | uint64_t{first_token} << 16 | depth << 8 | byte) {}

  // Returns the first node after the subtree.
  uint32_t next() const { return static_cast<uint32_t>(bits_ >> 40); }
  // Returns the rank of the first token in the subtree. The tokens that end at this node come before those of the next
  // node.
  uint32_t first_token() const { return static_cast<uint32_t>(bits_ >> 16) & kMaxIndex; }
  // Returns the size of the prefix in bytes.
  uint32_t depth() const { return static_cast<uint32_t>(bits_ >> 8) & 0xFF; }
  uint8_t byte() const { return static_cast<uint8_t>(bits_); }

 private:
  uint64_t bits_ = 0;
};

// The arrays of a vocabulary, in memory and in model files. Each begins at a multiple of kMemoryAlignment.
struct VocabularyArrays {
  uint32_t* order;  // comes first, so that tokens can be sorted in place
  TrieNode* nodes;
  TextSummary* node_summaries;
  TextSummary* token_summaries;
};
VocabularyArrays layout_vocabulary(Arena& arena, uint32_t token_count, size_t text_count, size_t node_count);
// Returns the size of token_summaries: an element for each bit in the words of a mask.
constexpr size_t token_summary_count(uint32_t token_count) { return align_up(token_count, 64); }

// A vocabulary: its arrays, its source and its end tokens.
struct Vocabulary {
  // Bytes reserved for the object, the same on every platform, because memory sizes are part of the API.
  static constexpr size_t kObjectBytes = 256;

  uint32_t token_count = 0;
  uint32_t longest = 0;                          // bytes of the longest token
  std::span<const TrieNode> nodes;               // all nodes, followed by one that marks the end
  std::span<const TextSummary> node_summaries;   // for each node, the summary of the tokens in its subtree
  std::span<const TextSummary> token_summaries;  // for each token, up to the end of the mask's last word
  std::span<const uint32_t> order;               // the token of each rank
  VocabularySource source;                       // its end tokens are copies

  // Returns the bytes of a token, or none if it is special.
  std::span<const char> token_bytes(uint32_t token) const { return source.text(token); }
  size_t word_count() const { return TokenMask::word_count(token_count); }
};
static_assert(sizeof(Vocabulary) <= Vocabulary::kObjectBytes);

// Validates the source and stores the number of tokens that have text in `*text_count`.
Status check_vocabulary(const VocabularySource& source, uint32_t* text_count, Error* error);

// Validates the source and sorts its tokens by their bytes into `order` (token_count elements).
Status sort_tokens(const VocabularySource& source, uint32_t* order, uint32_t* order_count, Error* error);

size_t vocabulary_memory_size(const VocabularySource& source, std::span<const uint32_t> order);

// Builds a vocabulary in `memory`, which must have vocabulary_memory_size() bytes and be aligned to 64. `order` may be
// at its beginning. The vocabulary refers to the bytes, offsets and special flags of the source, and copies the end
// tokens.
void build_vocabulary(const VocabularySource& source, std::span<const uint32_t> order, void* memory,
                      Vocabulary* vocabulary);

// The functions below handle a vocabulary and its object together, in one block of the caller's memory.

// Computes the size of the block without using memory. The result is exact if at most 2^18 tokens have text, and an
// upper bound otherwise.
Status measure_vocabulary(const VocabularySource& source, size_t* size, Error* error);

// Builds a vocabulary in `memory`, which must be aligned to 64. The vocabulary refers to the source, as
// build_vocabulary() describes.
Status create_vocabulary(const VocabularySource& source, void* memory, size_t memory_size, Vocabulary** vocabulary,
                         Error* error);

}  // namespace sotto
