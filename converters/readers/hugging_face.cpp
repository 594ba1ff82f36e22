#include "converters/readers/hugging_face.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "converters/file.h"

namespace sotto {
namespace {

using nlohmann::json;

constexpr uint64_t kConfigLimit = 10'000'000;
constexpr int32_t kDefaultEndOfText = 50256;

// The members of config.json. A null member counts as absent.
class Config {
 public:
  explicit Config(const std::filesystem::path& path)
      : where_(path.string()), root_(parse_strict_json(read_text_file(path, kConfigLimit), where_)) {
    if (!root_.is_object()) throw std::runtime_error(where_ + ": not a JSON object");
  }

  // Returns the first of two members that is present, or null.
  const json* find(const char* key, const char* alias = nullptr) const {
    const auto found = root_.find(key);
    if (found != root_.end() && !found->is_null()) return &*found;
    return alias == nullptr ? nullptr : find(alias);
  }

  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    throw std::runtime_error(where_ + ": " + in_quotes(key) + " " + what);
  }

  uint32_t count(const char* key, const char* alias, uint32_t otherwise) const {
    const json* value = find(key, alias);
    if (value == nullptr) return otherwise;
    if (!value->is_number_unsigned() || *value > std::numeric_limits<int32_t>::max()) {
      fail(key, "is " + value->dump() + ", not a count");
    }
    return value->get<uint32_t>();
  }

  bool flag(const char* key, bool otherwise) const {
    const json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) fail(key, "is neither true nor false");
    return value->get<bool>();
  }

  std::string text(const char* key, const char* otherwise) const {
    const json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_string()) fail(key, "is not a string");
    return value->get<std::string>();
  }

  float real(const char* key, float otherwise) const {
    const json* value = find(key);
    if (value == nullptr) return otherwise;
    if (!value->is_number()) fail(key, "is not a number");
    const double number = value->get<double>();
    if (!(number >= std::numeric_limits<float>::min()) || number > 1) {
      fail(key, "is " + value->dump() + ", not a number in (0, 1]");
    }
    return static_cast<float>(number);
  }

 private:
  std::string where_;
  json root_;
};

Activation read_activation(const Config& config) {
  const std::string name = config.text("activation_function", "gelu_new");
  for (const char* tanh_form : {"gelu_new", "gelu_pytorch_tanh", "gelu_fast"}) {
    if (name == tanh_form) return Activation::kGeluTanh;
  }
  for (const char* erf_form : {"gelu", "gelu_python"}) {
    if (name == erf_form) return Activation::kGeluErf;
  }
  config.fail("activation_function",
              "is " + in_quotes(name) + "; supported are gelu_new, gelu_pytorch_tanh, gelu_fast, gelu and gelu_python");
}

// Reads one id, or the first of a list, because the runtime has only one end-of-text token.
int32_t read_end_of_text(const Config& config, uint32_t vocabulary_size, std::vector<std::string>& notes) {
  const json* value = config.find("eos_token_id");
  if (value == nullptr) {
    return kDefaultEndOfText < static_cast<int64_t>(vocabulary_size) ? kDefaultEndOfText : -1;
  }
  if (value->is_array()) {
    if (value->empty()) return -1;
    if (value->size() > 1) notes.push_back("only the first of several end-of-text tokens is kept");
    value = &value->front();
  }
  if (!value->is_number_integer()) config.fail("eos_token_id", "is not a token id");
  if (*value < 0 || *value >= vocabulary_size) {
    notes.push_back("the end-of-text token " + value->dump() + " is outside the vocabulary and is ignored");
    return -1;
  }
  return value->get<int32_t>();
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

// Transposes (rows, columns) to (columns, rows) in square blocks that stay in the cache.
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

bool is_hugging_face(const std::filesystem::path& path) {
  return std::filesystem::exists(path / "config.json") &&
         (std::filesystem::exists(path / "model.safetensors") ||
          std::filesystem::exists(path / "model.safetensors.index.json"));
}

std::unique_ptr<Checkpoint> open_hugging_face(const std::filesystem::path& path) {
  return std::make_unique<HuggingFaceCheckpoint>(path);
}

constexpr char kHead[] = "lm_head.weight";
constexpr char kHeadBias[] = "lm_head.bias";

}  // namespace

