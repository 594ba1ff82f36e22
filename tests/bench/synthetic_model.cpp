#include "tests/bench/synthetic_model.h"

#include <stdlib.h>

#include <memory>
#include <stdexcept>
#include <system_error>

#include "converters/model_writer.h"
#include "converters/packing.h"
#include "converters/readers/synthetic.h"
#include "tests/bench/synthetic_tokenizer.h"

namespace sotto::bench {

std::optional<ModelShape> synthetic_shape(std::string_view name) {
  if (name.ends_with(kInt4Suffix)) name.remove_suffix(kInt4Suffix.size());
  if (name == "tiny") {
    return ModelShape{.vocabulary_size = 512,
                      .position_count = 128,
                      .embedding_size = 64,
                      .head_count = 4,
                      .feed_forward_size = 256,
                      .layer_count = 2};
  }
  constexpr std::pair<std::string_view, std::string_view> kSizes[] = {
      {"gpt2-124M", "gpt2"}, {"gpt2-355M", "gpt2-medium"}, {"gpt2-774M", "gpt2-large"}, {"gpt2-1558M", "gpt2-xl"}};
  for (const auto& [size, published] : kSizes) {
    if (name == size) return find_published_shape(published);
  }
  return find_published_shape(name);
}

void write_synthetic_model(const std::string& name, const ModelShape& shape, const std::string& isa,
                           const std::filesystem::path& path, const std::function<void(double)>& progress) {
  const TokenizerData tokenizer = make_synthetic_tokenizer(shape.vocabulary_size);
  std::optional<Packer> packer;
  if (isa != "none") packer.emplace(isa);
  WriteOptions options;
  options.tokenizer = &tokenizer;
  options.packer = packer ? &*packer : nullptr;
  options.progress = progress;
  if (name.ends_with(kInt4Suffix)) options.layers = options.head = WeightKind::kInt4;
  write_model(SyntheticCheckpoint(name, shape, 1), path, options);
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "sotto-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error(name + ": cannot make a folder for temporary files");
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace sotto::bench
