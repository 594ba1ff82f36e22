#include "converters/export.h"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "converters/file.h"
#include "converters/readers/named_checkpoint.h"
#include "converters/tensors/ggml_types.h"
#include "converters/tokenizers/names.h"
#include "kernels/sizes.h"

namespace sotto {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Shape = std::vector<uint64_t>;

// Calls `visit(name, shape, values)` for each tensor of a model, always in the same order. `values` is empty unless
// `with_values` is true, so that headers can be written before any weight is read.
template <typename Visit>
void visit_tensors(const Checkpoint& checkpoint, const TensorMapping& names, bool with_values, Visit visit) {
  const CheckpointInfo& info = checkpoint.info();
  const uint64_t width = info.shape.embedding_size;
  const uint64_t vocabulary = info.shape.vocabulary_size;
  const uint64_t feed_forward = info.shape.feed_forward_size;
  const auto linear = [&](const std::string& name, FloatLinear values, uint64_t inputs, uint64_t outputs) {
    if (names.inputs_first) {
      visit(name + ".weight", Shape{inputs, outputs},
            with_values ? transpose(values.weights, outputs, inputs) : std::move(values.weights));
    } else {
      visit(name + ".weight", Shape{outputs, inputs}, std::move(values.weights));
    }
    if (with_values) values.bias.resize(outputs);  // an absent bias is zero
    visit(name + ".bias", Shape{outputs}, std::move(values.bias));
  };
  const auto norm = [&](const std::string& name, FloatNorm values) {
    visit(name + ".weight", Shape{width}, std::move(values.gain));
    visit(name + ".bias", Shape{width}, std::move(values.bias));
  };
  visit(names.token_embedding, Shape{vocabulary, width},
        with_values ? checkpoint.token_embedding() : std::vector<float>());
  visit(names.positions, Shape{info.shape.position_count, width},
        with_values ? checkpoint.positions() : std::vector<float>());
  for (uint32_t i = 0; i < info.shape.layer_count; ++i) {
    FloatLayer layer = with_values ? checkpoint.layer(i) : FloatLayer();
    norm(layer_name(names.attention_norm, i), std::move(layer.attention_norm));
    linear(layer_name(names.attention_qkv.front(), i), std::move(layer.attention_qkv), width, 3 * width);
    linear(layer_name(names.attention_output, i), std::move(layer.attention_output), width, width);
    norm(layer_name(names.feed_forward_norm, i), std::move(layer.feed_forward_norm));
    linear(layer_name(names.feed_forward_up, i), std::move(layer.feed_forward_up), width, feed_forward);
    linear(layer_name(names.feed_forward_down, i), std::move(layer.feed_forward_down), feed_forward, width);
  }
  norm(names.final_norm, with_values ? checkpoint.final_norm() : FloatNorm());
  if (info.head_kind == HeadKind::kTied) return;
  visit(names.head + ".weight", Shape{vocabulary, width},
        with_values ? checkpoint.head().weights : std::vector<float>());
}

uint64_t element_count(const Shape& shape) {
  uint64_t count = 1;
  for (const uint64_t extent : shape) count *= extent;
  return count;
}

// Appends to a file, and pads it to multiples of an alignment.
class Appender {
 public:
  explicit Appender(OutputFile& file) : file_(file) {}

  void append(const void* bytes, size_t size) {
    file_.write_at(end_, bytes, size);
    end_ += size;
  }
  void align(uint64_t alignment) {
    const std::string zeros((alignment - end_ % alignment) % alignment, '\0');
    append(zeros.data(), zeros.size());
  }
  uint64_t end() const { return end_; }

