#include "converters/readers/checkpoint.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "converters/file.h"
#include "converters/tensors/pytorch.h"
#include "runtime/model/model_view.h"

namespace sotto {
namespace {

void check_count(uint32_t value, uint32_t limit, const char* name, const std::string& where) {
  if (value < 1 || value > limit) {
    throw std::runtime_error(where + ": " + name + " is " + std::to_string(value) + "; it must be from 1 to " +
                             std::to_string(limit));
  }
}

constexpr std::pair<std::string_view, Activation> kActivations[] = {
    {"gelu_new", Activation::kGeluTanh},   {"gelu_pytorch_tanh", Activation::kGeluTanh},
    {"gelu_fast", Activation::kGeluTanh},  {"gelu", Activation::kGeluErf},
    {"gelu_python", Activation::kGeluErf}, {"relu", Activation::kRelu},
    {"silu", Activation::kSilu},           {"swish", Activation::kSilu},
    {"tanh", Activation::kTanh},           {"quick_gelu", Activation::kQuickGelu},
    {"relu2", Activation::kSquaredRelu},
};

constexpr char kLoadInPython[] =
    "load it in Python with transformers, for example by AutoModelForCausalLM.from_pretrained(DIR), and save it with "
    "save_pretrained(NEW_DIR, safe_serialization=True)";
constexpr char kConvertItsSource[] = "convert the checkpoint that it was made from instead";
constexpr char kNameTheProgram[] =
    "a checkpoint of nanoGPT has \"model_args\", and one of minGPT or transformers has config.json next to it";

constexpr char kConvertInModelZoo[] =
    "convert it with ModelZoo's \"cszoo checkpoint convert --model gpt2 --tgt-fmt hf\", which also folds the scales of "
    "muP";

// Formats that cannot be read, with advice for the error message.
constexpr struct {
  const char* extension;
  const char* format;
  const char* advice;
} kOtherFormats[] = {
    {".bin", "a PyTorch file", "config.json is missing next to it"},
    {".distcp", "a distributed checkpoint", "convert it in Megatron-LM with --ckpt-convert-format torch"},
    {".h5", "a Keras file", kLoadInPython},
    {".mdl", "a checkpoint of Cerebras ModelZoo", kConvertInModelZoo},
    {".mlmodel", "a Core ML file", kConvertItsSource},
    {".msgpack", "a Flax file", kLoadInPython},
    {".onnx", "an ONNX file", kConvertItsSource},
    {".ot", "a TorchScript file for Rust", kConvertItsSource},
    {".pt", "a PyTorch file", kNameTheProgram},
    {".pth", "a PyTorch file", kNameTheProgram},
    {".safetensors", "a safetensors file", "config.json is missing next to it"},
    {".tflite", "a TensorFlow Lite file", kConvertItsSource},
};

// Returns the format of an unsupported file and advice on what to do, or an empty string if the format is unknown.
std::string describe_other(const std::filesystem::path& path) {
  for (const auto& [extension, format, advice] : kOtherFormats) {
    if (path.extension() != extension) continue;
    std::string text = path.filename().string() + " is " + format + ": " + advice;
    // A distributed checkpoint is several zip archives in one file.
    if (extension == std::string_view(".distcp") || !is_pytorch(path)) return text;
    const PytorchFile file(path);
    for (const auto& [name, entry] : file.tensors()) {
      if (name.ends_with(".attn.c_q.weight")) {
        return text + "; its tensors belong to nanochat, which has rotary positions, RMSNorm and QK normalization";
      }
    }
    if (!file.tensors().empty()) text += "; its first tensor is " + in_quotes(file.tensors().begin()->first);
    return text;
  }
  return "";
}

// Throws an error that describes what `path` contains instead of a checkpoint.
[[noreturn]] void reject(const std::filesystem::path& path) {
  const std::string where = path.string();
  if (!std::filesystem::exists(path)) throw std::runtime_error(where + ": no such file or directory");
  if (is_model_file(path)) throw std::runtime_error(where + ": is a .sotto file already; --export reads it");
  std::vector<std::filesystem::path> files = {path};
  if (std::filesystem::is_directory(path)) {
    files.clear();
    for (const auto& entry : std::filesystem::directory_iterator(path)) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
  }
  const std::string message = where + ": not a checkpoint of " + checkpoint_formats(", ");
  for (const std::filesystem::path& file : files) {
    const std::string other = describe_other(file);
    if (!other.empty()) throw std::runtime_error(message + "; " + other);
  }
  throw std::runtime_error(message);
}

}  // namespace

std::optional<Activation> find_activation(std::string_view name) {
  for (const auto& [known, activation] : kActivations) {
    if (name == known) return activation;
  }
  return std::nullopt;
}

std::string activation_names() {
  std::string names;
  for (const auto& [name, activation] : kActivations) names += (names.empty() ? "" : ", ") + std::string(name);
  return names;
}

std::string_view activation_name(Activation activation) {
  for (const auto& [name, known] : kActivations) {
    if (known == activation) return name;
  }
  return "";
}

std::string checkpoint_formats(std::string_view separator) {
  std::string text;
  for (const CheckpointFormat* format : kCheckpointFormats) {
    if (!text.empty()) text += separator;
    text += std::string(format->name) + " (" + format->files + ')';
  }
  return text;
}

std::unique_ptr<Checkpoint> open_checkpoint(const std::filesystem::path& path, const ReadOptions& options) {
  for (const CheckpointFormat* format : kCheckpointFormats) {
    if (!format->recognizes(path)) continue;
    if (!format->accepts_all_options && (options.keeps_score || !options.adapters.empty())) {
      throw std::runtime_error(path.string() + ": is a checkpoint of " + format->name +
                               ", which takes no adapters and has no reward head");
    }
    return format->open(path, options);
  }
  reject(path);
}

std::filesystem::path directory_of(const std::filesystem::path& path) {
  const std::filesystem::path absolute = std::filesystem::absolute(path);
  return std::filesystem::is_directory(absolute) ? absolute : absolute.parent_path();
}

std::string directory_name(const std::filesystem::path& path) {
  return std::filesystem::weakly_canonical(directory_of(path)).filename().string();
}

std::vector<int32_t> CheckpointInfo::end_of_text_tokens() const {
  std::vector<int32_t> tokens = other_end_of_text_tokens;
  if (end_of_text_token >= 0) tokens.insert(tokens.begin(), end_of_text_token);
  return tokens;
}

void CheckpointInfo::add_end_of_text(int32_t token) {
  std::vector<int32_t>& others = other_end_of_text_tokens;
  if (end_of_text_token < 0) {
    end_of_text_token = token;
  } else if (token != end_of_text_token && std::find(others.begin(), others.end(), token) == others.end()) {
    others.push_back(token);
  }
}

void check_info(const CheckpointInfo& info, const std::string& where) {
  const ModelShape& shape = info.shape;
  check_count(shape.vocabulary_size, ModelLimits::kVocabulary, "the vocabulary size", where);
  check_count(shape.position_count, ModelLimits::kPositions, "the number of positions", where);
  check_count(shape.embedding_size, ModelLimits::kWidth, "the embedding size", where);
  check_count(shape.feed_forward_size, ModelLimits::kFeedForward, "the feed-forward size", where);
  check_count(shape.head_count, ModelLimits::kWidth, "the number of heads", where);
  check_count(shape.layer_count, ModelLimits::kLayers, "the number of layers", where);
  if (shape.embedding_size % shape.head_count != 0) {
    throw std::runtime_error(where + ": the embedding size " + std::to_string(shape.embedding_size) +
                             " is not a multiple of the " + std::to_string(shape.head_count) + " heads");
  }
  check_count(shape.embedding_size / shape.head_count, uint32_t{kMaxHeadSize}, "the head size", where);
  if (!(info.norm_epsilon >= std::numeric_limits<float>::min()) || !std::isfinite(info.norm_epsilon)) {
    throw std::runtime_error(where + ": the epsilon of the layer norms is not a positive number");
  }
}

FloatModel load_float_model(const Checkpoint& checkpoint) {
  FloatModel model;
  static_cast<CheckpointInfo&>(model) = checkpoint.info();
  model.positions = checkpoint.positions();
  model.token_embedding = checkpoint.token_embedding();
  for (uint32_t i = 0; i < model.shape.layer_count; ++i) model.layers.push_back(checkpoint.layer(i));
  model.final_norm = checkpoint.final_norm();
  if (model.head_kind != HeadKind::kTied) model.head = checkpoint.head();
  return model;
}

}  // namespace sotto
