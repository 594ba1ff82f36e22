// Fuzzes checkpoints of several files: shards with an index, transformers' directories with tokenizers and
// descriptions, LoRA adapters, reward models, and TensorFlow's index and data. Input: files one after the other, each
// with
//   byte 0: its name in kNames, bytes 1-4: its size, then its bytes.
// A directory named "adapter" is merged. The only exception is std::runtime_error.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "converters/readers/checkpoint.h"
#include "converters/tokenizers/reader.h"
#include "runtime/text/tokenizer.h"

namespace {

using namespace sotto;

// tests/tools/make_checkpoint_corpus.py has the same list.
constexpr const char* kNames[] = {
    "config.json",
    "model.safetensors",
    "model.safetensors.index.json",
    "model-00001-of-00002.safetensors",
    "model-00002-of-00002.safetensors",
    "pytorch_model.bin",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "spiece.model",
    "generation_config.json",
    "chat_template.jinja",
    "README.md",
    "adapter/adapter_config.json",
    "adapter/adapter_model.safetensors",
    "hparams.json",
    "checkpoint",
    "model.ckpt.index",
    "model.ckpt.data-00000-of-00001",
    "t3_turbo.safetensors",
};

void check(bool holds) {
  if (!holds) std::abort();
}

// A directory that is empty for every input, and removed at exit.
class ScratchDirectory {
 public:
  ScratchDirectory()
      : path_(std::filesystem::temp_directory_path() / ("sotto-fuzz-" + std::to_string(getpid()) + "-directory")) {}
  ~ScratchDirectory() { remove(); }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }

  void fill(std::string_view input) const {
    constexpr size_t kHead = 5;
    remove();
    std::filesystem::create_directories(path_ / "adapter");
    while (input.size() >= kHead) {
      const char* name = kNames[static_cast<uint8_t>(input[0]) % std::size(kNames)];
      uint32_t size = 0;
      std::memcpy(&size, input.data() + 1, sizeof size);
      const std::string_view bytes = input.substr(kHead, size);
      std::ofstream file(path_ / name, std::ios::binary | std::ios::trunc);
      file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      check(file.good());
      input.remove_prefix(kHead + bytes.size());
    }
  }

 private:
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  std::filesystem::path path_;
};

void check_sizes(const FloatModel& model) {
  const ModelShape& shape = model.shape;
  const size_t width = shape.embedding_size;
  check(model.positions.size() == shape.position_count * width);
  check(model.token_embedding.size() == shape.vocabulary_size * width);
  check(model.layers.size() == shape.layer_count);
  for (const FloatLayer& layer : model.layers) {
    check(layer.attention_norm.gain.size() == width && layer.feed_forward_norm.bias.size() == width);
    check(layer.attention_qkv.weights.size() == 3 * width * width);
    check(layer.feed_forward_down.weights.size() == shape.feed_forward_size * width);
  }
  check(model.reward_count < shape.vocabulary_size);
  for (const int32_t token : model.end_of_text_tokens()) {
    check(token >= 0 && static_cast<uint32_t>(token) < shape.vocabulary_size);
  }
}

void convert(const std::filesystem::path& directory, const ReadOptions& options) {
  const auto checkpoint = open_checkpoint(directory, options);
  check_sizes(load_float_model(*checkpoint));
  const auto tokenizer = read_checkpoint_tokenizer(directory, checkpoint->info().shape.vocabulary_size);
  if (!tokenizer) return;
  std::vector<int32_t> tokens(100);
  size_t count = 0;
  (void)encode(tokenizer->view(), std::string_view("ab a\u0301 <e> \uFB01"), {true}, tokens, &count, nullptr);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const ScratchDirectory directory;
  directory.fill({reinterpret_cast<const char*>(data), size});
  ReadOptions options;
  const std::filesystem::path adapter = directory.path() / "adapter";
  if (!std::filesystem::is_empty(adapter)) options.adapters.push_back({adapter});
  for (const bool keeps_score : {false, true}) {
    options.keeps_score = keeps_score;
    try {
      convert(directory.path(), options);
    } catch (const std::runtime_error&) {
      // The checkpoint was rejected with a message.
    }
  }
  return 0;
}
