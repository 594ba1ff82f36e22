// Writes a checkpoint as a .sotto file (runtime/model/model.fbs, file_header.h). One tensor at a time is quantized and
// written, so the model is never in memory as a whole.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "converters/quantize/calibration.h"
#include "converters/readers/checkpoint.h"

namespace sotto {

class Packer;
struct TokenizerData;

struct TensorReport {
  std::string name;   // for example "layers.3.attention_qkv"
  std::string group;  // the name without the layer's number
  std::vector<uint32_t> shape;
  uint32_t bits = 0;  // 8 or 4 bits per weight; 0 for unchanged float32
  uint64_t size = 0;  // bytes in the file for weights, scales and bias
  // Errors of the quantized weights:
  double signal_to_noise_db = 0;  // infinity if the values are exact
  double mean_squared_error = 0;
  double largest_error = 0;
};

struct WriteReport {
  std::vector<TensorReport> tensors;
  uint64_t file_size = 0;
  uint64_t metadata_size = 0;
  uint64_t packed_size = 0;
  uint64_t vocabulary_size = 0;  // bytes; 0 if the file has none

  // Returns the lowest signal-to-noise ratio of a tensor.
  double lowest_snr_db() const;
};

enum class WeightKind { kInt8, kInt4 };

struct WriteOptions {
  // Requested widths. Layers with fewer than 32 inputs have int8 weights in any case.
  WeightKind layers = WeightKind::kInt8;
  WeightKind head = WeightKind::kInt8;  // also of the token embeddings
  // Tokens that calibrate the weights (quantize/calibration.h). Without tokens, each weight is rounded to the nearest
  // value.
  std::span<const TokenWindow> calibration = {};
  CalibrationEffort effort = CalibrationEffort::kFull;
  unsigned thread_count = 1;                 // does not change the file
  const TokenizerData* tokenizer = nullptr;  // null for a file without tokenizer
  // Packs weights for one instruction set. If it is null, or if all weights have 4 bits, the file has no packed
  // section.
  const Packer* packer = nullptr;
  // Size of a huge page. If the packed section and the data that is read with it fill at least kMinPages huge pages,
  // they begin on a page boundary, so that systems can map them with huge pages.
  uint64_t page_size = uint64_t{2} << 20;
  static constexpr uint64_t kMinPages = 32;
  bool is_dry_run = false;  // writes no file and computes only what the report contains
  // Called between tensors with the completed fraction, 0 to 1. May throw to stop.
  std::function<void(double fraction)> progress = [](double) {};
};

// Writes the file. Equal arguments produce equal bytes. If it throws, no temporary file remains, and an existing file
// at `path` is unchanged.
WriteReport write_model(const Checkpoint& checkpoint, const std::filesystem::path& path, const WriteOptions& options);

// Returns the bytes that write_model() writes, through a temporary file. `report` may be null.
std::vector<uint8_t> convert_to_bytes(const Checkpoint& checkpoint, const WriteOptions& options,
                                      WriteReport* report = nullptr);

}  // namespace sotto
