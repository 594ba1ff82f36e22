// Reads the checkpoints of OpenAI's GPT-2 code and of gpt-2-simple: a directory with a TensorFlow checkpoint and
// hparams.json.
#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "converters/file.h"
#include "converters/readers/config.h"
#include "converters/readers/named_checkpoint.h"
#include "converters/tensors/tensor_bundle.h"

namespace sotto {
namespace {

using Path = std::filesystem::path;

// Returns all indexes in a directory, sorted.
std::vector<Path> find_indexes(const Path& directory) {
  std::vector<Path> indexes;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".index" && is_tensor_bundle_index(entry.path())) indexes.push_back(entry.path());
  }
  std::sort(indexes.begin(), indexes.end());
  return indexes;
}

// Returns the file name of the latest of several checkpoints: the file `checkpoint` has it in the line
// `model_checkpoint_path: "..."`.
std::string latest_name(const Path& directory) {
  constexpr uint64_t kLimit = 1'000'000;
  constexpr std::string_view kKey = "model_checkpoint_path: \"";
  const Path state = directory / "checkpoint";
  if (!std::filesystem::is_regular_file(state)) return "";
  const std::string text = read_text_file(state, kLimit);
  if (!text.starts_with(kKey)) return "";
  return Path(text.substr(kKey.size(), text.find('"', kKey.size()) - kKey.size())).filename().string();
}

Path with_index(const Path& prefix) {
  Path index = prefix;
  return index += ".index";
}

// Returns the index file that `path` names: the path itself, the path with ".index" added, or the index in this
// directory.
std::optional<Path> find_index(const Path& path) {
  if (!std::filesystem::is_directory(path)) {
    if (is_tensor_bundle_index(path)) return path;
    if (is_tensor_bundle_index(with_index(path))) return with_index(path);
    return std::nullopt;
  }
  const std::vector<Path> indexes = find_indexes(path);
  if (indexes.size() <= 1) return indexes.empty() ? std::nullopt : std::optional(indexes.front());
  const Path latest = with_index(path / latest_name(path));
  if (std::find(indexes.begin(), indexes.end(), latest) != indexes.end()) return latest;
  std::string message = path.string() + ": several checkpoints; give one of";
  for (const Path& index : indexes) message.append(1, ' ').append(Path(index).replace_extension().string());
  throw std::runtime_error(message);
}

bool is_tensorflow(const Path& path) {
  return std::filesystem::is_directory(path) ? !find_indexes(path).empty() : find_index(path).has_value();
}

// Translates the name of a variable, such as "model/h0/attn/c_attn/w", to its name in transformers. Returns an empty
// text for variables that are not weights, such as the state of the optimizer.
std::string gpt2_name(const std::string& variable) {
  constexpr std::string_view kModel = "model/";
  if (!variable.starts_with(kModel)) return "";
  for (const char* slot : {"/Adam", "/Adam_1", "/Momentum", "/Adafactor", "/RMSProp", "/RMSProp_1"}) {
    if (variable.ends_with(slot)) return "";
  }
  std::string name = variable.substr(kModel.size());
  std::replace(name.begin(), name.end(), '/', '.');
  if (name.starts_with('h')) name.insert(1, 1, '.');
  const size_t dot = name.rfind('.') + 1;  // 0 if there is none
  if (name.ends_with(".w") || name.ends_with(".g")) return name.replace(dot, 1, "weight");
  if (name.ends_with(".b")) return name.replace(dot, 1, "bias");
  return dot == 0 ? name + ".weight" : name;
}

std::unique_ptr<Checkpoint> open_tensorflow(const Path& path, const ReadOptions& options) {
  const Path index = find_index(path).value();
  const Config config(index.parent_path() / "hparams.json");
  CheckpointInfo info;
  info.name = directory_name(index);
  info.source = "TensorFlow checkpoint " + index.stem().string();
  info.activation = options.activation.value_or(Activation::kGeluTanh);
  ModelShape& shape = info.shape;
  shape.vocabulary_size = config.count("n_vocab", nullptr, 0);
  shape.position_count = config.count("n_ctx", nullptr, 0);
  shape.embedding_size = config.count("n_embd", nullptr, 0);
  shape.head_count = config.count("n_head", nullptr, 0);
  shape.layer_count = config.count("n_layer", nullptr, 0);
  shape.feed_forward_size = static_cast<uint32_t>(std::min(uint64_t{4} * shape.embedding_size, uint64_t{UINT32_MAX}));
  constexpr uint32_t kEndOfText = 50256;
  if (shape.vocabulary_size > kEndOfText) info.end_of_text_token = kEndOfText;

  Tensors tensors = open_tensor_bundle(index);
  tensors.rename(gpt2_name);
  TensorMapping mapping = gpt2_mapping("");
  mapping.configuration = index.parent_path() / "hparams.json";
  mapping.inputs_first = true;
  return std::make_unique<NamedCheckpoint>(std::move(info), std::vector<std::string>(), std::move(tensors),
                                           std::move(mapping));
}

}  // namespace

const CheckpointFormat kTensorFlowFormat = {"TensorFlow", "NAME.index with hparams.json", is_tensorflow,
                                            open_tensorflow};

}  // namespace sotto
