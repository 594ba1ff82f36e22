// Builds two sections of a model file: the tokenizer, and the vocabulary prepared for grammars.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/model/tokenizer_view.h"

namespace sotto {

// Settings that are part of both TokenizerDescription and TokenizerData.
struct TokenizerSettings {
  double unknown_score = 0;
  uint32_t unknown_token = kNoToken;
  uint32_t max_word_characters = 0;
  bool fuse_unknown = false;
  bool float_sums = false;
  TokenizerModel model = TokenizerModel::kByteBpe;
  PrefixSpace prefix_space = PrefixSpace::kNever;
  WordSpace word_space = WordSpace::kNone;
};

// The arrays that NormalizerView refers to.
struct NormalizerData {
  struct Characters {
    std::vector<uint32_t> removed;
    std::vector<uint32_t> replaced;
    std::vector<uint32_t> offsets;
    std::vector<char> bytes;

    void replace(uint32_t code_point, std::string_view text);  // in ascending order
    CharacterMap view() const { return {removed, replaced, offsets, bytes}; }
  };

  Characters characters;
  std::vector<uint32_t> rule_trie;
  std::vector<char> rule_texts;
  std::vector<uint32_t> graphemes;
  std::vector<uint32_t> combining_classes;
  std::vector<Composition> compositions;
  uint8_t space_rules = 0;
  Characters last_characters;

  NormalizerView view() const;
};

struct TokenizerDescription : TokenizerSettings {
  struct Token {
    std::string bytes;
    TokenKind kind = TokenKind::kUnused;
    bool is_found = true;  // for normal tokens: true if encoding a text can produce this token
  };

  TokenizerDescription() { byte_tokens.fill(kNoToken); }

  std::vector<Token> tokens;              // indexed by id
  std::array<uint32_t, 256> byte_tokens;  // token of each byte, or kNoToken if there is none
  std::vector<TokenMerge> merges;         // in rank order; of equal pairs the last one is used
  std::vector<uint32_t> split_steps;
  NormalizerData normalizer;
  std::vector<double> token_scores;  // kUnigram: one per token
};

// The arrays that TokenizerView refers to.
struct TokenizerData : TokenizerSettings {
  std::vector<uint32_t> token_offsets;
  std::vector<char> token_bytes;
  std::vector<TokenKind> token_kinds;
  std::vector<uint32_t> byte_tokens;
  std::vector<TokenMerge> merges;
  std::vector<uint32_t> merge_index;
  std::vector<uint32_t> token_merges;
  std::vector<uint32_t> sorted_tokens;
  std::vector<uint32_t> added_tokens;
  std::vector<uint32_t> split_steps;
  NormalizerData normalizer;
  std::vector<double> token_scores;
  std::vector<std::string> notes;  // remarks for the user, not part of the view

  TokenizerView view() const;             // throws std::runtime_error if verify_tokenizer() fails
  TokenizerView unverified_view() const;  // only for verify_tokenizer()
};

// Builds the arrays, without merges that no text can trigger. Throws std::runtime_error if the description contradicts
// itself.
TokenizerData build_tokenizer(const TokenizerDescription& description);

// The arrays that PreparedVocabulary (runtime/grammar/vocabulary/model_vocabulary.h) refers to.
struct VocabularyData {
  uint32_t text_count = 0;
  uint32_t node_count = 0;
  uint32_t longest = 0;
  std::vector<uint8_t> arrays;
};

// Builds the vocabulary section. Returns nullopt if a token is longer than 255 bytes, which grammars do not support.
std::optional<VocabularyData> build_vocabulary_data(const TokenizerData& tokenizer,
                                                    std::span<const int32_t> end_tokens);

}  // namespace sotto
