#include "tests/golden/golden_support.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>
#include <stdexcept>

#include "converters/readers/checkpoint.h"
#include "converters/tokenizers/reader.h"

namespace sotto {
namespace {

double mean_of(std::span<const float> x) {
  return std::accumulate(x.begin(), x.end(), 0.0) / static_cast<double>(x.size());
}

}  // namespace

std::filesystem::path golden_data() { return std::filesystem::path(SOTTO_SOURCE_DIR) / "tests/golden/data"; }

FloatModel load_checkpoint(const std::filesystem::path& directory) {
  return load_float_model(*open_checkpoint(directory));
}

std::vector<uint8_t> convert_checkpoint(const std::filesystem::path& directory, WeightKind weights) {
  const auto checkpoint = open_checkpoint(directory);
  const auto tokenizer = read_tokenizer_directory(directory, checkpoint->info().shape.vocabulary_size);
  WriteOptions options;
  options.layers = options.head = weights;
  if (tokenizer) options.tokenizer = &*tokenizer;
  return convert_to_bytes(*checkpoint, options);
}

std::vector<uint8_t> read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> golden_names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden_data())) {
    if (entry.is_directory()) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

LogitError compare_logits(std::span<const float> expected, std::span<const float> actual, size_t vocabulary) {
  if (expected.size() != actual.size()) throw std::invalid_argument("logits differ in number");
  LogitError result;
  double signal = 0, noise = 0;
  const size_t row_count = expected.size() / vocabulary;
  for (size_t row = 0; row < row_count; ++row) {
    const auto x = expected.subspan(row * vocabulary, vocabulary);
    const auto y = actual.subspan(row * vocabulary, vocabulary);
    const double mean = mean_of(x);
    for (size_t i = 0; i < vocabulary; ++i) {
      const double error = static_cast<double>(y[i]) - x[i];
      result.max = std::max(result.max, std::abs(error));
      noise += error * error;
      signal += (x[i] - mean) * (x[i] - mean);
    }
    result.top1_agreement += top_tokens(x, 1) == top_tokens(y, 1);
  }
  result.relative_rms = std::sqrt(noise / signal);
  result.top1_agreement /= static_cast<double>(row_count);
  return result;
}

std::vector<int32_t> top_tokens(std::span<const float> logits, size_t count) {
  std::vector<int32_t> ids(logits.size());
  std::iota(ids.begin(), ids.end(), 0);
  std::partial_sort(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(count), ids.end(), [&](int32_t a, int32_t b) {
    const float x = logits[static_cast<size_t>(a)];
    const float y = logits[static_cast<size_t>(b)];
    return x != y ? x > y : a < b;
  });
  ids.resize(count);
  return ids;
}

}  // namespace sotto
