// Models with random weights, which suffice because speed and memory depend only on shapes.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "converters/readers/checkpoint.h"
#include "runtime/model/tokenizer_view.h"

namespace sotto::bench {

inline constexpr std::string_view kSyntheticPrefix = "synthetic-";

// The names of the shapes, for help and messages.
inline constexpr char kSyntheticNames[] = "gpt2-124M, gpt2-355M, gpt2-774M, gpt2-1558M, distilgpt2, tiny";

// Suffix of a name for weights of 4 bits instead of 8.
inline constexpr std::string_view kInt4Suffix = "-int4";

// Returns the shape of "synthetic-NAME", or nullopt for an unknown name.
std::optional<ModelShape> synthetic_shape(std::string_view name);

// Writes a model with weights packed for `isa` ("native", a name, or "none"), and a synthetic tokenizer as large as
// GPT-2's.
void write_synthetic_model(const std::string& name, const ModelShape& shape, const std::string& isa,
                           const std::filesystem::path& path, const std::function<void(double)>& progress);

// A new folder for temporary files, removed with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace sotto::bench
