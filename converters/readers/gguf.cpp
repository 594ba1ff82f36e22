// Reads GPT-2 checkpoints in GGUF, the format of llama.cpp.
#include <algorithm>
#include <cctype>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "converters/readers/config.h"
#include "converters/readers/description.h"
#include "converters/readers/named_checkpoint.h"
#include "converters/tensors/gguf.h"

namespace sotto {
namespace {

constexpr char kTokenEmbedding[] = "token_embd.weight";
constexpr char kPositions[] = "position_embd.weight";
constexpr char kLayers[] = "blk.";

// Returns the number of rows of a matrix.
uint32_t row_count(const Tensors& tensors, const std::string& name) {
  const TensorEntry& entry = tensors.entry(name);
  if (entry.shape.size() != 2 || entry.shape[0] > std::numeric_limits<int32_t>::max()) {
    throw std::runtime_error(tensors.where(name) + ": its shape is " + shape_text(entry.shape) + ", not a matrix");
  }
  return static_cast<uint32_t>(entry.shape[0]);
}

// Rejects models that call their architecture "gpt2" but have additional tensors, because a GPT-2 has none.
void reject_unknown_tensors(const Tensors& tensors) {
  constexpr std::string_view kKnown[] = {kTokenEmbedding, kPositions, "output_norm.weight", "output_norm.bias",
                                         "output.weight"};
  for (const std::string& name : tensors.names()) {
    if (name.starts_with(kLayers) || std::find(std::begin(kKnown), std::end(kKnown), name) != std::end(kKnown))
      continue;
    throw std::runtime_error(tensors.where(name) + ": does not belong to a GPT-2");
  }
}

// Adds a remark if the name suggests a model trained with scale_attn_by_inverse_layer_idx, because GGUF does not record
// this setting.
void note_lost_scale(const std::string& name, std::vector<std::string>& notes) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* model : {"codeparrot", "mistral", "alias"}) {
    if (lower.find(model) == std::string::npos) continue;
    notes.push_back(in_quotes(name) +
                    " may scale attention by layer (scale_attn_by_inverse_layer_idx), which GGUF "
                    "does not store; if so, convert the original checkpoint instead");
    return;
  }
}

std::unique_ptr<Checkpoint> open_gguf(const std::filesystem::path& path, const ReadOptions& options) {
  const auto file = std::make_shared<const GgufFile>(path);
  const Config config(path.string(), file->values());
  const Tensors tensors(file);
  if (const std::string architecture = config.text("general.architecture", ""); architecture != "gpt2") {
    config.fail("general.architecture", "is " + in_quotes(architecture) + "; only \"gpt2\" is supported");
  }
  if (config.count("split.count", nullptr, 1) > 1) {
    config.fail("split.count", "is more than 1: join the parts first with llama-gguf-split --merge");
  }
  reject_unknown_tensors(tensors);

  CheckpointInfo info;
  info.name = config.text("general.name", path.stem().string().c_str());
  info.source = "GGUF file " + path.filename().string();
  ModelShape& shape = info.shape;
  shape.layer_count = config.count("gpt2.block_count", nullptr, 0);
  shape.head_count = config.count("gpt2.attention.head_count", nullptr, 0);
  shape.embedding_size = config.count("gpt2.embedding_length", nullptr, 0);
  // The sizes come from the tensors, because in some files the keys are wrong, for example for an unusual feed-forward
  // width.
  shape.vocabulary_size = row_count(tensors, kTokenEmbedding);
  shape.position_count = row_count(tensors, kPositions);
  shape.feed_forward_size = row_count(tensors, "blk.0.ffn_up.weight");
  info.activation = options.activation.value_or(Activation::kGeluTanh);
  info.norm_epsilon = config.epsilon("gpt2.attention.layer_norm_epsilon", 1e-5f);
  std::vector<std::string> notes;
  read_gguf_description(config, info, notes);
  note_lost_scale(info.name, notes);
  TensorMapping mapping = gguf_mapping();
  mapping.configuration = path;
  return std::make_unique<NamedCheckpoint>(std::move(info), std::move(notes), tensors, std::move(mapping));
}

}  // namespace

TensorMapping gguf_mapping() {
  TensorMapping mapping;
  mapping.token_embedding = kTokenEmbedding;
  mapping.positions = kPositions;
  mapping.attention_norm = "blk.{}.attn_norm";
  mapping.attention_qkv = {"blk.{}.attn_qkv"};
  mapping.attention_output = "blk.{}.attn_output";
  mapping.feed_forward_norm = "blk.{}.ffn_norm";
  mapping.feed_forward_up = "blk.{}.ffn_up";
  mapping.feed_forward_down = "blk.{}.ffn_down";
  mapping.final_norm = "output_norm";
  mapping.head = "output";
  return mapping;
}

const CheckpointFormat kGgufFormat = {"llama.cpp", "a GGUF file", is_gguf, open_gguf};

}  // namespace sotto
