// Helpers of the golden tests: paths of checkpoints, their conversion, and the distance between logits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "converters/model_writer.h"
#include "converters/readers/checkpoint.h"
#include "tests/support/files.h"

namespace sotto {

using test::shared_data;

std::filesystem::path golden_data();  // in the source tree
FloatModel load_checkpoint(const std::filesystem::path& directory);
// Returns the bytes of the .sotto file that the converter makes of a checkpoint.
std::vector<uint8_t> convert_checkpoint(const std::filesystem::path& directory, WeightKind weights = WeightKind::kInt8);
std::vector<uint8_t> read_bytes(const std::filesystem::path& path);

// Returns the names of the checkpoints in golden_data(), sorted.
std::vector<std::string> golden_names();

struct LogitError {
  double max = 0;
  // Root mean square error, relative to the root mean square of the expected values around the mean of their row.
  double relative_rms = 0;
  double top1_agreement = 0;
};
LogitError compare_logits(std::span<const float> expected, std::span<const float> actual, size_t vocabulary);

// Returns token ids by descending logit, and among equal logits by ascending id.
std::vector<int32_t> top_tokens(std::span<const float> logits, size_t count);

}  // namespace sotto
