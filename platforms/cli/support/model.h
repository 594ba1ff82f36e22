// A model in a mapped file, and the tokenization of texts and ids. Errors name their source.
#pragma once

#include <memory>
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
  bool copy_weights = false;  // copies the weights to huge pages
};

// A file mapped read-only until the last copy of `owner` is destroyed.
struct MappedFile {
  Bytes bytes;
  std::shared_ptr<const void> owner;
};
MappedFile map_file(const std::string& path);  // throws a Failure that names the path

// Returns the memory of a model in addition to its file. Reads only the structure of the file.
size_t model_memory_size(const ModelOptions& options);

class LoadedModel {
 public:
  explicit LoadedModel(const ModelOptions& options);

  const Model& get() const { return model_; }
  const ModelInfo& info() const { return info_; }
  const std::string& path() const { return path_; }
  size_t file_size() const { return file_size_; }
  void require_text() const;  // throws a Failure if the model is a reward model, which writes no text
  Session new_session(const SessionParams& params) const;

  // `subject` names the text in messages ("prompt", a path).
  TokenList tokenize(std::string_view text, bool special, const std::string& subject) const;
  // Returns `tokens`. Throws a Failure that begins with `subject` if one is outside the vocabulary.
  TokenList check_ids(const TokenList& tokens, const std::string& subject) const;
  // Returns the exact bytes of the tokens, which need not be UTF-8.
  std::string detokenize(const TokenList& tokens) const;
  // Returns the bytes of the tokens, or an empty string if there is no tokenizer.
  std::string text_of(const TokenList& tokens) const;

 private:
  std::string path_;
  size_t file_size_ = 0;
  Model model_;
  ModelInfo info_;
};

// Returns the text of a token in quotes, or its id if the model has no tokenizer.
std::string shown_token(Token token, const LoadedModel& model);

// Parses a text in double quotes as a JSON string: "\n", with the quotes, is a line end. Returns any other text
// unchanged. Throws a usage error that names `option`.
std::string unquoted(const std::string& text, const char* option);

// Parses token ids separated by spaces, commas and brackets. Returns nullopt for any other text.
std::optional<TokenList> parse_ids(std::string_view text);

// Parses token ids. Throws a Failure that names the first word that is not an id.
TokenList require_ids(std::string_view text);

// Returns "12 13" for the tokens 12 and 13.
std::string ids_text(const TokenList& tokens);

class TokenReader {
 public:
  explicit TokenReader(const LoadedModel& model) : model_(model) {}

  // Returns ids ("12" or "12,13"), or the tokens of a text. Throws a Failure that names `option`.
  TokenList tokens(const std::string& word, const char* option) const;
  Token token(const std::string& word, const char* option) const;
  // Returns the tokens of all words, sorted, without repetitions.
  TokenList all(const std::vector<std::string>& words, const char* option) const;
  // Returns the tokens of the words in their order. Each word must be a list of ids or the text of a single token.
  TokenList single_tokens(const std::vector<std::string>& words, const char* option) const;

  // Returns the tokenizations of a word that can occur in a text: with and without a space before it, at the start and
  // after other words.
  std::vector<TokenList> variants(const std::string& word, const char* option) const;

 private:
  TokenList tokenize(const std::string& text, const char* option) const;

  const LoadedModel& model_;
};

}  // namespace sotto::cli
