// A model and a session that own their memory: the file mapped, the rest on huge pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "capi/include/sotto.h"
#include "platforms/posix/sotto_posix.h"

namespace sotto::cli {

class MappedFile {
 public:
  explicit MappedFile(const std::string& path);
  ~MappedFile() { sotto_posix_unmap_file(&mapping_); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  const void* bytes() const { return mapping_.bytes; }
  size_t size() const { return mapping_.size; }

 private:
  sotto_posix_mapping mapping_;
};

class Memory {
 public:
  Memory() = default;
  explicit Memory(size_t size);
  ~Memory() { sotto_posix_free(&memory_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  Memory(Memory&& other) noexcept;
  Memory& operator=(Memory&& other) noexcept;
  void* bytes() const { return memory_.bytes; }
  size_t size() const { return memory_.size; }

 private:
  sotto_posix_memory memory_ = {};
};

struct ModelOptions {
  std::string path;
  sotto_isa isa = SOTTO_ISA_AUTO;
  bool verify_checksums = true;
  bool copy_weights = false;  // to huge pages
};

class Model {
 public:
  explicit Model(const ModelOptions& options);
  ~Model() { sotto_model_deinit(model_); }
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const sotto_model* get() const { return model_; }
  const sotto_model_info& info() const { return info_; }
  const std::string& path() const { return path_; }
  size_t file_size() const { return file_.size(); }
  size_t memory_size() const { return memory_.size(); }

  // `subject` names the text in messages ("prompt", a path).
  std::vector<sotto_token> tokenize(std::string_view text, bool special, const std::string& subject) const;
  // The exact bytes, which need not be UTF-8.
  std::string detokenize(const std::vector<sotto_token>& tokens) const;
  // The same, or "" if there is no tokenizer.
  std::string text_of(const std::vector<sotto_token>& tokens) const;

 private:
  std::string path_;
  MappedFile file_;
  Memory memory_;
  sotto_model* model_ = nullptr;
  sotto_model_info info_ = {};
};

class Session {
 public:
  Session(const Model& model, const sotto_session_params& params);
  ~Session() { sotto_session_deinit(session_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  sotto_session* get() const { return session_; }
  sotto_session_info info() const;
  sotto_session_timings timings() const;

 private:
  Memory memory_;
  sotto_session* session_ = nullptr;
};

sotto_session_params default_session_params();
sotto_sampler_params default_sampler_params();

}  // namespace sotto::cli
