// Tokens that people name by id, or by text that the model tokenizes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/cli/support/model.h"

namespace sotto::cli {

// Text in double quotes is read as a JSON string, all other text as it stands: "\n" (with the
// quotes) is a line end. Throws a usage error naming `option`.
std::string unquoted(const std::string& text, const char* option);

// Ids between spaces, commas, brackets; empty if `text` is anything else.
std::optional<TokenList> parse_ids(std::string_view text);

// The same, or a Failure naming the word that is none.
TokenList require_ids(std::string_view text);

class TokenReader {
 public:
  explicit TokenReader(const LoadedModel& model) : model_(model) {}

  // Ids ("12" or "12,13"), or text and its tokens. Throws a Failure naming `option`.
  TokenList tokens(const std::string& word, const char* option) const;
  Token token(const std::string& word, const char* option) const;
  // The tokens of all words, sorted, without repetitions.
  TokenList all(const std::vector<std::string>& words, const char* option) const;
  // The same in the order of the words, each of which is a list of ids or the text of one token.
  TokenList single_tokens(const std::vector<std::string>& words, const char* option) const;

  // As a word is written after others and at the start: with and without a space before it.
  std::vector<TokenList> variants(const std::string& word, const char* option) const;

 private:
  TokenList tokenize(const std::string& text, const char* option) const;

  const LoadedModel& model_;
};

}  // namespace sotto::cli
