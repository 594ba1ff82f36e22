// A vocabulary as files represent it: tokens have printable names in which each byte is one character of GPT-2's
// alphabet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "converters/tokenizers/builder.h"

namespace sotto {

// Returns the bytes that `name` stands for, or nullopt if it has other characters.
std::optional<std::string> bytes_of_name(std::string_view name);

// Returns the name of any bytes.
std::string name_of_bytes(std::string_view bytes);

// Every function throws std::runtime_error on a contradiction.
class TokenizerNames {
 public:
  explicit TokenizerNames(uint32_t vocabulary_size);

  void add_token(const std::string& name, int64_t id);
  // Adds the next merge in rank order. Its parts and its result must be in the vocabulary.
  void add_merge(const std::string& left, const std::string& right);
  // Adds text that is matched before BPE. Without `id` the text is the name of an existing token. The token of a single
  // byte does not become special, because grammars need every byte.
  void add_literal(const std::string& text, std::optional<int64_t> id, TokenKind kind);

  std::optional<uint32_t> find(const std::string& name) const;
  TokenizerData build(bool add_prefix_space);

 private:
  uint32_t check_id(const std::string& name, int64_t id) const;
  uint32_t token_of(const std::string& name) const;
  bool is_byte_token(uint32_t token) const;
  void note(const std::string& text);

  TokenizerDescription description_;
  std::vector<const std::string*> names_;  // names indexed by id; null if an id is free
  std::unordered_map<std::string, uint32_t> ids_;
  std::vector<std::string> notes_;
};

}  // namespace sotto