 private:
  OutputFile& file_;
  uint64_t end_ = 0;
};

std::string text_of(const TokenizerView& tokenizer, uint32_t token) {
  const std::span<const char> bytes = tokenizer.bytes_of(token);
  return {bytes.begin(), bytes.end()};
}

// Throws if the head has a bias or rewards, because other programs would ignore them.
void check_head(const CheckpointInfo& info) {
  if (info.reward_count != 0) throw std::runtime_error("reward models cannot be exported");
  if (info.head_kind != HeadKind::kBiased) return;
  throw std::runtime_error(
      "the head has a bias, which transformers and llama.cpp ignore; if it comes from --calibrate, convert the "
      "checkpoint again with --calibrate outliers");
}

// Throws if the tokenizer is not GPT-2's, because a .sotto file does not contain the pattern and the names that the
// other formats need.
void check_tokenizer(const TokenizerView* tokenizer) {
  if (tokenizer == nullptr) return;
  const bool is_gpt2 = tokenizer->model == TokenizerModel::kByteBpe && tokenizer->split_steps.empty() &&
                       tokenizer->normalizer.is_empty();
  if (!is_gpt2) throw std::runtime_error("only tokenizers with byte-level BPE and GPT-2's pattern can be exported");
}

// Returns the name of a token in files: in GPT-2's byte alphabet for tokens that BPE produces, and otherwise its text.
std::string name_of(const TokenizerView& tokenizer, uint32_t token) {
  const std::string text = text_of(tokenizer, token);
  return tokenizer.token_kinds[token] == TokenKind::kNormal ? name_of_bytes(text) : text;
}

std::string merge_text(const TokenizerView& tokenizer, const TokenMerge& merge) {
  return name_of(tokenizer, merge.left) + " " + name_of(tokenizer, merge.right);
}

// The following functions write the format of transformers.

ordered_json config_json(const CheckpointInfo& info) {
  const auto end_of_text = info.end_of_text_token < 0 ? ordered_json() : ordered_json(info.end_of_text_token);
  const bool has_several = !info.other_end_of_text_tokens.empty();
  const auto ends = has_several ? ordered_json(info.end_of_text_tokens()) : end_of_text;
  return {{"architectures", ordered_json::array({"GPT2LMHeadModel"})},
          {"model_type", "gpt2"},
          {"_name_or_path", info.name},
          {"vocab_size", info.shape.vocabulary_size},
          {"n_positions", info.shape.position_count},
          {"n_embd", info.shape.embedding_size},
          {"n_layer", info.shape.layer_count},
          {"n_head", info.shape.head_count},
          {"n_inner", info.shape.feed_forward_size},
          {"activation_function", std::string(activation_name(info.activation))},
          {"layer_norm_epsilon", info.norm_epsilon},
          {"tie_word_embeddings", info.head_kind == HeadKind::kTied},
          {"bos_token_id", end_of_text},
          {"eos_token_id", ends},
          {"torch_dtype", "float32"}};
}

json tokenizer_json(const TokenizerView& tokenizer) {
  json vocabulary = json::object(), merges = json::array(), added = json::array();
  for (uint32_t token = 0; token < tokenizer.token_count; ++token) {
    const TokenKind kind = tokenizer.token_kinds[token];
    if (kind == TokenKind::kUnused) continue;
    vocabulary.emplace(name_of(tokenizer, token), token);
    if (kind == TokenKind::kNormal) continue;
    added.push_back({{"id", token},
                     {"content", text_of(tokenizer, token)},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", kind == TokenKind::kSpecial}});
  }
  for (const TokenMerge& merge : tokenizer.merges) merges.push_back(merge_text(tokenizer, merge));
  const json byte_level = {{"type", "ByteLevel"},
                           {"add_prefix_space", tokenizer.prefix_space != PrefixSpace::kNever},
                           {"trim_offsets", true},
                           {"use_regex", true}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", added},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level},
          {"post_processor", nullptr},
          {"decoder", byte_level},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"continuing_subword_prefix", ""},
            {"end_of_word_suffix", ""},
            {"fuse_unk", false},
            {"vocab", vocabulary},
            {"merges", merges}}}};
}

// The following functions write GGUF.

constexpr uint64_t kAlignment = 32;

template <typename T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_text(std::string& bytes, const std::string& text) {
  put<uint64_t>(bytes, text.size());
  bytes += text;
}

