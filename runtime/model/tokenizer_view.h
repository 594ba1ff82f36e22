// The tokenizer section of a model file: plain arrays used in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/hash_index.h"
#include "runtime/base/status.h"

namespace sotto {

namespace format {
struct Tokenizer;
}

enum class TokenKind : uint8_t { kNormal = 0, kAdded = 1, kSpecial = 2, kUnused = 3 };

// The algorithm that encodes a piece of text (runtime/text/README.md).
enum class TokenizerModel : uint8_t { kByteBpe = 0, kCharacterBpe = 1, kUnigram = 2, kWordPiece = 3, kWordLevel = 4 };

// The condition under which encoding adds a space before a text between added tokens. kIfMissing: the text does not
// begin with a space. kIfMissingAtStart: likewise, but only at the start of the whole text.
enum class PrefixSpace : uint8_t { kNever = 0, kIfMissing = 1, kIfMissingAtStart = 2, kAlways = 3 };

// The place of the space that a word gets if the pre-tokenizer strips white space. kNone: the word gets no space.
enum class WordSpace : uint8_t { kNone = 0, kBefore = 1, kAfter = 2 };

// A BPE merge of two tokens. Its rank is its index in the list of merges.
struct TokenMerge {
  uint32_t left;
  uint32_t right;
  uint32_t result;
};

// Replacements of single characters.
struct CharacterMap {
  std::span<const uint32_t> removed;   // code points where ranges of removed characters begin and end, alternately
  std::span<const uint32_t> replaced;  // characters in ascending order
  std::span<const uint32_t> offsets;   // replaced.size() + 1, into bytes
  std::span<const char> bytes;         // the replacements

  bool is_empty() const { return removed.empty() && replaced.empty(); }
  std::span<const char> replacement_of(size_t index) const {
    return bytes.subspan(offsets[index], offsets[index + 1] - offsets[index]);
  }
};

// Two neighbouring characters that become one.
struct Composition {
  uint32_t first;
  uint32_t second;
  uint32_t result;
};

// Flags of the normalization of spaces.
enum SpaceRule : uint8_t {
  kMergeSpaces = 1,      // a run of spaces becomes one space
  kStripStart = 2,       // spaces at the start of the text are removed
  kStripEnd = 4,         // spaces at the end of the text are removed
  kStripWhiteSpace = 8,  // at the start and the end, all white space counts as spaces
  kStripSymbol = 16,     // U+2581 is removed at the end, because SentencePiece writes spaces as this symbol
  kAllSpaceRules = 31
};

// The maximum number of combining classes in a model, which limits how often a mark is read. Unicode has 55 besides 0.
inline constexpr int kMaxCombiningClasses = 64;

// The flag of a trie unit that contains a value. Every other unit contains the byte that leads to it, an offset, and
// the flags 8 and 9.
inline constexpr uint32_t kTrieValue = uint32_t{1} << 31;

// The tables of normalization in the order of its steps (runtime/text/normalizer.h). A step with an empty table is
// absent.
struct NormalizerView {
  CharacterMap characters;
  // SentencePiece's rules, used instead of `characters`: a double array (Aoe 1989) of strings. The value of a string is
  // the offset of its replacement, which ends with a zero byte.
  std::span<const uint32_t> rule_trie;
  std::span<const char> rule_texts;
  std::span<const uint32_t> graphemes;  // a split step, if rules apply to grapheme clusters
  // Ranges of characters: (first code point) << 8 | (canonical combining class), ascending.
  std::span<const uint32_t> combining_classes;
  std::span<const Composition> compositions;  // sorted; those of Hangul syllables are computed
  uint8_t space_rules = 0;
  CharacterMap last_characters;

  bool is_empty() const {
    return characters.is_empty() && rule_trie.empty() && combining_classes.empty() && space_rules == 0 &&
           last_characters.is_empty();
  }
};

inline constexpr uint32_t kNoToken = 0xFFFFFFFF;
inline constexpr uint32_t kNoMerge = 0xFFFFFFFF;

// The arrays of a tokenizer.
struct TokenizerView {
  uint32_t token_count = 0;
  std::span<const uint32_t> token_offsets;  // token_count + 1 offsets into token_bytes
  std::span<const char> token_bytes;
  std::span<const TokenKind> token_kinds;  // one per token
  // The token of each byte value, or kNoToken. Models other than kByteBpe use them for the bytes of unknown characters.
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
  NormalizerView normalizer;
  std::span<const double> token_scores;  // kUnigram: one per token
  double unknown_score = 0;              // kUnigram: score of a character that no token spells
  uint32_t unknown_token = kNoToken;
  uint32_t max_word_characters = 0;  // kWordPiece: longer words are unknown
  bool fuse_unknown = false;         // true if neighbouring unknown characters become one unknown token
  bool float_sums = false;           // kUnigram: true if sums of scores are rounded to 32 bits
  TokenizerModel model = TokenizerModel::kByteBpe;
  PrefixSpace prefix_space = PrefixSpace::kNever;
  WordSpace word_space = WordSpace::kNone;

  // The fields below are not in the file, but computed by verify_tokenizer().
  uint32_t max_token_bytes = 0;
  bool merges_ascend = false;  // true if every merge has a higher rank than the merges that produce its parts

  std::span<const char> bytes_of(uint32_t token) const {
    return token_bytes.subspan(token_offsets[token], token_offsets[token + 1] - token_offsets[token]);
  }
};

// Returns the hash of a pair of tokens. Linear probing starts at this hash modulo the table size.
constexpr uint32_t merge_hash(uint32_t left, uint32_t right) { return fibonacci_hash(uint64_t{left} << 32 | right); }

// The maximum number of occupied slots that a lookup visits.
inline constexpr size_t kMaxMergeProbes = 256;

// The maximum size of a token. Longer tokens are rejected, so that text buffers can have a fixed size.
inline constexpr uint32_t kMaxTokenBytes = 1024;

// The maximum size of a merged token in a model without ascending merges (merges_ascend).
inline constexpr size_t kMaxUnorderedTokenBytes = 128;

// Points `view` at the arrays of a FlatBuffers table that has been verified.
void read_tokenizer(const format::Tokenizer& table, TokenizerView* view);

// Checks everything that makes encoding and decoding safe in memory and bounded in time, and computes the fields that
// are not in the file.
Status verify_tokenizer(TokenizerView* view, uint32_t vocabulary_size, Error* error);

}  // namespace sotto
