// Tokens that people name: by id, or by text that the model tokenizes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/cli/options/sampler_settings.h"
#include "platforms/cli/support/model.h"

namespace sotto::cli {

// Text in double quotes is read as a JSON string, all other text as it stands: "\n" (with the
// quotes) is a line end. Throws a usage error naming `option`.
std::string unquoted(const std::string& text, const char* option);

// Ids between spaces, commas, brackets; empty if `text` is anything else.
std::optional<Tokens> parse_ids(std::string_view text);

// The same, or a Failure naming the word that is none.
Tokens require_ids(std::string_view text);

class TokenReader {
 public:
  explicit TokenReader(const Model& model) : model_(model) {}

  // Ids ("12" or "12,13"), or text and its tokens. Throws a Failure naming `option`.
  Tokens tokens(const std::string& word, const char* option) const;
  sotto_token token(const std::string& word, const char* option) const;
  Tokens all(const std::vector<std::string>& words, const char* option) const;

  // As a word is written after others and at the start: with and without a space before it.
  std::vector<Tokens> variants(const std::string& word, const char* option) const;

 private:
  Tokens tokenize(const std::string& text, const char* option) const;

  const Model& model_;
};

}  // namespace sotto::cli