// Collects the key-value pairs of a GGUF file.
class GgufValues {
 public:
  void number(const char* key, uint32_t value) { put(start(key, 4), value); }
  void real(const char* key, float value) { put(start(key, 6), value); }
  void text(const char* key, const std::string& value) { put_text(start(key, 8), value); }
  void texts(const char* key, const std::vector<std::string>& values) {
    array(key, 8, values.size());
    for (const std::string& value : values) put_text(bytes_, value);
  }
  void numbers(const char* key, const std::vector<int32_t>& values) {
    array(key, 5, values.size());
    for (const int32_t value : values) put(bytes_, value);
  }

  uint64_t count() const { return count_; }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string& start(const char* key, uint32_t type) {
    ++count_;
    put_text(bytes_, key);
    put(bytes_, type);
    return bytes_;
  }
  void array(const char* key, uint32_t type, uint64_t size) {
    constexpr uint32_t kArray = 9;
    put(start(key, kArray), type);
    put(bytes_, size);
  }

  std::string bytes_;
  uint64_t count_ = 0;
};

void put_tokenizer(const TokenizerView& tokenizer, GgufValues& values) {
  constexpr int32_t kTypes[] = {1, 4, 3, 5};  // normal, user-defined, control, unused, in the order of TokenKind
  std::vector<std::string> tokens, merges;
  std::vector<int32_t> types;
  for (uint32_t token = 0; token < tokenizer.token_count; ++token) {
    const TokenKind kind = tokenizer.token_kinds[token];
    types.push_back(kTypes[static_cast<size_t>(kind)]);
    tokens.push_back(kind == TokenKind::kUnused ? "[PAD" + std::to_string(token) + "]" : name_of(tokenizer, token));
  }
  for (const TokenMerge& merge : tokenizer.merges) merges.push_back(merge_text(tokenizer, merge));
  values.text("tokenizer.ggml.model", "gpt2");
  values.text("tokenizer.ggml.pre", "gpt-2");
  values.texts("tokenizer.ggml.tokens", tokens);
  values.numbers("tokenizer.ggml.token_type", types);
  values.texts("tokenizer.ggml.merges", merges);
}

GgufValues gguf_values(const CheckpointInfo& info, const TokenizerView* tokenizer) {
  constexpr uint32_t kMostlyQ8 = 7;
  GgufValues values;
  values.text("general.architecture", "gpt2");
  values.text("general.name", info.name);
  if (!info.license.empty()) values.text("general.license", info.license);
  values.number("general.file_type", kMostlyQ8);
  values.number("general.quantization_version", 2);
  values.number("gpt2.vocab_size", info.shape.vocabulary_size);
  values.number("gpt2.context_length", info.shape.position_count);
  values.number("gpt2.embedding_length", info.shape.embedding_size);
  values.number("gpt2.feed_forward_length", info.shape.feed_forward_size);
  values.number("gpt2.block_count", info.shape.layer_count);
  values.number("gpt2.attention.head_count", info.shape.head_count);
  values.real("gpt2.attention.layer_norm_epsilon", info.norm_epsilon);
  if (tokenizer == nullptr) {
    values.text("tokenizer.ggml.model", "no_vocab");
  } else {
    put_tokenizer(*tokenizer, values);
  }
  if (!info.chat_template.empty()) values.text("tokenizer.chat_template", info.chat_template);
  if (info.end_of_text_token >= 0) {
    values.number("tokenizer.ggml.bos_token_id", static_cast<uint32_t>(info.end_of_text_token));
    values.number("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(info.end_of_text_token));
  }
  return values;
}

bool is_quantized(const std::string& name, const Shape& shape, const TensorMapping& names) {
  return shape.size() == 2 && shape.back() % kGgmlQ8Elements == 0 && name != names.positions;
}

std::vector<uint8_t> quantize_q8(const std::vector<float>& values) {
  std::vector<uint8_t> blocks(values.size() / kGgmlQ8Elements * kGgmlQ8Bytes);
  for (size_t i = 0; i < values.size() / kGgmlQ8Elements; ++i) {
    quantize_ggml_q8(values.data() + i * kGgmlQ8Elements, blocks.data() + i * kGgmlQ8Bytes);
  }
  return blocks;
}

}  // namespace

