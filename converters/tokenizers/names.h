// Collects the vocabulary of a tokenizer file and translates the names of its tokens to bytes. Files give tokens
// printable names: by default, each byte of a token is one character of GPT-2's byte alphabet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "converters/tokenizers/builder.h"
#include "converters/tokenizers/characters.h"

namespace sotto {

// Returns the bytes that `name` stands for, or nullopt if it has other characters.
std::optional<std::string> bytes_of_name(std::string_view name);

// Returns the name of a token with these bytes.
std::string name_of_bytes(std::string_view bytes);

// The encoding of token bytes in names. By default names use the byte alphabet.
struct NameStyle {
  bool is_byte_alphabet = true;
  bool has_byte_tokens = false;   // names such as <0x0A> stand for single bytes, which spell unknown characters
  std::string space;              // a character that stands for a space, or empty
  std::string continuing_prefix;  // begins the names of tokens that do not begin a word, or empty
  std::string word_suffix;        // ends the names of tokens that end a word, or empty
  WordSpace word_space = WordSpace::kNone;
  CharacterSet bare_characters;  // characters that form a word without a space
};

// Builds a TokenizerDescription from named tokens. Every function throws std::runtime_error if the input contradicts
// itself.
class TokenizerNames {
 public:
  explicit TokenizerNames(uint32_t vocabulary_size, NameStyle style = {});

  void add_token(const std::string& name, int64_t id);
  // Adds the next merge in rank order. The parts and the result must be in the vocabulary.
  void add_merge(const std::string& left, const std::string& right);
  // Adds a token whose text is matched before BPE. Without `id`, the text must be the name of an existing token. A
  // token of a single byte does not become special, because grammars need every byte.
  void add_literal(const std::string& text, std::optional<int64_t> id, TokenKind kind);

  std::optional<uint32_t> find(const std::string& name) const;
  // The other settings of the tokenizer: pre-tokenizer, normalizer, scores, unknown token.
  TokenizerDescription& description() { return description_; }
  TokenizerData build();

 private:
  TokenizerDescription::Token read_name(const std::string& name) const;
  uint32_t check_id(const std::string& name, int64_t id) const;
  uint32_t token_of(const std::string& name) const;
  bool is_byte_token(uint32_t token) const;
  void note(const std::string& text);

  NameStyle style_;
  TokenizerDescription description_;
  std::vector<const std::string*> names_;  // names indexed by id; null if an id is free
  std::unordered_map<std::string, uint32_t> ids_;
  std::vector<std::string> notes_;
};

}  // namespace sotto
