// Reads checkpoints of Hugging Face transformers: config.json, and weights in safetensors or PyTorch's format, in one
// file or in shards. Supports GPT-2, OPT and BioGPT; the differences of the last two can be folded exactly into the
// weights of a GPT-2.
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "converters/file.h"
#include "converters/readers/config.h"
#include "converters/readers/description.h"
#include "converters/readers/lora.h"
#include "converters/readers/named_checkpoint.h"

namespace sotto {
namespace {

// The files that save_pretrained() writes, the preferred ones first.
constexpr const char* kWeightFiles[] = {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                                        "pytorch_model.bin.index.json"};

// The model that config.json describes.
struct Description {
  CheckpointInfo info;
  TensorMapping mapping;
  std::vector<std::string> notes;
};

// Reads the end-of-text tokens. `otherwise` is the token of a configuration that names none.
void read_end_of_text(const Config& config, int32_t otherwise, Description& model) {
  if (config.read_end_of_text(model.info, model.notes)) return;
  if (otherwise < static_cast<int64_t>(model.info.shape.vocabulary_size)) model.info.add_end_of_text(otherwise);
}

Description describe_gpt2(const Config& config, const Tensors& tensors) {
  constexpr int32_t kEndOfText = 50256;
  if (config.flag("add_cross_attention", false)) {
    config.fail("add_cross_attention", "is true; cross attention is not supported");
  }
  Description model;
  ModelShape& shape = model.info.shape;
  shape.vocabulary_size = config.count("vocab_size", nullptr, 50257);
  shape.position_count = config.count("n_positions", "max_position_embeddings", config.count("n_ctx", nullptr, 1024));
  shape.embedding_size = config.count("n_embd", "hidden_size", 768);
  shape.head_count = config.count("n_head", "num_attention_heads", 12);
  shape.layer_count = config.count("n_layer", "num_hidden_layers", 12);
  constexpr uint32_t kEmbeddingLimit = std::numeric_limits<int32_t>::max() / 4;
  if (shape.embedding_size > kEmbeddingLimit) config.fail("n_embd", "is too large");
  shape.feed_forward_size = config.count("n_inner", nullptr, 4 * shape.embedding_size);
  model.info.activation = config.activation("activation_function", "gelu_new");
  model.info.norm_epsilon = config.epsilon("layer_norm_epsilon", 1e-5f);
  read_end_of_text(config, kEndOfText, model);

  model.mapping = gpt2_mapping(tensors.contains("transformer.wte.weight") ? "transformer." : "");
  model.mapping.inputs_first = true;  // transformers' Conv1D
  model.mapping.ties_head = config.flag("tie_word_embeddings", true);
  const bool is_scaled = config.flag("scale_attn_weights", true);
  const bool by_layer = config.flag("scale_attn_by_inverse_layer_idx", false);
  model.mapping.score_scale = [shape, is_scaled, by_layer](uint32_t layer) {
    const double scale = is_scaled ? 1 : std::sqrt(shape.embedding_size / shape.head_count);
    return by_layer ? scale / (layer + 1.0) : scale;
  };
  return model;
}

// Returns the names that OPT and BioGPT share: both were trained with fairseq. It leaves the first two position
// embeddings unused.
TensorMapping fairseq_mapping(const std::string& prefix) {
  TensorMapping mapping;
  mapping.token_embedding = prefix + "embed_tokens.weight";
  mapping.positions = prefix + "embed_positions.weight";
  mapping.skipped_positions = 2;
  const std::string layer = prefix + "layers.{}.";
  mapping.attention_norm = layer + "self_attn_layer_norm";
  mapping.attention_qkv = {layer + "self_attn.q_proj", layer + "self_attn.k_proj", layer + "self_attn.v_proj"};
  mapping.attention_output = layer + "self_attn.out_proj";
  mapping.feed_forward_norm = layer + "final_layer_norm";
  mapping.feed_forward_up = layer + "fc1";
  mapping.feed_forward_down = layer + "fc2";
  return mapping;
}

Description describe_opt(const Config& config, const Tensors& tensors) {
  if (!config.flag("do_layer_norm_before", true)) {
    config.fail("do_layer_norm_before", "is false: a model with norms after its blocks, as OPT-350M, is not supported");
  }
  if (config.flag("_remove_final_layer_norm", false)) {
    config.fail("_remove_final_layer_norm", "is true; a model without the last norm is not supported");
  }
  if (!config.flag("layer_norm_elementwise_affine", true)) {
    config.fail("layer_norm_elementwise_affine", "is false; norms without gains are not supported");
  }
  Description model;
  ModelShape& shape = model.info.shape;
  shape.vocabulary_size = config.count("vocab_size", nullptr, 50272);
  shape.position_count = config.count("max_position_embeddings", nullptr, 2048);
  shape.embedding_size = config.count("hidden_size", nullptr, 768);
  shape.head_count = config.count("num_attention_heads", nullptr, 12);
  shape.layer_count = config.count("num_hidden_layers", nullptr, 12);
  shape.feed_forward_size = config.count("ffn_dim", nullptr, 3072);
  if (config.count("word_embed_proj_dim", nullptr, shape.embedding_size) != shape.embedding_size) {
    config.fail("word_embed_proj_dim", "differs from \"hidden_size\"; projected embeddings are not supported");
  }
  model.info.activation = config.activation("activation_function", "relu");
  read_end_of_text(config, 2, model);

  const std::string decoder = tensors.contains("decoder.embed_tokens.weight") ? "decoder." : "model.decoder.";
  model.mapping = fairseq_mapping(decoder);
  model.mapping.final_norm = decoder + "final_layer_norm";
  model.mapping.head = "lm_head";
  model.mapping.biases_are_optional = !config.flag("enable_bias", true);
  model.mapping.ties_head = config.flag("tie_word_embeddings", true);
  return model;
}

Description describe_biogpt(const Config& config, const Tensors& tensors) {
  Description model;
  ModelShape& shape = model.info.shape;
  shape.vocabulary_size = config.count("vocab_size", nullptr, 42384);
  shape.position_count = config.count("max_position_embeddings", nullptr, 1024);
  shape.embedding_size = config.count("hidden_size", nullptr, 1024);
  shape.head_count = config.count("num_attention_heads", nullptr, 16);
  shape.layer_count = config.count("num_hidden_layers", nullptr, 24);
  shape.feed_forward_size = config.count("intermediate_size", nullptr, 4096);
  model.info.activation = config.activation("hidden_act", "gelu");
  read_end_of_text(config, 2, model);

  const std::string prefix = tensors.contains("embed_tokens.weight") ? "" : "biogpt.";
  model.mapping = fairseq_mapping(prefix);
  model.mapping.final_norm = prefix + "layer_norm";
  model.mapping.head = "output_projection";
  model.mapping.ties_head = config.flag("tie_word_embeddings", true);
  if (config.flag("scale_embedding", true)) model.mapping.embedding_scale = std::sqrt(shape.embedding_size);
  return model;
}

constexpr struct {
  const char* type;  // "model_type" of config.json
  Description (*describe)(const Config& config, const Tensors& tensors);
} kModels[] = {{"gpt2", describe_gpt2}, {"opt", describe_opt}, {"biogpt", describe_biogpt}};

// Models that resemble GPT-2, and the reason why each is not supported.
constexpr struct {
  const char* type;
  const char* reason;
} kOtherModels[] = {
    {"btlm", "BTLM has ALiBi positions and SwiGLU"},
    {"gpt_bigcode", "GPT-BigCode has multi-query attention"},
    {"gpt_neo", "GPT-Neo has local attention"},
    {"gpt_neox", "GPT-NeoX has rotary positions and parallel blocks"},
    {"gptj", "GPT-J has rotary positions and parallel blocks"},
    {"jais", "Jais has ALiBi positions and SwiGLU"},
    {"nanochat", "nanochat has rotary positions, RMSNorm and QK normalization"},
    {"openai-gpt", "GPT-1 has its norms after the blocks"},
};

Description describe(const Config& config, const Tensors& tensors) {
  const std::string type = config.text("model_type", "");
  for (const auto& model : kModels) {
    if (type == model.type) return model.describe(config, tensors);
  }
  std::string message = "is " + in_quotes(type) + "; only \"gpt2\", \"opt\" and \"biogpt\" are supported";
  for (const auto& other : kOtherModels) {
    if (type == other.type) message += std::string(": ") + other.reason;
  }
  config.fail("model_type", message);
}

// Merges adapters. An adapter may contain its own head and additional tokens.
void merge_adapters(const std::vector<Adapter>& adapters, Description& model, Tensors& tensors) {
  const TensorMapping& mapping = model.mapping;
  const std::string head = mapping.head + ".weight";
  if (!tensors.contains(head)) tensors.replace(head, tensors, mapping.token_embedding);
  const std::string layers = mapping.attention_norm.substr(0, mapping.attention_norm.find("{}"));
  for (const Adapter& adapter : adapters) {
    const auto inputs_first = [&](const std::string& name) { return mapping.inputs_first && name.starts_with(layers); };
    merge_adapter(adapter, inputs_first, tensors);
  }
  const TensorEntry& embedding = tensors.entry(mapping.token_embedding);
  uint32_t& tokens = model.info.shape.vocabulary_size;
  if (embedding.shape.size() != 2 || embedding.shape[0] == tokens || embedding.shape[0] > UINT32_MAX) return;
  tokens = static_cast<uint32_t>(embedding.shape[0]);
  model.notes.push_back("the adapter's vocabulary of " + std::to_string(tokens) + " tokens replaces the model's");
}

// Appends the rows of a reward model's head to the vocabulary.
void keep_score(Description& model, const Tensors& tensors) {
  const std::string name = "score.weight";
  const std::vector<uint64_t>& shape = tensors.entry(name).shape;
  uint32_t& vocabulary = model.info.shape.vocabulary_size;
  if (shape.empty() || shape[0] == 0 || shape[0] > std::numeric_limits<uint32_t>::max() - vocabulary) {
    throw std::runtime_error(tensors.where(name) + ": its shape is " + shape_text(shape));
  }
  model.mapping.score = name;
  model.info.reward_count = static_cast<uint32_t>(shape[0]);
  vocabulary += model.info.reward_count;
  model.notes.push_back("this is a reward model: sotto score --reward reads it, and it writes no text");
}

// Returns the file or the index of the weights, or an empty path if there is none. `path` is the directory of the
// checkpoint or this file.
std::filesystem::path find_weights(const std::filesystem::path& path) {
  for (const char* name : kWeightFiles) {
    if (std::filesystem::exists(path / name)) return path / name;
  }
  return is_tensor_file(path) || path.filename().string().ends_with(".index.json") ? path : std::filesystem::path();
}

bool is_hugging_face(const std::filesystem::path& path) {
  const std::filesystem::path weights = find_weights(path);
  return !weights.empty() && std::filesystem::exists(weights.parent_path() / "config.json");
}

std::unique_ptr<Checkpoint> open_hugging_face(const std::filesystem::path& path, const ReadOptions& options) {
  const std::filesystem::path weights = find_weights(path);
  const std::filesystem::path configuration = weights.parent_path() / "config.json";
  Tensors tensors = weights.extension() == ".json" ? Tensors::from_index(weights) : Tensors(open_tensor_file(weights));
  Description model = describe(Config(configuration), tensors);
  model.info.name = directory_name(path);
  model.info.source = "Hugging Face checkpoint " + model.info.name;
  read_description(weights.parent_path(), model.info, model.notes);
  if (options.activation) model.info.activation = *options.activation;
  model.mapping.configuration = configuration;
  if (!options.adapters.empty()) merge_adapters(options.adapters, model, tensors);
  if (options.keeps_score) keep_score(model, tensors);
  return std::make_unique<NamedCheckpoint>(std::move(model.info), std::move(model.notes), std::move(tensors),
                                           std::move(model.mapping));
}

}  // namespace

const CheckpointFormat kHuggingFaceFormat = {
    "transformers", "config.json with model.safetensors or pytorch_model.bin, or shards with an index", is_hugging_face,
    open_hugging_face, true};

}  // namespace sotto
