// Writes small valid and invalid checkpoints to a temporary directory.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "converters/readers/checkpoint.h"
#include "tests/support/files.h"

namespace sotto {

using test::read_file;
using test::TemporaryDirectory;

void write_bytes(const std::filesystem::path& path, const std::string& bytes);

struct RawTensor {
  std::string type = "F32";
  std::vector<uint64_t> shape;
  std::string bytes;
};
using RawTensors = std::map<std::string, RawTensor>;

// Encodes finite values as F32, F64, F16 (exactly representable values only) or BF16 (truncated).
RawTensor make_tensor(const std::string& type, std::vector<uint64_t> shape, const std::vector<float>& values);

// `edit_header` may damage the header before it is written.
std::string safetensors_bytes(const RawTensors& tensors, const std::function<void(nlohmann::json&)>& edit_header = {});
// Returns a safetensors file with the given header text and data.
std::string safetensors_bytes(const std::string& header, const std::string& data);

struct TinyCheckpoint {
  nlohmann::json config;
  RawTensors tensors;

  void save(const std::filesystem::path& directory) const;
};

// Returns a checkpoint with 2 layers, 2 heads, width 8, the given feed-forward width, 6 positions and 11 tokens. All
// values are multiples of 1/64, which every type represents exactly.
TinyCheckpoint make_tiny_checkpoint(const std::string& type = "F32", const std::string& prefix = "transformer.",
                                    uint64_t feed_forward_size = 16);

// Returns the transpose of a matrix.
RawTensor transpose(const RawTensor& matrix);

// Appends the bytes of a number.
template <typename T>
void append(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Returns the bytes of a model file with int8 weights and the same labels for every checkpoint.
std::vector<uint8_t> convert_unlabelled(Checkpoint& checkpoint);

// Returns the message of the std::runtime_error that `action` throws.
std::string error_of(const std::function<void()>& action);

bool contains(const std::string& text, const std::string& part);

#define EXPECT_ERROR(action, part) EXPECT_PRED2(::sotto::contains, ::sotto::error_of([&] { (void)(action); }), part)

}  // namespace sotto
