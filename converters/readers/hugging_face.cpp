#include "converters/readers/hugging_face.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "converters/strict_json.h"

namespace sotto {
namespace {

const std::filesystem::path& checked_directory(const std::filesystem::path& directory) {
  if (!std::filesystem::is_directory(directory)) {
    throw std::runtime_error(directory.string() + ": not a directory");
  }
  if (!std::filesystem::exists(directory / "config.json")) {
    throw std::runtime_error(directory.string() + ": not a Hugging Face checkpoint: config.json is missing");
  }
  return directory;
}

std::string directory_name(const std::filesystem::path& directory) {
  const auto absolute = std::filesystem::weakly_canonical(directory);
  return absolute.filename().string();
}

std::string shape_text(const std::vector<uint64_t>& shape) {
  std::string text = "(";
  for (const uint64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + ")";
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// (rows, columns) -> (columns, rows), in squares that stay in the cache.
std::vector<float> transpose(const std::vector<float>& in, size_t rows, size_t columns) {
  constexpr size_t kSquare = 32;
  std::vector<float> out(in.size());
  for (size_t row = 0; row < rows; row += kSquare) {
    for (size_t column = 0; column < columns; column += kSquare) {
      const size_t row_end = std::min(row + kSquare, rows);
      const size_t column_end = std::min(column + kSquare, columns);
      for (size_t c = column; c < column_end; ++c) {
        for (size_t r = row; r < row_end; ++r) out[c * rows + r] = in[r * columns + c];
      }
    }
  }
  return out;
}

CheckpointInfo info_of(const HuggingFaceConfig& config, const std::filesystem::path& directory) {
  CheckpointInfo info;
  info.name = directory_name(directory);
  info.source = "Hugging Face checkpoint " + info.name;
  info.shape = config.shape;
  info.activation = config.activation;
  info.norm_epsilon = config.norm_epsilon;
  info.end_of_text_token = config.end_of_text_token;
  check_info(info, (directory / "config.json").string());
  return info;
}

constexpr char kHead[] = "lm_head.weight";
constexpr char kHeadBias[] = "lm_head.bias";

}  // namespace

HuggingFaceCheckpoint::HuggingFaceCheckpoint(const std::filesystem::path& directory)
    : Checkpoint({}),
      tensors_(checked_directory(directory)),
      config_(read_hugging_face_config(directory / "config.json")),
      notes_(config_.notes) {
  info_ = info_of(config_, directory);
  if (tensors_.contains("transformer.wte.weight")) prefix_ = "transformer.";
  check_tensors();
  info_.head_kind = find_head_kind();
  note_unknown_tensors();
}

std::string HuggingFaceCheckpoint::layer_name(uint32_t index, const char* part) const {
  return prefix_ + "h." + std::to_string(index) + "." + part;
}

void HuggingFaceCheckpoint::check_tensor(const std::string& name, const Shape& shape) {
  const TensorEntry& entry = tensors_.entry(name);
  if (entry.type == TensorType::kOther) {
    throw std::runtime_error(tensors_.where(name) + ": its dtype is " + entry.type_name +
                             ", not F32, F16, BF16 or F64");
  }
  if (entry.shape != shape) {
    throw std::runtime_error(tensors_.where(name) + ": its shape is " + shape_text(entry.shape) +
                             ", by config.json it should be " + shape_text(shape));
  }
  known_.push_back(name);
}

// transformers' Conv1D keeps its weights as (inputs, outputs).
void HuggingFaceCheckpoint::check_linear(const std::string& name, uint64_t inputs, uint64_t outputs) {
  check_tensor(name + ".weight", {inputs, outputs});
  check_tensor(name + ".bias", {outputs});
}

void HuggingFaceCheckpoint::check_norm(const std::string& name) {
  check_tensor(name + ".weight", {info_.shape.embedding_size});
  check_tensor(name + ".bias", {info_.shape.embedding_size});
}

void HuggingFaceCheckpoint::check_tensors() {
  const ModelShape& shape = info_.shape;
  const uint64_t embedding = shape.embedding_size;
  check_tensor(prefix_ + "wte.weight", {shape.vocabulary_size, embedding});
  check_tensor(prefix_ + "wpe.weight", {shape.position_count, embedding});
  for (uint32_t i = 0; i < shape.layer_count; ++i) {
    check_norm(layer_name(i, "ln_1"));
    check_linear(layer_name(i, "attn.c_attn"), embedding, 3 * embedding);
    check_linear(layer_name(i, "attn.c_proj"), embedding, embedding);
    check_norm(layer_name(i, "ln_2"));
    check_linear(layer_name(i, "mlp.c_fc"), embedding, shape.feed_forward_size);
    check_linear(layer_name(i, "mlp.c_proj"), shape.feed_forward_size, embedding);
  }
  check_norm(prefix_ + "ln_f");
}

// transformers keeps a bias of the head nowhere, but fine-tuned models have one.
HeadKind HuggingFaceCheckpoint::find_head_kind() {
  const bool has_weights = tensors_.contains(kHead);
  const bool has_bias = tensors_.contains(kHeadBias);
  if (!has_weights && !config_.tie_word_embeddings) tensors_.entry(kHead);  // throws
  if (has_weights) {
    check_tensor(kHead, {info_.shape.vocabulary_size, info_.shape.embedding_size});
  }
  const bool is_own = has_weights && !head_equals_embedding();
  if (is_own && config_.tie_word_embeddings) {
    notes_.push_back(
        "\"lm_head.weight\" differs from the token embeddings and is used, though "
        "\"tie_word_embeddings\" is true");
  }
  if (has_bias) {
    check_tensor(kHeadBias, {info_.shape.vocabulary_size});
    return HeadKind::kBiased;
  }
  return is_own ? HeadKind::kPlain : HeadKind::kTied;
}

bool HuggingFaceCheckpoint::head_equals_embedding() const {
  constexpr uint64_t kPiece = uint64_t{1} << 22;
  const uint64_t count = tensors_.entry(kHead).element_count;
  for (uint64_t first = 0; first < count; first += kPiece) {
    const uint64_t take = std::min(kPiece, count - first);
    if (tensors_.read(kHead, first, take) != tensors_.read(prefix_ + "wte.weight", first, take)) {
      return false;
    }
  }
  return true;
}

// Refuses tensors that belong to a model of another form; notes the others it leaves out.
void HuggingFaceCheckpoint::note_unknown_tensors() {
  std::sort(known_.begin(), known_.end());
  for (const std::string& name : tensors_.names()) {
    if (std::binary_search(known_.begin(), known_.end(), name)) continue;
    // Constants of the causal mask that older versions saved.
    if (ends_with(name, ".attn.bias") || ends_with(name, ".attn.masked_bias")) continue;
    if (name.find("crossattention") != std::string::npos || name.find("ln_cross_attn") != std::string::npos) {
      throw std::runtime_error(tensors_.where(name) + ": cross attention is not supported");
    }
    if (name.rfind(prefix_ + "h.", 0) == 0) {
      throw std::runtime_error(tensors_.where(name) + ": is no part of GPT-2 with the " +
                               std::to_string(info_.shape.layer_count) + " layers that config.json gives it");
    }
    notes_.push_back("tensor " + in_quotes(name) + " is left out");
  }
}

std::vector<float> HuggingFaceCheckpoint::read(const std::string& name) const {
  return tensors_.read(name, 0, tensors_.entry(name).element_count);
}

FloatLinear HuggingFaceCheckpoint::read_linear(const std::string& name) const {
  const Shape& shape = tensors_.entry(name + ".weight").shape;
  FloatLinear linear;
  linear.inputs = static_cast<uint32_t>(shape[0]);
  linear.outputs = static_cast<uint32_t>(shape[1]);
  linear.weights = transpose(read(name + ".weight"), linear.inputs, linear.outputs);
  linear.bias = read(name + ".bias");
  return linear;
}

FloatNorm HuggingFaceCheckpoint::read_norm(const std::string& name) const {
  return {read(name + ".weight"), read(name + ".bias")};
}

// The runtime scales every score by 1/sqrt(head_size) and nothing else; scores are linear
// in the queries, so the difference goes into the rows that make these.
void HuggingFaceCheckpoint::fold_query_scale(uint32_t index, FloatLinear& qkv) const {
  const ModelShape& shape = info_.shape;
  double scale = 1;
  if (!config_.scale_attention) scale *= std::sqrt(shape.embedding_size / shape.head_count);
  if (config_.scale_attention_by_inverse_layer) scale /= index + 1.0;
  if (scale == 1) return;
  const auto fold = [&](std::vector<float>& values, size_t count, const char* part) {
    for (size_t i = 0; i < count; ++i) {
      values[i] = static_cast<float>(values[i] * scale);
      if (std::isfinite(values[i])) continue;
      throw std::runtime_error(tensors_.where(layer_name(index, part)) +
                               ": a query weight is too large for the model's attention scale");
    }
  };
  const size_t embedding = shape.embedding_size;
  fold(qkv.weights, embedding * embedding, "attn.c_attn.weight");
  fold(qkv.bias, embedding, "attn.c_attn.bias");
}

std::vector<float> HuggingFaceCheckpoint::positions() const { return read(prefix_ + "wpe.weight"); }

std::vector<float> HuggingFaceCheckpoint::token_embedding() const { return read(prefix_ + "wte.weight"); }

FloatLayer HuggingFaceCheckpoint::layer(uint32_t index) const {
  FloatLayer layer;
  layer.attention_norm = read_norm(layer_name(index, "ln_1"));
  layer.attention_qkv = read_linear(layer_name(index, "attn.c_attn"));
  fold_query_scale(index, layer.attention_qkv);
  layer.attention_output = read_linear(layer_name(index, "attn.c_proj"));
  layer.feed_forward_norm = read_norm(layer_name(index, "ln_2"));
  layer.feed_forward_up = read_linear(layer_name(index, "mlp.c_fc"));
  layer.feed_forward_down = read_linear(layer_name(index, "mlp.c_proj"));
  return layer;
}

FloatNorm HuggingFaceCheckpoint::final_norm() const { return read_norm(prefix_ + "ln_f"); }

FloatLinear HuggingFaceCheckpoint::head() const {
  FloatLinear head;
  head.inputs = info_.shape.embedding_size;
  head.outputs = info_.shape.vocabulary_size;
  head.weights = tensors_.contains(kHead) ? read(kHead) : token_embedding();
  if (info_.head_kind == HeadKind::kBiased) head.bias = read(kHeadBias);
  return head;
}

}  // namespace sotto
