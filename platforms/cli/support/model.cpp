// Loads models and sessions: map, ask for the size, allocate, init.
#include "platforms/cli/support/model.h"

#include <utility>

#include "platforms/cli/support/failure.h"

namespace sotto::cli {
namespace {

constexpr size_t kMessageSize = 4096;

sotto_model_params model_params(const ModelOptions& options) {
  sotto_model_params params;
  sotto_model_params_init(&params, sizeof params);
  params.isa = options.isa;
  params.verify_checksums = options.verify_checksums ? 1 : 0;
  params.copy_weights = options.copy_weights ? 1 : 0;
  params.release = sotto_posix_release;
  return params;
}

Memory model_memory(const MappedFile& file, const ModelOptions& options) {
  const sotto_model_params params = model_params(options);
  sotto_error error = no_error();
  size_t size = 0;
  check(sotto_model_memory_size(file.bytes(), file.size(), &params, &size, &error), error, options.path);
  return Memory(size);
}

Memory session_memory(const Model& model, const sotto_session_params& params) {
  sotto_error error = no_error();
  size_t size = 0;
  check(sotto_session_memory_size(model.get(), &params, &size, &error), error, model.path());
  return Memory(size);
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  char message[kMessageSize];
  if (sotto_posix_map_file(path.c_str(), &mapping_, message, sizeof message) != 0) {
    throw Failure(message);
  }
}

Memory::Memory(size_t size) {
  char message[kMessageSize];
  if (sotto_posix_allocate(size, &memory_, message, sizeof message) != 0) throw Failure(message);
}

Memory::Memory(Memory&& other) noexcept : memory_(std::exchange(other.memory_, {})) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(memory_, other.memory_);
  return *this;
}

Model::Model(const ModelOptions& options)
    : path_(options.path), file_(options.path), memory_(model_memory(file_, options)) {
  const sotto_model_params params = model_params(options);
  sotto_error error = no_error();
  check(sotto_model_init(file_.bytes(), file_.size(), &params, memory_.bytes(), memory_.size(), &model_, &error), error,
        path_);
  info_.struct_size = sizeof info_;
  check(sotto_model_get_info(model_, &info_), path_);
}

std::vector<sotto_token> Model::tokenize(std::string_view text, bool special, const std::string& subject) const {
  std::vector<sotto_token> tokens(text.size());  // at most one token a byte
  size_t count = 0;
  sotto_error error = no_error();
  const uint32_t flags = special ? SOTTO_TOKENIZE_SPECIAL : 0;
  const sotto_status status =
      sotto_tokenize(model_, text.data(), text.size(), flags, tokens.data(), tokens.size(), &count, &error);
  check(status, error, status == SOTTO_TOKENIZER_MISSING ? path_ : subject);
  tokens.resize(count);
  return tokens;
}

std::string Model::detokenize(const std::vector<sotto_token>& tokens) const {
  std::string text;
  for (const sotto_token token : tokens) {
    const char* bytes = nullptr;
    size_t size = 0;
    const sotto_status status = sotto_token_bytes(model_, token, &bytes, &size);
    if (status == SOTTO_INVALID_ARGUMENT) {
      throw Failure("token " + std::to_string(token) + ": the vocabulary has " + std::to_string(info_.vocabulary_size) +
                    " tokens, from 0");
    }
    check(status, path_);
    text.append(bytes, size);
  }
  return text;
}

std::string Model::text_of(const std::vector<sotto_token>& tokens) const {
  return info_.has_tokenizer != 0 ? detokenize(tokens) : "";
}

Session::Session(const Model& model, const sotto_session_params& params) : memory_(session_memory(model, params)) {
  sotto_error error = no_error();
  check(sotto_session_init(model.get(), &params, memory_.bytes(), memory_.size(), &session_, &error), error,
        model.path());
}

sotto_session_info Session::info() const {
  sotto_session_info info = {};
  info.struct_size = sizeof info;
  check(sotto_session_get_info(session_, &info), "session");
  return info;
}

sotto_session_timings Session::timings() const {
  sotto_session_timings timings = {};
  timings.struct_size = sizeof timings;
  check(sotto_session_get_timings(session_, &timings), "session");
  return timings;
}

sotto_session_params default_session_params() {
  sotto_session_params params;
  sotto_session_params_init(&params, sizeof params);
  return params;
}

sotto_sampler_params default_sampler_params() {
  sotto_sampler_params params;
  sotto_sampler_params_init(&params, sizeof params);
  return params;
}

}  // namespace sotto::cli
