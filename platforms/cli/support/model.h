// A model from a mapped file, with errors that name the file or the text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/cli/support/failure.h"

namespace sotto::cli {
using TokenList = std::vector<Token>;

struct ModelOptions {
  std::string path;
  sotto_isa isa = SOTTO_ISA_AUTO;
  bool verify_checksums = true;
  bool copy_weights = false;  // copies to huge pages
};

class LoadedModel {
 public:
  explicit LoadedModel(const ModelOptions& options);

  const Model& get() const { return model_; }
  const ModelInfo& info() const { return info_; }
  const std::string& path() const { return path_; }
  size_t file_size() const { return file_size_; }
  Session new_session(const SessionParams& params) const;

  // `subject` names the text in messages ("prompt", a path).
  TokenList tokenize(std::string_view text, bool special, const std::string& subject) const;
  // Returns `tokens`. Throws a Failure that begins with `subject` if one of them is not in the vocabulary.
  TokenList check_ids(const TokenList& tokens, const std::string& subject) const;
  // Returns the exact bytes, which need not be UTF-8.
  std::string detokenize(const TokenList& tokens) const;
  // Returns the same, or an empty string if there is no tokenizer.
  std::string text_of(const TokenList& tokens) const;

 private:
  std::string path_;
  size_t file_size_ = 0;
  Model model_;
  ModelInfo info_;
};

// Reads text in double quotes as a JSON string, and all other text literally: "\n" (with the quotes) is a line end.
// Throws a usage error that names `option`.
std::string unquoted(const std::string& text, const char* option);

// Parses ids between spaces, commas and brackets. Returns an empty result if `text` is anything else.
std::optional<TokenList> parse_ids(std::string_view text);

// Does the same, or throws a Failure that names the word that is not an id.
TokenList require_ids(std::string_view text);

// "12 13"
std::string ids_text(const TokenList& tokens);

class TokenReader {
 public:
  explicit TokenReader(const LoadedModel& model) : model_(model) {}

  // Returns ids ("12" or "12,13"), or the tokens of a text. Throws a Failure that names `option`.
  TokenList tokens(const std::string& word, const char* option) const;
  Token token(const std::string& word, const char* option) const;
  // Returns the tokens of all words, sorted, without repetitions.
  TokenList all(const std::vector<std::string>& words, const char* option) const;
  // Returns the same in the order of the words, each of which is a list of ids or the text of one token.
  TokenList single_tokens(const std::vector<std::string>& words, const char* option) const;

  // Returns a word as it is tokenized after other words and at the start, with and without a space before it.
  std::vector<TokenList> variants(const std::string& word, const char* option) const;

 private:
  TokenList tokenize(const std::string& text, const char* option) const;

  const LoadedModel& model_;
};

}  // namespace sotto::cli
