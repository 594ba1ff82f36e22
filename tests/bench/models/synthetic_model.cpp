#include "tests/bench/models/synthetic_model.h"

#include <stdlib.h>

#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <system_error>
#include <unordered_set>
#include <vector>

#include "converters/model_writer.h"
#include "converters/packing.h"
#include "converters/readers/synthetic.h"
#include "converters/tokenizers/builder.h"

namespace sotto::bench {
namespace {

constexpr uint32_t kBytes = 256;
constexpr size_t kLongestToken = 12;

// Draws tokens to merge. Earlier tokens are drawn more often, as in a trained vocabulary.
class Parts {
 public:
  Parts() {
    for (uint32_t letter = 'a'; letter <= 'z'; ++letter) parts_.push_back(letter);
  }
  void add(uint32_t token) { parts_.push_back(token); }
  uint32_t draw(std::mt19937& random) const {
    const double u = static_cast<double>(random()) / 4294967296.0;
    return parts_[static_cast<size_t>(u * u * static_cast<double>(parts_.size()))];
  }

 private:
  std::vector<uint32_t> parts_;
};

// Returns a tokenizer of at least 257 tokens. Loading and encoding take as long as with a trained tokenizer of that
// size. Its tokens are the bytes, then concatenations of earlier tokens, mostly of letters, and a special token. The
// result depends only on the size.
TokenizerData make_synthetic_tokenizer(uint32_t vocabulary_size) {
  TokenizerDescription description;
  auto& tokens = description.tokens;
  std::unordered_set<std::string> known;
  for (uint32_t byte = 0; byte < kBytes; ++byte) {
    tokens.push_back({std::string(1, static_cast<char>(byte)), TokenKind::kNormal});
    description.byte_tokens[byte] = byte;
  }
  std::mt19937 random(1);
  Parts parts;
  while (tokens.size() + 1 < vocabulary_size) {
    // A third of the tokens begin a word.
    const uint32_t left = random() % 3 == 0 ? uint32_t{' '} : parts.draw(random);
    const uint32_t right = parts.draw(random);
    const std::string bytes = tokens[left].bytes + tokens[right].bytes;
    if (bytes.size() > kLongestToken || !known.insert(bytes).second) continue;
    const auto result = static_cast<uint32_t>(tokens.size());
    tokens.push_back({bytes, TokenKind::kNormal});
    description.merges.push_back({left, right, result});
    if (bytes[0] != ' ') parts.add(result);
  }
  tokens.push_back({"<|endoftext|>", TokenKind::kSpecial});
  return build_tokenizer(description);
}

}  // namespace

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
