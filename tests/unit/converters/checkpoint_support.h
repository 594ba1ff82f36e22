// Builds small checkpoints, right and wrong ones, in a directory of their own.
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

namespace sotto {

class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

std::filesystem::path shared_test_data();
std::string read_bytes(const std::filesystem::path& path);
void write_bytes(const std::filesystem::path& path, const std::string& bytes);

struct RawTensor {
  std::string type = "F32";
  std::vector<uint64_t> shape;
  std::string bytes;
};
using RawTensors = std::map<std::string, RawTensor>;

// Encodes finite values as F32, F64, F16 (exactly representable values only) or BF16
// (cut off).
RawTensor make_tensor(const std::string& type, std::vector<uint64_t> shape, const std::vector<float>& values);

// `edit_header` may spoil the header before it is written.
std::string safetensors_bytes(const RawTensors& tensors, const std::function<void(nlohmann::json&)>& edit_header = {});
// A file of any header text and data.
std::string safetensors_bytes(const std::string& header, const std::string& data);

struct TinyCheckpoint {
  nlohmann::json config;
  RawTensors tensors;

  void save(const std::filesystem::path& directory) const;
};

// 2 layers, 2 heads, 8 wide, 16 inside, 6 positions, 11 tokens; multiples of 1/64 that
// every type represents exactly.
TinyCheckpoint make_tiny_checkpoint(const std::string& type = "F32", const std::string& prefix = "transformer.");

// The message of the std::runtime_error that `action` throws.
std::string error_of(const std::function<void()>& action);

bool contains(const std::string& text, const std::string& part);

#define EXPECT_ERROR(action, part) EXPECT_PRED2(::sotto::contains, ::sotto::error_of([&] { (void)(action); }), part)

}  // namespace sotto
