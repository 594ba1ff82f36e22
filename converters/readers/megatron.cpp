// Reads GPT checkpoints of Megatron-LM (model_optim_rng.pt) that are not split over devices, with the names of
// Megatron-LM, of Megatron Core or of Transformer Engine.
#include <stdexcept>
#include <utility>

#include "converters/readers/config.h"
#include "converters/readers/named_checkpoint.h"
#include "converters/tensors/pytorch.h"

namespace sotto {
namespace {

// Parts of names in later versions, with the names in the first version.
constexpr std::pair<std::string_view, std::string_view> kFirstNames[] = {
    {"language_model.", ""},
    {"encoder.", "transformer."},
    {"decoder.", "transformer."},
    {"self_attention.", "attention."},
    {"attention.linear_qkv.layer_norm_", "input_layernorm."},
    {"attention.layernorm_qkv.layer_norm_", "input_layernorm."},
    {"attention.linear_qkv.", "attention.query_key_value."},
    {"attention.layernorm_qkv.", "attention.query_key_value."},
    {"attention.linear_proj.", "attention.dense."},
    {"attention.proj.", "attention.dense."},
    {"mlp.linear_fc1.layer_norm_", "post_attention_layernorm."},
    {"layernorm_mlp.layer_norm_", "post_attention_layernorm."},
    {"pre_mlp_layernorm.", "post_attention_layernorm."},
    {"mlp.linear_fc1.", "mlp.dense_h_to_4h."},
    {"layernorm_mlp.fc1_", "mlp.dense_h_to_4h."},
    {"mlp.linear_fc2.", "mlp.dense_4h_to_h."},
    {"layernorm_mlp.fc2_", "mlp.dense_4h_to_h."},
};

// Returns the name that a tensor of the model had in the first version, or an empty text for any other tensor.
std::string first_name(const std::string& name) {
  constexpr std::string_view kModel = "model.";
  if (!name.starts_with(kModel)) return "";
  std::string result = name.substr(kModel.size());
  for (const auto& [part, first] : kFirstNames) {
    if (const size_t at = result.find(part); at != std::string::npos) result.replace(at, part.size(), first);
  }
  return result;
}

TensorMapping megatron_mapping() {
  TensorMapping mapping;
  mapping.token_embedding = "embedding.word_embeddings.weight";
  mapping.positions = "embedding.position_embeddings.weight";
  const std::string layer = "transformer.layers.{}.";
  mapping.attention_norm = layer + "input_layernorm";
  mapping.attention_qkv = {layer + "attention.query_key_value"};
  mapping.attention_output = layer + "attention.dense";
  mapping.feed_forward_norm = layer + "post_attention_layernorm";
  mapping.feed_forward_up = layer + "mlp.dense_h_to_4h";
  mapping.feed_forward_down = layer + "mlp.dense_4h_to_h";
  mapping.final_norm = "transformer.final_layernorm";
  mapping.head = "output_layer";
  mapping.ignored = {"_extra_state"};
  return mapping;
}

// Settings that must have the value of GPT-2, because other values change the function of the model.
const std::pair<const char*, nlohmann::json> kSettings[] = {
    {"tensor_model_parallel_size", 1u},
    {"pipeline_model_parallel_size", 1u},
    {"position_embedding_type", "learned_absolute"},
    {"normalization", "LayerNorm"},
    {"swiglu", false},
    {"group_query_attention", false},
    {"apply_layernorm_1p", false},
    {"apply_residual_connection_post_layernorm", false},
    {"num_experts", nullptr},
};

void check_settings(const Config& config) {
  for (const auto& [key, value] : kSettings) {
    const nlohmann::json* found = config.find(key);
    if (found == nullptr || *found == value) continue;
    config.fail(key, "is " + found->dump() + "; only " + value.dump() + " is supported");
  }
}

std::filesystem::path file_of(const std::filesystem::path& path) {
  for (const char* name : {"model_optim_rng.pt", "mp_rank_00/model_optim_rng.pt"}) {
    if (std::filesystem::exists(path / name)) return path / name;
  }
  return path;
}

bool is_megatron(const std::filesystem::path& path) {
  const std::filesystem::path file = file_of(path);
  if (!is_pytorch(file)) return false;
  Tensors tensors(std::make_shared<PytorchFile>(file));
  tensors.rename(first_name);
  return tensors.contains(megatron_mapping().token_embedding);
}

// Returns the order of queries, keys and values in a version of the format.
QkvOrder qkv_order(double version) {
  return version < 1 ? QkvOrder::kWhole : version < 2 ? QkvOrder::kInterleaved : QkvOrder::kPerHead;
}

std::unique_ptr<Checkpoint> open_megatron(const std::filesystem::path& path, const ReadOptions& options) {
  const auto file = std::make_shared<PytorchFile>(file_of(path));
  const Config root(file->path().string(), settings_of(file->root()));
  const PickleValue* arguments = file->root().find("args");
  if (arguments == nullptr || arguments->state == nullptr) {
    throw std::runtime_error(file->path().string() + ": \"args\" is missing, which has the number of attention heads");
  }
  const Config config(file->path().string() + ": \"args\"", settings_of(*arguments->state));
  check_settings(config);
  Tensors tensors(file);
  tensors.rename(first_name);

  CheckpointInfo info;
  std::vector<std::string> notes;
  TensorMapping mapping = megatron_mapping();
  mapping.configuration = file->path();
  mapping.biases_are_optional = !config.flag("add_bias_linear", true);
  mapping.qkv_order = qkv_order(root.number("checkpoint_version", 0));
  info.name = directory_name(file->path());
  info.source = "Megatron-LM checkpoint " + info.name;
  info.shape.embedding_size = config.count("hidden_size", nullptr, 0);
  info.shape.head_count = config.count("num_attention_heads", nullptr, 0);
  info.shape.layer_count = config.count("num_layers", nullptr, 0);
  info.shape.position_count = config.count("max_position_embeddings", nullptr, 0);
  info.shape.feed_forward_size = config.count("ffn_hidden_size", nullptr, 4 * info.shape.embedding_size);
  set_vocabulary(config.count("padded_vocab_size", nullptr, 0), info, mapping, notes);
  info.norm_epsilon = config.epsilon("layernorm_epsilon", 1e-5f);
  // The fused kernel computes the tanh form of GELU.
  const bool is_tanh = config.flag("bias_gelu_fusion", true) || config.flag("openai_gelu", false);
  const Activation gelu = is_tanh ? Activation::kGeluTanh : Activation::kGeluErf;
  const bool is_squared_relu = config.flag("squared_relu", false);
  info.activation = options.activation.value_or(is_squared_relu ? Activation::kSquaredRelu : gelu);
  return std::make_unique<NamedCheckpoint>(std::move(info), std::move(notes), std::move(tensors), std::move(mapping));
}

}  // namespace

const CheckpointFormat kMegatronFormat = {"Megatron-LM", "model_optim_rng.pt", is_megatron, open_megatron};

}  // namespace sotto
