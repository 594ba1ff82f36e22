// A vocabulary as files have it: tokens by printable names, in which each byte is one
// character of GPT-2's alphabet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "converters/tokenizers/tokenizer_builder.h"

namespace sotto {

// The bytes that `name` stands for; nullopt if it has other characters.
std::optional<std::string> bytes_of_name(std::string_view name);

// Every function throws std::runtime_error on a contradiction.
class TokenizerNames {
 public:
  explicit TokenizerNames(uint32_t vocabulary_size);

  void add_token(const std::string& name, int64_t id);
  // The next merge in rank order. Its parts and its result must be there.
  void add_merge(const std::string& left, const std::string& right);
  // Text matched before BPE. `id` nullopt: the token of that name. The token of a byte does
  // not become special: without it no grammar could have this byte.
  void add_literal(const std::string& text, std::optional<int64_t> id, TokenKind kind);

  std::optional<uint32_t> find(const std::string& name) const;
  TokenizerData build(bool add_prefix_space);

 private:
  uint32_t check_id(const std::string& name, int64_t id) const;
  uint32_t token_of(const std::string& name) const;
  bool is_byte_token(uint32_t token) const;
  void note(const std::string& text);

  TokenizerDescription description_;
  std::vector<const std::string*> names_;  // by id; null: free
  std::unordered_map<std::string, uint32_t> ids_;
  std::vector<std::string> notes_;
};

}  // namespace sotto
