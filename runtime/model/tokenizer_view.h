// The tokenizer section of a model file: plain arrays used in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"

namespace sotto {

namespace format {
struct Tokenizer;
}

enum class TokenKind : uint8_t { kNormal = 0, kAdded = 1, kSpecial = 2, kUnused = 3 };

// The algorithm that encodes a piece of text (runtime/text/README.md).
enum class TokenizerModel : uint8_t { kByteBpe = 0, kCharacterBpe = 1, kUnigram = 2, kWordPiece = 3, kWordLevel = 4 };

// Rule by which encoding puts a space before the text between added tokens: never; if that text begins without one; if
// it does and is at the start of the whole text; or always.
enum class PrefixSpace : uint8_t { kNever = 0, kIfMissing = 1, kIfMissingAtStart = 2, kAlways = 3 };

// The side on which a word carries its space when the pre-tokenizer strips white space.
enum class WordSpace : uint8_t { kNone = 0, kBefore = 1, kAfter = 2 };

// A BPE merge of two tokens. Its rank is its index in the list of merges.
struct TokenMerge {
  uint32_t left;
  uint32_t right;
  uint32_t result;
};

inline constexpr uint32_t kNoToken = 0xFFFFFFFF;
inline constexpr uint32_t kNoMerge = 0xFFFFFFFF;

// The arrays of a tokenizer.
struct TokenizerView {
  uint32_t token_count = 0;
  std::span<const uint32_t> token_offsets;  // token_count + 1 offsets into token_bytes
  std::span<const char> token_bytes;
  std::span<const TokenKind> token_kinds;  // one per token
  // One per byte value, or kNoToken. For models other than kByteBpe, the tokens of the bytes of unknown characters.
  std::span<const uint32_t> byte_tokens;
  std::span<const TokenMerge> merges;  // in rank order
  // A hash table with a power of two of slots. Each contains rank + 1, or 0 if it is empty.
  std::span<const uint32_t> merge_index;
  std::span<const uint32_t> token_merges;   // for each token, the rank of the merge that produces it, or kNoMerge
  std::span<const uint32_t> sorted_tokens;  // all tokens that encoding pieces can produce, in byte order
  std::span<const uint32_t> added_tokens;   // tokens of kind kAdded and kSpecial, in byte order
  // The steps of the pre-tokenizer (runtime/text/splitter.h). Without steps, kByteBpe splits as GPT-2 does, and the
  // other models do not split.
  std::span<const uint32_t> split_steps;
  // Normalization: the characters to remove, as the code points at which ranges of them begin and end, and the
  // characters to replace, in ascending order, with their replacements.
  std::span<const uint32_t> removed_characters;
  std::span<const uint32_t> replaced_characters;
  std::span<const uint32_t> replacement_offsets;  // replaced_characters.size() + 1, into replacement_bytes
  std::span<const char> replacement_bytes;
  std::span<const double> token_scores;  // kUnigram: one per token
  double unknown_score = 0;              // kUnigram: score of a character that no token spells
  uint32_t unknown_token = kNoToken;
  uint32_t max_word_characters = 0;  // kWordPiece: longer words are unknown
  bool fuse_unknown = false;         // true if neighbouring unknown characters become one unknown token
  TokenizerModel model = TokenizerModel::kByteBpe;
  PrefixSpace prefix_space = PrefixSpace::kNever;
  WordSpace word_space = WordSpace::kNone;

  // These fields are not in the file. verify_tokenizer() computes them.
  uint32_t max_token_bytes = 0;
  bool merges_ascend = false;  // true if every merge has a higher rank than the merges that produce its parts

  std::span<const char> bytes_of(uint32_t token) const {
    return token_bytes.subspan(token_offsets[token], token_offsets[token + 1] - token_offsets[token]);
  }
  std::span<const char> replacement_of(size_t index) const {
    return replacement_bytes.subspan(replacement_offsets[index],
                                     replacement_offsets[index + 1] - replacement_offsets[index]);
  }
};

// Returns the hash of a pair. Modulo the table size it is the slot at which linear probing starts.
constexpr uint32_t merge_hash(uint32_t left, uint32_t right) {
  uint64_t key = (static_cast<uint64_t>(left) << 32 | right) * 0x9E3779B97F4A7C15u;
  return static_cast<uint32_t>(key >> 32);
}

// The maximum number of occupied slots that a lookup may visit.
inline constexpr size_t kMaxMergeProbes = 256;

// The maximum size of a token. Longer tokens are rejected, so that text buffers can have a fixed size.
inline constexpr uint32_t kMaxTokenBytes = 1024;

// The maximum size of a merged token in a model whose merges do not ascend (merges_ascend).
inline constexpr size_t kMaxUnorderedTokenBytes = 128;

// Points `view` at the arrays of a FlatBuffers table that has been verified.
void read_tokenizer(const format::Tokenizer& table, TokenizerView* view);

// Checks every property of the tokenizer on which the memory safety and the time bounds of encoding and decoding
// depend, and computes the fields that are not in the file.
Status verify_tokenizer(TokenizerView* view, uint32_t vocabulary_size, Error* error);

}  // namespace sotto
