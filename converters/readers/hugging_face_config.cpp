#include "converters/readers/hugging_face_config.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "converters/file.h"
#include "converters/strict_json.h"

namespace sotto {
namespace {

using nlohmann::json;

constexpr uint64_t kConfigLimit = 10'000'000;
constexpr int32_t kDefaultEndOfText = 50256;

// The members of one config file, null being the same as absent.
class Config {
 public:
  explicit Config(const std::filesystem::path& path)
      : where_(path.string()), root_(parse_strict_json(read_text_file(path, kConfigLimit), where_)) {
    if (!root_.is_object()) throw std::runtime_error(where_ + ": not a JSON object");
  }

  // The first of two names that is present; null if neither is.
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

// One id, or a list of which the runtime can honour the first.
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
    notes.push_back("the end-of-text token " + value->dump() + " is outside the vocabulary and left out");
    return -1;
  }
  return value->get<int32_t>();
}

}  // namespace

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

}  // namespace sotto
