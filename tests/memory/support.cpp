#include "tests/memory/support.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>

#include "converters/model_writer.h"
#include "converters/packing.h"
#include "converters/readers/synthetic.h"
#include "converters/tokenizers/builder.h"
#include "tests/support/uninitialized.h"

namespace sotto {

AlignedBytes::AlignedBytes(size_t size, uint8_t fill) : storage_(size + SOTTO_MEMORY_ALIGNMENT, fill), size_(size) {
  const auto address = reinterpret_cast<uintptr_t>(storage_.data());
  data_ = storage_.data() + (SOTTO_MEMORY_ALIGNMENT - address % SOTTO_MEMORY_ALIGNMENT);
  mark_uninitialized(data_, size);
}

AlignedBytes::AlignedBytes(const std::vector<uint8_t>& bytes) : AlignedBytes(bytes.size()) {
  std::copy(bytes.begin(), bytes.end(), data_);
}

GuardedBytes::GuardedBytes(size_t size, uint8_t fill) : size_(size), block_(size + 2 * kGuard, kPattern) {
  std::memset(data(), fill, size);
  mark_uninitialized(data(), size);
}

bool GuardedBytes::guards_intact() {
  const auto intact = [](uint8_t byte) { return byte == kPattern; };
  return std::all_of(block_.data(), data(), intact) && std::all_of(data() + size_, data() + size_ + kGuard, intact);
}

namespace {

TokenizerData byte_tokenizer(uint32_t vocabulary_size) {
  TokenizerDescription description;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    description.tokens.push_back({std::string(1, static_cast<char>(byte)), TokenKind::kNormal});
    description.byte_tokens[byte] = byte;
  }
  description.tokens.resize(vocabulary_size);
  return build_tokenizer(description);
}

// Random weights with any description.
class DescribedCheckpoint final : public Checkpoint {
 public:
  DescribedCheckpoint(const ModelShape& shape, const std::function<void(CheckpointInfo&)>& describe)
      : Checkpoint(SyntheticCheckpoint("described", shape, 1).info()), plain_("described", shape, 1) {
    describe(info_);
  }
  std::vector<float> positions() const override { return plain_.positions(); }
  std::vector<float> token_embedding() const override { return plain_.token_embedding(); }
  FloatLayer layer(uint32_t index) const override { return plain_.layer(index); }
  FloatNorm final_norm() const override { return plain_.final_norm(); }
  FloatLinear head() const override { return plain_.head(); }

 private:
  SyntheticCheckpoint plain_;
};

}  // namespace

static std::vector<uint8_t> file_of(const Checkpoint& checkpoint, bool with_tokenizer, WriteOptions options) {
  TokenizerData tokenizer;
  if (with_tokenizer) {
    tokenizer = byte_tokenizer(checkpoint.info().shape.vocabulary_size);
    options.tokenizer = &tokenizer;
  }
  return convert_to_bytes(checkpoint, options);
}

std::vector<uint8_t> make_model_file(const ModelShape& shape, bool with_tokenizer, const std::string& pack) {
  WriteOptions options;
  std::optional<Packer> packer;
  if (pack != "none") options.packer = &packer.emplace(pack);
  return file_of(SyntheticCheckpoint("memory test", shape, 1), with_tokenizer, options);
}

std::vector<uint8_t> make_int4_model_file(const ModelShape& shape, bool with_tokenizer, bool int8_head) {
  WriteOptions options;
  options.layers = WeightKind::kInt4;
  options.head = int8_head ? WeightKind::kInt8 : WeightKind::kInt4;
  return file_of(SyntheticCheckpoint("memory test", shape, 1), with_tokenizer, options);
}

std::vector<uint8_t> make_described_file(const ModelShape& shape, const std::function<void(CheckpointInfo&)>& describe,
                                         bool with_tokenizer) {
  return file_of(DescribedCheckpoint(shape, describe), with_tokenizer, {});
}

LoadedModel::LoadedModel(const std::vector<uint8_t>& file, sotto_isa isa) : file_(file) {
  sotto_model_params params;
  sotto_model_params_init(&params, sizeof params);
  params.isa = isa;
  sotto_error error = {};
  error.struct_size = sizeof error;
  size_t size;
  if (sotto_model_memory_size(file_.data(), file_.size(), &params, &size, &error) != SOTTO_OK) {
    throw std::runtime_error(error.message);
  }
  memory_ = std::make_unique<AlignedBytes>(size);
  if (sotto_model_init(file_.data(), file_.size(), &params, memory_->data(), size, &model_, &error) != SOTTO_OK) {
    throw std::runtime_error(error.message);
  }
}

}  // namespace sotto
