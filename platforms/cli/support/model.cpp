#include "platforms/cli/support/model.h"

#include <memory>

#include "platforms/posix/sotto_posix.h"

namespace sotto::cli {
namespace {

ModelParams model_params(const ModelOptions& options) {
  ModelParams params;
  params.isa = options.isa;
  params.verify_checksums = options.verify_checksums ? 1 : 0;
  params.copy_weights = options.copy_weights ? 1 : 0;
  params.release = sotto_posix_release;
  return params;
}

// Maps the file as long as the model and the objects made from it exist.
Model map_model(const ModelOptions& options, size_t* file_size) {
  sotto_posix_mapping mapping = {};
  char message[4096];
  if (sotto_posix_map_file(options.path.c_str(), &mapping, message, sizeof message) != 0) throw Failure(message);
  *file_size = mapping.size;
  const std::shared_ptr<const void> owner(mapping.bytes,
                                          [mapping](const void*) mutable { sotto_posix_unmap_file(&mapping); });
  const Bytes bytes(static_cast<const uint8_t*>(mapping.bytes), mapping.size);
  return call(options.path, [&] { return Model::from_bytes(bytes, model_params(options), owner); });
}

}  // namespace

LoadedModel::LoadedModel(const ModelOptions& options)
    : path_(options.path), model_(map_model(options, &file_size_)), info_(model_.info()) {}

Session LoadedModel::new_session(const SessionParams& params) const {
  return call(path_, [&] { return Session::create(model_, params); });
}

TokenList LoadedModel::tokenize(std::string_view text, bool special, const std::string& subject) const {
  return call(info_.has_tokenizer != 0 ? subject : path_, [&] { return model_.tokenize(text, special); });
}

std::string LoadedModel::detokenize(const TokenList& tokens) const {
  std::string text;
  for (const Token token : tokens) {
    if (token < 0 || static_cast<uint32_t>(token) >= info_.vocabulary_size) {
      throw Failure("token " + std::to_string(token) + ": the vocabulary has " + std::to_string(info_.vocabulary_size) +
                    " tokens, from 0");
    }
    text += call(path_, [&] { return model_.token_bytes(token); });
  }
  return text;
}

std::string LoadedModel::text_of(const TokenList& tokens) const {
  return info_.has_tokenizer != 0 ? detokenize(tokens) : "";
}

}  // namespace sotto::cli
