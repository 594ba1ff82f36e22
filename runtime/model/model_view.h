// A model file, verified and used in place: configuration, tokenizer, and typed pointers to every tensor. A view owns
// no memory, and the file must outlive it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernels.h"
#include "kernels/linear/linear.h"
#include "runtime/base/status.h"
#include "runtime/model/sampling_defaults.h"
#include "runtime/model/tokenizer_view.h"

namespace sotto::format {
struct Linear;
struct Model;
struct Norm;
}  // namespace sotto::format

namespace sotto {

// The largest values that a model file may have. Int32 sums of int8 products over all inputs of a layer cannot
// overflow.
struct ModelLimits {
  static constexpr uint32_t kVocabulary = 1u << 22;
  static constexpr uint32_t kPositions = 1u << 20;
  static constexpr uint32_t kWidth = 1u << 16;
  static constexpr uint32_t kFeedForward = 1u << 16;
  static constexpr uint32_t kLayers = 1u << 10;
  static constexpr uint32_t kEndTokens = 64;
};
static_assert(uint64_t{255} * 127 * std::max(ModelLimits::kWidth, ModelLimits::kFeedForward) <= INT32_MAX);

// The dimensions of a model.
struct ModelConfig {
  uint32_t vocabulary_size = 0;
  uint32_t position_count = 0;
  uint32_t embedding_size = 0;
  uint32_t head_count = 0;
  uint32_t head_size = 0;
  uint32_t feed_forward_size = 0;
  uint32_t layer_count = 0;
  Activation activation = Activation::kGeluTanh;
  float norm_epsilon = 0;
  int32_t end_of_text_token = -1;
  uint32_t reward_count = 0;  // the last ids of the vocabulary whose logits are rewards
};

// The parameters of a layer normalization.
struct NormView {
  const float* gain = nullptr;  // size: embedding
  const float* bias = nullptr;  // size: embedding
};

// The tensors of a transformer layer.
struct LayerView {
  NormView attention_norm;
  LinearWeights attention_qkv;
  LinearWeights attention_output;
  NormView feed_forward_norm;
  LinearWeights feed_forward_up;
  LinearWeights feed_forward_down;
};

// Bytes of the file with their expected checksum.
struct ByteRange {
  const uint8_t* bytes = nullptr;
  size_t size = 0;
  uint64_t checksum = 0;
};

// The vocabulary section as the file describes it. ModelView does not verify its bytes; the user of the section does.
struct VocabularySection {
  uint32_t version = 0;
  uint32_t text_count = 0;
  uint32_t node_count = 0;
  uint32_t longest = 0;
  ByteRange arrays;
};

class ModelView {
 public:
  // Verifies the header, the metadata, and the shape, offset, alignment and range of every tensor.
  Status open(const void* file, size_t file_size, Error* error);
  // Verifies that the small float tensors are finite and that the tokenizer's tables are consistent. verify_range()
  // verifies the checksums of tensors.
  Status verify_contents(Error* error);

  const ModelConfig& config() const { return config_; }
  const TokenizerView* tokenizer() const { return has_tokenizer_ ? &tokenizer_ : nullptr; }
  const char* name() const;           // empty if the file has none
  const char* source() const;         // empty if the file has none
  const char* license() const;        // empty if the file has none
  const char* chat_template() const;  // empty if the file has none
  const char* chat_format() const;    // empty if the file has none
  std::span<const int32_t> end_of_text_tokens() const;
  const SamplingDefaults& sampling_defaults() const { return sampling_defaults_; }

  // Returns a hash of the shapes and values of all tensors. It does not depend on packed sections.
  uint64_t fingerprint() const;

  ByteRange metadata() const;
  const float* positions() const;  // (position, embedding)
  ByteRange position_bytes() const;
  LinearWeights token_embedding() const;  // (vocabulary, embedding); a bias belongs to a tied head
  ByteRange token_embedding_bytes() const;
  LayerView layer(size_t index) const;
  NormView final_norm() const;
  bool has_tied_head() const;
  LinearWeights head() const;  // the token embedding if they are tied

  // The linear layers by their index in file order: qkv, output, up and down of each layer, then the head.
  size_t linear_count() const { return size_t{4} * config_.layer_count + 1; }
  LinearWeights linear(size_t index) const;
  ByteRange linear_bytes(size_t index) const;  // its int8 weights or its tiles
  bool has_int8_linears() const;

  // Finds the section of weights packed in a layout, or sets `*section` to -1 if there is none. Fails if a section with
  // this layout does not fit the model.
  Status find_packed(const TileLayout& layout, int* section, Error* error) const;
  ByteRange packed_linear(int section, size_t index) const;

  // Finds the vocabulary section without reading its pages. Returns false if the file has none.
  bool find_vocabulary(VocabularySection* section) const;

  // Verifies the checksums of scales, biases, norms and positions.
  Status verify_small_tensors(Error* error) const;

  // Fails with kModelCorrupt, and a message that names `what`, if the checksum of the bytes is wrong.
  Status verify_range(const ByteRange& range, const char* what, Error* error) const;

 private:
  const uint8_t* file_ = nullptr;
  size_t file_size_ = 0;
  const format::Model* model_ = nullptr;
  ModelConfig config_;
  SamplingDefaults sampling_defaults_;
  TokenizerView tokenizer_;
  bool has_tokenizer_ = false;
};

}  // namespace sotto
