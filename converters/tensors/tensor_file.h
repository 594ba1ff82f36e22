// A file of named tensors, read as float32 on demand. Each file format has a class derived from TensorFile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "converters/file.h"

namespace sotto {

enum class TensorType : uint8_t {
  kF16,
  kBf16,
  kF32,
  kF64,
  kBlocks,  // blocks of numbers with shared scales, which the derived class decodes
  kOther,
};

struct TensorEntry {
  TensorType type = TensorType::kOther;
  std::string type_name;  // the name in the file, for example "BF16"
  std::vector<uint64_t> shape;
  uint64_t element_count = 0;
  uint64_t offset = 0;            // offset in the file
  uint64_t size = 0;              // bytes from the first element to the end of the last
  std::vector<uint64_t> strides;  // in elements; empty if the elements are contiguous in row-major order
};

// The tensors of one file. The constructors of derived classes validate the file and fill in `tensors_`.
class TensorFile {
 public:
  virtual ~TensorFile() = default;

  const std::filesystem::path& path() const { return file_.path(); }
  const std::map<std::string, TensorEntry>& tensors() const { return tensors_; }
  // Returns elements [first, first + count) of a tensor in row-major order. Throws if the type is not a float type, or
  // if a number is not finite in float32.
  std::vector<float> read(const std::string& name, uint64_t first, uint64_t count) const;

 protected:
  explicit TensorFile(const std::filesystem::path& path) : file_(path) {}
  // Decodes elements without checking that they are finite. Classes whose tensors are not plain arrays override it.
  virtual std::vector<float> decode(const TensorEntry& entry, uint64_t first, uint64_t count) const;

  InputFile file_;
  std::map<std::string, TensorEntry> tensors_;
};

// Throws std::runtime_error with the message "where: message".
[[noreturn]] void fail_at(const std::string& where, const std::string& message);

// Returns the name of the file and of the tensor, for messages.
std::string tensor_label(const std::filesystem::path& path, const std::string& name);

// Returns a shape as text, for example "(11, 8)".
std::string shape_text(const std::vector<uint64_t>& shape);

// Computes the number of elements. Returns false if their size in bytes exceeds 64 bits.
bool multiply_shape(const std::vector<uint64_t>& shape, uint64_t element_size, uint64_t* count);

}  // namespace sotto
