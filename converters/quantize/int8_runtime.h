// The runtime as a C++ program uses it: sotto.h with owned memory, and failures as exceptions. Evaluation and tests of
// converted models use it.
#pragma once

#include <sotto.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sotto {

// A call of sotto.h that failed, or that stopped although no stop was asked for.
class RuntimeFailure : public std::runtime_error {
 public:
  RuntimeFailure(sotto_status status, const std::string& message) : std::runtime_error(message), status_(status) {}
  sotto_status status() const { return status_; }

 private:
  sotto_status status_;
};

struct FreeAligned {
  void operator()(uint8_t* bytes) const;
};
using AlignedBytes = std::unique_ptr<uint8_t, FreeAligned>;

// Allocates at least one byte, aligned to SOTTO_MEMORY_ALIGNMENT.
AlignedBytes allocate_aligned(size_t size);

class Int8Model {
 public:
  // Copies `file`, the bytes of a .sotto file.
  explicit Int8Model(std::span<const uint8_t> file, sotto_isa isa = SOTTO_ISA_AUTO);
  ~Int8Model() { sotto_model_deinit(model_); }
  Int8Model(const Int8Model&) = delete;
  Int8Model& operator=(const Int8Model&) = delete;

  const sotto_model* get() const { return model_; }
  const sotto_model_info& info() const { return info_; }
  std::vector<sotto_token> tokenize(std::string_view text) const;  // does not parse special tokens

 private:
  AlignedBytes file_;
  AlignedBytes memory_;
  sotto_model* model_ = nullptr;
  sotto_model_info info_ = {};
};

// Returns the defaults, with the sizes of this version of the interface.
sotto_session_params default_session_params();

class Int8Session {
 public:
  explicit Int8Session(const Int8Model& model, const sotto_session_params& params = default_session_params());
  ~Int8Session() { sotto_session_deinit(session_); }
  Int8Session(const Int8Session&) = delete;
  Int8Session& operator=(const Int8Session&) = delete;

  sotto_session* get() { return session_; }
  sotto_session_info info() const;
  void prefill(std::span<const sotto_token> tokens);
  std::span<const float> logits();  // logits after the last token, valid until the next call
  void reset() { sotto_session_reset(session_); }

 private:
  AlignedBytes memory_;
  sotto_session* session_ = nullptr;
};

}  // namespace sotto
