// A model of a file that is mapped, with errors that name the file or the text.
#pragma once

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
  bool copy_weights = false;  // to huge pages
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
  // The exact bytes, which need not be UTF-8.
  std::string detokenize(const TokenList& tokens) const;
  // The same, or "" if there is no tokenizer.
  std::string text_of(const TokenList& tokens) const;

 private:
  std::string path_;
  size_t file_size_ = 0;
  Model model_;
  ModelInfo info_;
};

}  // namespace sotto::cli
