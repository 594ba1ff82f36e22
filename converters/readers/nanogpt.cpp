// Reads checkpoints of nanoGPT (ckpt.pt) and minGPT (model.pt with config.json). Their tensors have the names of GPT-2
// in transformers, but linear weights are stored as (outputs, inputs).
#include <stdexcept>
#include <utility>

#include "converters/readers/config.h"
#include "converters/readers/named_checkpoint.h"
#include "converters/tensors/pytorch.h"

namespace sotto {
namespace {

// Returns the path of the checkpoint file, which need not exist. `path` is the file or its directory.
std::filesystem::path file_of(const std::filesystem::path& path, const char* name) {
  return std::filesystem::is_directory(path) ? path / name : path;
}

// Removes the prefixes that torch.compile() and distributed training put in front of names.
std::string plain_name(std::string_view name) {
  for (const std::string_view prefix : {"_orig_mod.", "module."}) {
    if (name.starts_with(prefix)) return plain_name(name.substr(prefix.size()));
  }
  return std::string(name);
}

bool is_nanogpt(const std::filesystem::path& path) {
  const std::filesystem::path file = file_of(path, "ckpt.pt");
  if (!is_pytorch(file)) return false;
  const PytorchFile checkpoint(file);
  return checkpoint.root().find("model_args") != nullptr && checkpoint.root().find("model") != nullptr;
}

std::unique_ptr<Checkpoint> open_nanogpt(const std::filesystem::path& path, const ReadOptions& options) {
  const auto file = std::make_shared<PytorchFile>(file_of(path, "ckpt.pt"));
  const Config config(file->path().string() + ": \"model_args\"", settings_of(*file->root().find("model_args")));
  Tensors tensors(file);
  constexpr std::string_view kModel = "model.";
  tensors.rename([&](const std::string& name) {
    return name.starts_with(kModel) ? plain_name(std::string_view(name).substr(kModel.size())) : std::string();
  });
  CheckpointInfo info;
  std::vector<std::string> notes;
  TensorMapping mapping = gpt2_mapping("transformer.");
  mapping.configuration = file->path();
  mapping.biases_are_optional = !config.flag("bias", true);
  set_vocabulary(config.count("vocab_size", nullptr, 50304), info, mapping, notes);
  info.name = directory_name(path);
  info.source = "nanoGPT checkpoint " + info.name;
  info.shape.position_count = config.count("block_size", nullptr, 1024);
  info.shape.embedding_size = config.count("n_embd", nullptr, 768);
  info.shape.head_count = config.count("n_head", nullptr, 12);
  info.shape.layer_count = config.count("n_layer", nullptr, 12);
  info.shape.feed_forward_size = 4 * info.shape.embedding_size;
  info.activation = options.activation.value_or(Activation::kGeluErf);
  if (!options.activation) {
    notes.push_back(
        "a nanoGPT checkpoint does not name its activation: gelu is assumed; models trained before 17 May 2023 "
        "need --activation gelu_new");
  }
  return std::make_unique<NamedCheckpoint>(std::move(info), std::move(notes), std::move(tensors), std::move(mapping));
}

// minGPT's names of models, with their numbers of heads.
constexpr struct {
  const char* type;
  uint32_t head_count;
} kMinGptModels[] = {
    {"openai-gpt", 12}, {"gpt2", 12},    {"gpt2-medium", 16}, {"gpt2-large", 20}, {"gpt2-xl", 25},
    {"gopher-44m", 16}, {"gpt-mini", 6}, {"gpt-micro", 4},    {"gpt-nano", 3},
};

uint32_t mingpt_head_count(const Config& model) {
  const std::string type = model.text("model_type", "");
  for (const auto& known : kMinGptModels) {
    if (type == known.type) return known.head_count;
  }
  const uint32_t count = model.count("n_head", nullptr, 0);
  if (count == 0) model.fail("n_head", "is missing");
  return count;
}

// Recognizes minGPT by the object "model" in config.json, which transformers does not write.
bool is_mingpt(const std::filesystem::path& path) {
  const std::filesystem::path file = file_of(path, "model.pt");
  const std::filesystem::path configuration = file.parent_path() / "config.json";
  if (!is_pytorch(file) || !std::filesystem::exists(configuration)) return false;
  const Config config(configuration);
  const auto model = config.root().find("model");
  return model != config.root().end() && model->is_object();
}

// The shape comes from the tensors, because minGPT writes config.json before it knows the sizes of vocabulary and
// context.
std::unique_ptr<Checkpoint> open_mingpt(const std::filesystem::path& path, const ReadOptions& options) {
  const auto file = std::make_shared<PytorchFile>(file_of(path, "model.pt"));
  const Config config(file->path().parent_path() / "config.json");
  Tensors tensors(file);
  tensors.rename(plain_name);
  CheckpointInfo info;
  std::vector<std::string> notes;
  TensorMapping mapping = gpt2_mapping("transformer.");
  mapping.configuration = config.where();
  info.shape = find_shape(tensors, mapping);
  set_vocabulary(info.shape.vocabulary_size, info, mapping, notes);
  info.name = directory_name(path);
  info.source = "minGPT checkpoint " + info.name;
  info.shape.head_count = mingpt_head_count(config.object("model"));
  info.activation = options.activation.value_or(Activation::kGeluTanh);
  return std::make_unique<NamedCheckpoint>(std::move(info), std::move(notes), std::move(tensors), std::move(mapping));
}

}  // namespace

const CheckpointFormat kNanoGptFormat = {"nanoGPT", "ckpt.pt", is_nanogpt, open_nanogpt};
const CheckpointFormat kMinGptFormat = {"minGPT", "model.pt with config.json", is_mingpt, open_mingpt};

}  // namespace sotto