const CheckpointFormat kHuggingFaceFormat = {is_hugging_face, open_hugging_face};

HuggingFaceConfig read_hugging_face_config(const std::filesystem::path& path) {
  const Config config(path);
  const std::string type = config.text("model_type", "");
  if (type != "gpt2") {
    config.fail("model_type", "is " + in_quotes(type) + "; only \"gpt2\" is supported");
  }
  if (config.flag("add_cross_attention", false)) {
    config.fail("add_cross_attention", "is true; cross attention is not supported");
  }
  HuggingFaceConfig result;
  result.name = config.text("_name_or_path", "");
  ModelShape& shape = result.shape;
  shape.vocabulary_size = config.count("vocab_size", nullptr, 50257);
  shape.position_count = config.count("n_positions", "max_position_embeddings", config.count("n_ctx", nullptr, 1024));
  shape.embedding_size = config.count("n_embd", "hidden_size", 768);
  shape.head_count = config.count("n_head", "num_attention_heads", 12);
  shape.layer_count = config.count("n_layer", "num_hidden_layers", 12);
  constexpr uint32_t kEmbeddingLimit = std::numeric_limits<int32_t>::max() / 4;
  if (shape.embedding_size > kEmbeddingLimit) config.fail("n_embd", "is too large");
  shape.feed_forward_size = config.count("n_inner", nullptr, 4 * shape.embedding_size);
  result.activation = read_activation(config);
  result.norm_epsilon = config.real("layer_norm_epsilon", 1e-5f);
  result.end_of_text_token = read_end_of_text(config, shape.vocabulary_size, result.notes);
  result.tie_word_embeddings = config.flag("tie_word_embeddings", true);
  result.scale_attention = config.flag("scale_attn_weights", true);
  result.scale_attention_by_inverse_layer = config.flag("scale_attn_by_inverse_layer_idx", false);
  return result;
}

HuggingFaceCheckpoint::HuggingFaceCheckpoint(const std::filesystem::path& directory)
    : Checkpoint({}), tensors_(directory), config_(read_hugging_face_config(directory / "config.json")) {
  info_ = info_of(config_, directory);
  notes_ = config_.notes;
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

// GPT-2 in transformers has no bias in the head, but some fine-tuned models do.
HeadKind HuggingFaceCheckpoint::find_head_kind() {
  const bool has_weights = tensors_.contains(kHead);
  const bool has_bias = tensors_.contains(kHeadBias);
  if (!has_weights && !config_.tie_word_embeddings) tensors_.entry(kHead);  // entry() throws
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

// Rejects tensors that belong to another architecture, and notes other tensors that are not used.
void HuggingFaceCheckpoint::note_unknown_tensors() {
  std::sort(known_.begin(), known_.end());
  for (const std::string& name : tensors_.names()) {
    if (std::binary_search(known_.begin(), known_.end(), name)) continue;
    // These are constants of the causal mask that older versions saved.
    if (ends_with(name, ".attn.bias") || ends_with(name, ".attn.masked_bias")) continue;
    if (name.find("crossattention") != std::string::npos || name.find("ln_cross_attn") != std::string::npos) {
      throw std::runtime_error(tensors_.where(name) + ": cross attention is not supported");
    }
    if (name.rfind(prefix_ + "h.", 0) == 0) {
      throw std::runtime_error(tensors_.where(name) + ": does not belong to a GPT-2 with the " +
                               std::to_string(info_.shape.layer_count) + " layers that config.json gives it");
    }
    notes_.push_back("tensor " + in_quotes(name) + " is not used");
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

// The runtime scales every score by 1/sqrt(head_size). Scores are linear in the queries, so any other factor is folded
// into the rows that produce the queries.
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
