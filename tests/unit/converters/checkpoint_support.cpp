#include "tests/unit/converters/checkpoint_support.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "converters/model_writer.h"

namespace sotto {
namespace {

uint16_t half_of(float value) {
  if (value == 0) return 0;
  int exponent = 0;
  const float fraction = std::frexp(std::fabs(value), &exponent);  // [0.5, 1)
  const auto mantissa = static_cast<uint16_t>((fraction * 2 - 1) * 1024);
  return static_cast<uint16_t>((std::signbit(value) ? 0x8000 : 0) | (exponent + 14) << 10 | mantissa);
}

}  // namespace

void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  if (!file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    throw std::logic_error("cannot write " + path.string());
  }
}

RawTensor make_tensor(const std::string& type, std::vector<uint64_t> shape, const std::vector<float>& values) {
  RawTensor tensor = {type, std::move(shape), {}};
  for (const float value : values) {
    if (type == "F32") append(tensor.bytes, value);
    if (type == "F64") append(tensor.bytes, static_cast<double>(value));
    if (type == "F16") append(tensor.bytes, half_of(value));
    if (type == "BF16") {
      append(tensor.bytes, static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16));
    }
  }
  return tensor;
}

std::string safetensors_bytes(const std::string& header, const std::string& data) {
  std::string bytes;
  append(bytes, static_cast<uint64_t>(header.size()));
  return bytes + header + data;
}

std::string safetensors_bytes(const RawTensors& tensors, const std::function<void(nlohmann::json&)>& edit_header) {
  nlohmann::json header = {{"__metadata__", {{"format", "pt"}}}};
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    header[name] = {{"dtype", tensor.type},
                    {"shape", tensor.shape},
                    {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
    data += tensor.bytes;
  }
  if (edit_header) edit_header(header);
  return safetensors_bytes(header.dump(), data);
}

void TinyCheckpoint::save(const std::filesystem::path& directory) const {
  write_bytes(directory / "config.json", config.dump());
  write_bytes(directory / "model.safetensors", safetensors_bytes(tensors));
}

TinyCheckpoint make_tiny_checkpoint(const std::string& type, const std::string& prefix, uint64_t feed_forward_size) {
  constexpr uint64_t kVocabulary = 11, kPositions = 6, kEmbedding = 8;
  TinyCheckpoint checkpoint;
  checkpoint.config = {{"model_type", "gpt2"},
                       {"vocab_size", kVocabulary},
                       {"n_positions", kPositions},
                       {"n_embd", kEmbedding},
                       {"n_head", 2},
                       {"n_layer", 2},
                       {"n_inner", feed_forward_size},
                       {"eos_token_id", 10}};
  int next = 1;
  const auto add = [&](const std::string& name, const std::vector<uint64_t>& shape) {
    size_t count = 1;
    for (const uint64_t extent : shape) count *= extent;
    std::vector<float> values(count);
    for (float& value : values) {
      next = next * 37 % 127;  // 1 ... 126
      value = static_cast<float>(next - 64) / 64;
    }
    checkpoint.tensors[prefix + name] = make_tensor(type, shape, values);
  };
  add("wte.weight", {kVocabulary, kEmbedding});
  add("wpe.weight", {kPositions, kEmbedding});
  const auto add_pair = [&](const std::string& name, const std::vector<uint64_t>& shape) {
    add(name + ".weight", shape);
    add(name + ".bias", {shape.back()});
  };
  for (const std::string layer : {"h.0.", "h.1."}) {
    add_pair(layer + "ln_1", {kEmbedding});
    add_pair(layer + "attn.c_attn", {kEmbedding, 3 * kEmbedding});
    add_pair(layer + "attn.c_proj", {kEmbedding, kEmbedding});
    add_pair(layer + "ln_2", {kEmbedding});
    add_pair(layer + "mlp.c_fc", {kEmbedding, feed_forward_size});
    add_pair(layer + "mlp.c_proj", {feed_forward_size, kEmbedding});
  }
  add_pair("ln_f", {kEmbedding});
  return checkpoint;
}

RawTensor transpose(const RawTensor& matrix) {
  RawTensor result = matrix;
  const uint64_t rows = matrix.shape[0], columns = matrix.shape[1];
  const size_t size = matrix.bytes.size() / (rows * columns);
  std::swap(result.shape[0], result.shape[1]);
  for (uint64_t r = 0; r < rows; ++r) {
    for (uint64_t c = 0; c < columns; ++c) {
      std::memcpy(&result.bytes[(c * rows + r) * size], &matrix.bytes[(r * columns + c) * size], size);
    }
  }
  return result;
}

std::vector<uint8_t> convert_unlabelled(Checkpoint& checkpoint) {
  checkpoint.relabel("model", "test");
  return convert_to_bytes(checkpoint, {});
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace sotto