void export_safetensors(const Checkpoint& checkpoint, const std::filesystem::path& directory,
                        const ExportOptions& options) {
  check_tokenizer(options.tokenizer);
  check_head(checkpoint.info());
  TensorMapping names = gpt2_mapping("transformer.");
  names.inputs_first = true;
  ordered_json header = {{"__metadata__", {{"format", "pt"}}}};
  uint64_t size = 0;
  visit_tensors(checkpoint, names, false, [&](const std::string& name, const Shape& shape, std::vector<float>) {
    const uint64_t end = size + element_count(shape) * sizeof(float);
    header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {size, end}}};
    size = end;
  });
  std::string text = header.dump();
  text.resize(align_up(text.size(), 8), ' ');  // aligns the data

  std::filesystem::create_directories(directory);
  OutputFile file(directory / "model.safetensors");
  Appender out(file);
  const uint64_t header_size = text.size();
  out.append(&header_size, sizeof header_size);
  out.append(text.data(), text.size());
  visit_tensors(checkpoint, names, true, [&](const std::string&, const Shape&, const std::vector<float>& values) {
    out.append(values.data(), values.size() * sizeof(float));
    options.progress(static_cast<double>(out.end()) / static_cast<double>(size + header_size + 8));
  });
  write_text_file(directory / "config.json", config_json(checkpoint.info()).dump(2) + "\n");
  if (options.tokenizer != nullptr) {
    write_text_file(directory / "tokenizer.json", tokenizer_json(*options.tokenizer).dump(2) + "\n");
  }
  file.commit();
}

void export_gguf(const Checkpoint& checkpoint, const std::filesystem::path& path, const ExportOptions& options) {
  check_tokenizer(options.tokenizer);
  const CheckpointInfo& info = checkpoint.info();
  if (info.activation != Activation::kGeluTanh) {
    throw std::runtime_error("GGUF has no activation for GPT-2 but " +
                             std::string(activation_name(Activation::kGeluTanh)) + "; this model has " +
                             std::string(activation_name(info.activation)));
  }
  check_head(info);
  const TensorMapping names = gguf_mapping();
  const GgufValues values = gguf_values(info, options.tokenizer);
  std::string descriptions;
  uint64_t tensor_count = 0, size = 0;
  visit_tensors(checkpoint, names, false, [&](const std::string& name, const Shape& shape, std::vector<float>) {
    const bool quantized = is_quantized(name, shape, names);
    ++tensor_count;
    put_text(descriptions, name);
    put(descriptions, static_cast<uint32_t>(shape.size()));
    for (size_t i = shape.size(); i-- > 0;) put(descriptions, shape[i]);
    put(descriptions, quantized ? kGgmlQ8 : kGgmlF32);
    put(descriptions, size);
    size += quantized ? element_count(shape) / kGgmlQ8Elements * kGgmlQ8Bytes : element_count(shape) * sizeof(float);
    size = (size + kAlignment - 1) / kAlignment * kAlignment;
  });
  std::string header = "GGUF";
  put<uint32_t>(header, 3);
  put(header, tensor_count);
  put(header, values.count());
  header += values.bytes() + descriptions;

  OutputFile file(path);
  Appender out(file);
  out.append(header.data(), header.size());
  out.align(kAlignment);
  visit_tensors(checkpoint, names, true,
                [&](const std::string& name, const Shape& shape, const std::vector<float>& tensor) {
                  if (is_quantized(name, shape, names)) {
                    const std::vector<uint8_t> blocks = quantize_q8(tensor);
                    out.append(blocks.data(), blocks.size());
                  } else {
                    out.append(tensor.data(), tensor.size() * sizeof(float));
                  }
                  out.align(kAlignment);
                  options.progress(static_cast<double>(out.end()) / static_cast<double>(size + header.size()));
                });
  file.commit();
}

}  // namespace sotto
