#include "converters/tensors/tensor_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "converters/tensors/float_types.h"

namespace sotto {
namespace {

static_assert(std::endian::native == std::endian::little, "tensors in files are little-endian");

// Converts a number. Returns infinity outside the range of float: a cast is undefined behaviour there.
float float_of_double(double value) {
  return std::abs(value) <= std::numeric_limits<float>::max() ? static_cast<float>(value)
                                                              : std::numeric_limits<float>::infinity();
}

// Reads elements of type T in pieces and appends their conversions to float32.
template <typename T, typename Convert>
std::vector<float> read_converted(const InputFile& file, uint64_t offset, uint64_t count, Convert convert) {
  constexpr uint64_t kPiece = uint64_t{1} << 18;
  std::vector<T> piece(std::min(count, kPiece));
  std::vector<float> values(count);
  for (uint64_t done = 0; done < count;) {
    const uint64_t take = std::min(count - done, kPiece);
    file.read_at(offset + done * sizeof(T), piece.data(), take * sizeof(T));
    std::transform(piece.begin(), piece.begin() + static_cast<ptrdiff_t>(take),
                   values.begin() + static_cast<ptrdiff_t>(done), convert);
    done += take;
  }
  return values;
}

// Reads `count` elements that are contiguous in the file.
std::vector<float> read_contiguous(const InputFile& file, TensorType type, uint64_t offset, uint64_t first,
                                   uint64_t count) {
  std::vector<float> values;
  switch (type) {
    case TensorType::kF16:
      return read_converted<uint16_t>(file, offset + 2 * first, count, float_of_half);
    case TensorType::kBf16:
      return read_converted<uint16_t>(file, offset + 2 * first, count, float_of_bfloat);
    case TensorType::kF32:
      values.resize(count);
      file.read_at(offset + 4 * first, values.data(), count * sizeof(float));
      return values;
    case TensorType::kF64:
      return read_converted<double>(file, offset + 8 * first, count, float_of_double);
    case TensorType::kBlocks:
    case TensorType::kOther:
      break;
  }
  throw std::logic_error("read() rejects other types");
}

uint64_t size_of(TensorType type) {
  switch (type) {
    case TensorType::kF32:
      return 4;
    case TensorType::kF64:
      return 8;
    default:
      return 2;
  }
}

}  // namespace

std::vector<float> TensorFile::decode(const TensorEntry& entry, uint64_t first, uint64_t count) const {
  if (entry.strides.empty()) return read_contiguous(file_, entry.type, entry.offset, first, count);
  const std::vector<float> stored =
      read_contiguous(file_, entry.type, entry.offset, 0, entry.size / size_of(entry.type));
  std::vector<float> values(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t rest = first + i, at = 0;
    for (size_t axis = entry.shape.size(); axis-- > 0; rest /= entry.shape[axis]) {
      at += rest % entry.shape[axis] * entry.strides[axis];
    }
    values[i] = stored[at];
  }
  return values;
}

std::vector<float> TensorFile::read(const std::string& name, uint64_t first, uint64_t count) const {
  const TensorEntry& entry = tensors_.at(name);
  const std::string where = tensor_label(path(), name);
  if (entry.type == TensorType::kOther) {
    throw std::runtime_error(where + ": its dtype is " + entry.type_name + ", not a float type");
  }
  std::vector<float> values = decode(entry, first, count);
  const auto bad = std::find_if_not(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
  if (bad != values.end()) {
    throw std::runtime_error(where + ": element " +
                             std::to_string(first + static_cast<uint64_t>(bad - values.begin())) +
                             " is not a finite float32 number");
  }
  return values;
}

void fail_at(const std::string& where, const std::string& message) { throw std::runtime_error(where + ": " + message); }

std::string tensor_label(const std::filesystem::path& path, const std::string& name) {
  return path.string() + ": tensor " + in_quotes(name);
}

std::string shape_text(const std::vector<uint64_t>& shape) {
  std::string text = "(";
  for (const uint64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + ")";
}

bool multiply_shape(const std::vector<uint64_t>& shape, uint64_t element_size, uint64_t* count) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    *count = 0;
    return true;
  }
  *count = 1;
  for (const uint64_t extent : shape) {
    if (extent > std::numeric_limits<uint64_t>::max() / element_size / *count) return false;
    *count *= extent;
  }
  return true;
}

}  // namespace sotto
