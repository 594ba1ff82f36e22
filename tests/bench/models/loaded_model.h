// Models and sessions of the C API that own their memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "capi/include/sotto.h"
#include "tests/bench/machine/memory.h"

namespace sotto::bench {

// Throws std::runtime_error "subject: message" if `status` is a failure.
void check(sotto_status status, const sotto_error& error, const std::string& subject);
void check(sotto_status status, const std::string& subject);

struct LoadOptions {
  std::string path;
  sotto_isa isa = SOTTO_ISA_AUTO;
  bool verify_checksums = true;
  Pages pages = Pages::kHuge;  // pages of the model's and the sessions' memory
  bool copy_weights = false;   // copy weights to those pages instead of using packed ones in the mapped file
};

class LoadedModel {
 public:
  explicit LoadedModel(const LoadOptions& options);
  ~LoadedModel() { sotto_model_deinit(model_); }
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;

  const sotto_model* get() const { return model_; }
  const sotto_model_info& info() const { return info_; }
  Pages pages() const { return options_.pages; }
  const std::string& path() const { return options_.path; }

 private:
  LoadOptions options_;
  MappedFile file_;
  std::unique_ptr<Memory> memory_;
  sotto_model* model_ = nullptr;
  sotto_model_info info_ = {};
};

struct SessionOptions {
  uint32_t context_tokens = 0;  // 0 for the model's maximum
  uint32_t thread_count = 1;
  uint32_t sequence_count = 0;
  uint32_t sequence_tokens = 0;
  uint32_t draft_tokens = 0;
};

class Session {
 public:
  Session(const LoadedModel& model, const SessionOptions& options);
  Session(const LoadedModel& model, uint32_t context_tokens, uint32_t thread_count)
      : Session(model, SessionOptions{context_tokens, thread_count, 0, 0, 0}) {}
  ~Session() { sotto_session_deinit(session_); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  sotto_session* get() const { return session_; }
  sotto_session_info info() const;
  sotto_session_timings timings() const;

  void prefill(const std::vector<sotto_token>& tokens);
  // Generates one token. If the model ends its text, another token is appended instead. In both cases one token is
  // evaluated, except in the first call after a prefill.
  void next();
  // Rewinds to `token_count` tokens. The next call evaluates the last of them again.
  void rewind(uint64_t token_count);
  void set_sampler(const sotto_sampler_params& params);

 private:
  std::unique_ptr<Memory> memory_;
  sotto_session* session_ = nullptr;
};

sotto_sampler_params greedy_sampler();
sotto_sampler_params default_sampler();

// Returns reproducible token ids that do not end the text.
std::vector<sotto_token> arbitrary_tokens(const sotto_model_info& info, size_t count);

}  // namespace sotto::bench
