// Part of sotto.hpp: models and their tokens.
#ifndef SOTTO_MODEL_HPP
#define SOTTO_MODEL_HPP

#include <cerrno>
#include <cstring>
#include <functional>
#include <vector>

#include "generated/params.hpp"

namespace sotto {
inline namespace SOTTO_HPP_ERRORS_ {

using LogFunction = std::function<void(sotto_log_level level, const char* message)>;
using ModelInfo = sotto_model_info;

// Parameters of a model. The callbacks replace those of the C struct.
struct ModelParams : detail::ModelParamsBase {
  LogFunction log;  // must not throw
};

namespace detail {

inline void call_log(void* function, sotto_log_level level, const char* message) noexcept {
  (*static_cast<const LogFunction*>(function))(level, message);
}

// A model with the memory that it uses. Its sessions and other objects share it.
struct ModelState {
  std::shared_ptr<const void> file_owner;
  Memory file;  // empty if the file belongs to the caller
  Memory memory;
  LogFunction log;
  sotto_model* handle = nullptr;

  ModelState() = default;
  ModelState(const ModelState&) = delete;
  ModelState& operator=(const ModelState&) = delete;
  ~ModelState() { sotto_model_deinit(handle); }
};

}  // namespace detail

class Session;

// The weights and the tokenizer of a model file. Any number of threads may share a model.
class Model {
 public:
  // Reads the file at `path` into memory.
  static Result<Model> open(const std::string& path, const ModelParams& params = {}) {
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
    // A directory can be opened and has a size, but reading a byte from it fails.
    if (!file || (std::fgetc(file.get()) == EOF && std::ferror(file.get())) ||
        std::fseek(file.get(), 0, SEEK_END) != 0) {
      SOTTO_HPP_FAIL_(unreadable(path));
    }
    const long size = std::ftell(file.get());
    if (size < 0 || std::fseek(file.get(), 0, SEEK_SET) != 0) SOTTO_HPP_FAIL_(unreadable(path));
    Memory memory;
    SOTTO_HPP_TRY_PLAIN_(detail::allocate(static_cast<size_t>(size), memory));
    if (std::fread(memory.data(), 1, memory.size(), file.get()) != memory.size()) {
      SOTTO_HPP_FAIL_(unreadable(path));
    }
    const Bytes bytes(static_cast<const uint8_t*>(memory.data()), memory.size());
    return create(bytes, std::move(memory), nullptr, params, path);
  }

  // Opens a model from a file in memory. The model takes ownership of the memory.
  static Result<Model> from_memory(Memory file, const ModelParams& params = {}) {
    const Bytes bytes(static_cast<const uint8_t*>(file.data()), file.size());
    return create(bytes, std::move(file), nullptr, params);
  }

  // Opens a model in place, for example from a mapped file or from constant data of the program. `file` must outlive
  // the model and the objects that use it, which keep `owner`, if given, alive. Bytes that are not aligned to
  // SOTTO_MEMORY_ALIGNMENT are copied.
  static Result<Model> from_bytes(Bytes file, const ModelParams& params = {},
                                  std::shared_ptr<const void> owner = nullptr) {
    if (reinterpret_cast<uintptr_t>(file.data()) % SOTTO_MEMORY_ALIGNMENT != 0) {
      Memory copy;
      SOTTO_HPP_TRY_PLAIN_(detail::allocate(file.size(), copy));
      std::memcpy(copy.data(), file.data(), file.size());
      return from_memory(std::move(copy), params);
    }
    return create(file, Memory(), std::move(owner), params);
  }

  // Returns the number of bytes that a model needs in addition to its file. Reads only the structure of the file.
  static Result<size_t> required_memory(Bytes file, const ModelParams& params = {}) {
    sotto_model_params c_params = params;
    detail::Report report;
    size_t size = 0;
    SOTTO_HPP_TRY_(sotto_model_memory_size(file.data(), file.size(), &c_params, &size, report.out()));
    return size;
  }

  Model(Model&&) = default;
  Model& operator=(Model&&) = default;

  ModelInfo info() const {
    ModelInfo info{};
    info.struct_size = sizeof info;
    sotto_model_get_info(c_model(), &info);
    return info;
  }
  // Returns the number of bytes that the model uses in addition to its file.
  size_t memory_size() const { return state_->memory.size(); }

  // Encodes text. If `special` is true, text such as <|endoftext|> becomes its special token.
  Result<std::vector<Token>> tokenize(std::string_view text, bool special = false) const {
    std::vector<Token> tokens(text.size() + 1);
    const uint32_t flags = special ? SOTTO_TOKENIZE_SPECIAL : 0;
    size_t count = 0;
    for (;;) {
      detail::Report report;
      const sotto_status status = sotto_tokenize(c_model(), text.data(), text.size(), flags, tokens.data(),
                                                 tokens.size(), &count, report.out());
      if (status == SOTTO_BUFFER_TOO_SMALL && count > tokens.size()) {
        tokens.resize(count);
        continue;
      }
      SOTTO_HPP_TRY_(status);
      tokens.resize(count);
      return tokens;
    }
  }

  Result<std::string> detokenize(Tokens tokens) const {
    size_t size = 0;
    std::string text;
    const sotto_status status = sotto_detokenize(c_model(), tokens.data(), tokens.size(), nullptr, 0, &size);
    if (status != SOTTO_BUFFER_TOO_SMALL) SOTTO_HPP_TRY_PLAIN_(status);
    text.resize(size);
    SOTTO_HPP_TRY_PLAIN_(sotto_detokenize(c_model(), tokens.data(), tokens.size(), text.data(), text.size(), &size));
    return text;
  }

  // Returns the bytes of a token. They belong to the model and may begin or end inside a character.
  Result<std::string_view> token_bytes(Token token) const {
    const char* bytes = nullptr;
    size_t size = 0;
    SOTTO_HPP_TRY_PLAIN_(sotto_token_bytes(c_model(), token, &bytes, &size));
    return std::string_view(bytes, size);
  }

  // Returns SOTTO_TOKEN_ flags.
  Result<uint32_t> token_flags(Token token) const {
    uint32_t flags = 0;
    SOTTO_HPP_TRY_PLAIN_(sotto_token_flags(c_model(), token, &flags));
    return flags;
  }

  // Returns a text of the model file, or an empty text. The model owns it.
  Result<std::string_view> text(sotto_model_text_kind kind) const {
    const char* bytes = nullptr;
    size_t size = 0;
    SOTTO_HPP_TRY_PLAIN_(sotto_model_text(c_model(), kind, &bytes, &size));
    return std::string_view(bytes, size);
  }

  const sotto_model* c_model() const { return state_->handle; }
  const std::shared_ptr<const detail::ModelState>& state() const { return state_; }

 private:
  friend class Session;

  explicit Model(std::shared_ptr<const detail::ModelState> state) : state_(std::move(state)) {}

  static Error unreadable(const std::string& path) {
    return Error(SOTTO_INVALID_ARGUMENT, (path + ": " + std::strerror(errno)).c_str());
  }

  static Result<Model> create(Bytes bytes, Memory file, std::shared_ptr<const void> owner, const ModelParams& params,
                              const std::string& path = {}) {
    auto state = std::make_shared<detail::ModelState>();
    state->file_owner = std::move(owner);
    state->file = std::move(file);
    state->log = params.log;
    sotto_model_params c_params = params;
    if (state->log) {
      c_params.log = &detail::call_log;
      c_params.log_user_data = &state->log;
    }
    detail::Report report(path);
    size_t size = 0;
    SOTTO_HPP_TRY_(sotto_model_memory_size(bytes.data(), bytes.size(), &c_params, &size, report.out()));
    SOTTO_HPP_TRY_(detail::allocate(size, state->memory));
    SOTTO_HPP_TRY_(sotto_model_init(bytes.data(), bytes.size(), &c_params, state->memory.data(), size, &state->handle,
                                    report.out()));
    return Model(std::move(state));
  }

  std::shared_ptr<const detail::ModelState> state_;
};

}  // namespace SOTTO_HPP_ERRORS_
}  // namespace sotto

#endif  // SOTTO_MODEL_HPP
