// Reads the language model of Chatterbox Turbo and Nano (T3), a GPT-2 whose tokens encode speech. The host supplies
// the embeddings of voice and text (sotto_session_prefill_embeddings).

#include <algorithm>
#include <utility>
#include <vector>

#include "converters/readers/named_checkpoint.h"

namespace sotto {
namespace {

constexpr uint32_t kHeadSize = 64;  // of both models; the file does not record it

// Returns the names of the tensors: those of transformers for the layers, and Chatterbox's own for speech tokens.
TensorMapping chatterbox_mapping() {
  TensorMapping mapping = gpt2_mapping("tfmr.");
  mapping.token_embedding = "speech_emb.weight";
  mapping.head = "speech_head";
  mapping.ties_head = false;
  mapping.inputs_first = true;
  return mapping;
}

// Returns the file of T3. `path` is this file or its directory, which also contains the other models of Chatterbox.
std::filesystem::path file_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return path;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().filename().string().starts_with("t3")) files.push_back(entry.path());
  }
  return files.empty() ? path : *std::min_element(files.begin(), files.end());
}

bool is_chatterbox(const std::filesystem::path& path) {
  const std::filesystem::path file = file_of(path);
  if (!is_tensor_file(file)) return false;
  const Tensors tensors(open_tensor_file(file));
  const TensorMapping mapping = chatterbox_mapping();
  return tensors.contains(mapping.token_embedding) && tensors.contains(mapping.positions);
}

std::unique_ptr<Checkpoint> open_chatterbox(const std::filesystem::path& path, const ReadOptions& options) {
  const std::filesystem::path file = file_of(path);
  Tensors tensors(open_tensor_file(file));
  TensorMapping mapping = chatterbox_mapping();
  mapping.configuration = file;
  CheckpointInfo info;
  info.name = directory_name(path);
  info.source = "Chatterbox checkpoint " + info.name;
  info.shape = find_shape(tensors, mapping);
  info.shape.head_count = info.shape.embedding_size / kHeadSize;
  info.activation = options.activation.value_or(Activation::kGeluTanh);
  return std::make_unique<NamedCheckpoint>(std::move(info), std::vector<std::string>(), std::move(tensors),
                                           std::move(mapping));
}

}  // namespace

const CheckpointFormat kChatterboxFormat = {"Chatterbox", "t3*.safetensors", is_chatterbox, open_chatterbox};

}  // namespace sotto
