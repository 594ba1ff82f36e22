// Models of any shape for the memory tests, and memory with guard bytes around it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "capi/include/sotto.h"
#include "converters/readers/checkpoint.h"

namespace sotto {

// Bytes aligned to 64. They have a value, but the memory sanitizer treats them as uninitialized.
class AlignedBytes {
 public:
  explicit AlignedBytes(size_t size, uint8_t fill = 0);
  AlignedBytes(const std::vector<uint8_t>& bytes);
  uint8_t* data() { return data_; }
  const uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  std::vector<uint8_t> storage_;
  uint8_t* data_;
  size_t size_;
};

// A block of a given size between guard bytes that must not change.
class GuardedBytes {
  static constexpr size_t kGuard = 256;
  static constexpr uint8_t kPattern = 0xC3;

 public:
  explicit GuardedBytes(size_t size, uint8_t fill = kPattern);
  uint8_t* data() { return block_.data() + kGuard; }
  bool guards_intact();

 private:
  size_t size_;
  AlignedBytes block_;
};

// The bytes of a .sotto file with random weights, with or without a byte-level tokenizer
// of 256 tokens (then vocabulary_size must be at least 256). `pack` is the instruction set
// that the weights are packed for, as in `sotto-convert --pack`.
std::vector<uint8_t> make_model_file(const ModelShape& shape, bool with_tokenizer, const std::string& pack = "none");
// Returns the same with 4-bit weights, and optionally 8-bit weights in the head.
std::vector<uint8_t> make_int4_model_file(const ModelShape& shape, bool with_tokenizer, bool int8_head = false);

// Returns the same with a description that `describe` has changed.
std::vector<uint8_t> make_described_file(const ModelShape& shape, const std::function<void(CheckpointInfo&)>& describe,
                                         bool with_tokenizer = false);

// A model that owns its memory. The test fails if it cannot be created.
class LoadedModel {
 public:
  explicit LoadedModel(const std::vector<uint8_t>& file, sotto_isa isa = SOTTO_ISA_AUTO);
  sotto_model* get() { return model_; }

 private:
  AlignedBytes file_;
  std::unique_ptr<AlignedBytes> memory_;
  sotto_model* model_ = nullptr;
};

}  // namespace sotto
