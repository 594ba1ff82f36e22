// Reads checkpoints of llm.c, such as gpt2_124M.bin.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "converters/readers/named_checkpoint.h"
#include "converters/tensors/tensor_file.h"

namespace sotto {
namespace {

constexpr size_t kHeaderCount = 256;  // 32-bit integers

// The first number of every checkpoint.
constexpr int32_t kModelMagic = 20240326;
constexpr struct {
  int32_t magic;
  const char* content;
} kOtherFiles[] = {
    {20240327, "activations for tests"}, {20240328, "a tokenizer"},        {20240520, "tokens for training"},
    {20240522, "tokens for training"},   {20240527, "an optimizer state"}, {20240803, "a Llama 3 model"},
};

int32_t read_magic(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return 0;
  const InputFile file(path);
  int32_t magic = 0;
  if (file.size() >= sizeof magic) file.read_at(0, &magic, sizeof magic);
  return magic;
}

const char* other_content(int32_t magic) {
  for (const auto& [other, content] : kOtherFiles) {
    if (magic == other) return content;
  }
  return nullptr;
}

// A group of tensors in a file: one tensor, or the same tensor of all layers one after the other.
struct Part {
  const char* name;
  std::vector<uint64_t> shape;
  bool is_in_layers = true;

  uint64_t element_count() const {
    uint64_t count = 1;
    for (const uint64_t extent : shape) count *= extent;
    return count;
  }
};

// Returns the tensors of a file in their order after its header.
std::vector<Part> parts_of(const ModelShape& shape, uint64_t embedding_rows) {
  const uint64_t width = shape.embedding_size;
  return {{"wte.weight", {embedding_rows, width}, false},
          {"wpe.weight", {shape.position_count, width}, false},
          {"ln_1.weight", {width}},
          {"ln_1.bias", {width}},
          {"attn.c_attn.weight", {3 * width, width}},
          {"attn.c_attn.bias", {3 * width}},
          {"attn.c_proj.weight", {width, width}},
          {"attn.c_proj.bias", {width}},
          {"ln_2.weight", {width}},
          {"ln_2.bias", {width}},
          {"mlp.c_fc.weight", {4 * width, width}},
          {"mlp.c_fc.bias", {4 * width}},
          {"mlp.c_proj.weight", {width, 4 * width}},
          {"mlp.c_proj.bias", {width}},
          {"ln_f.weight", {width}, false},
          {"ln_f.bias", {width}, false}};
}

// A file of llm.c. Its tensors get the names of nanoGPT, because llm.c exports them from there.
class LlmCFile final : public TensorFile {
 public:
  explicit LlmCFile(const std::filesystem::path& path) : TensorFile(path) {
    int32_t header[kHeaderCount];
    if (file_.size() < sizeof header) fail("too short for a model of llm.c");
    file_.read_at(0, header, sizeof header);
    read_header(header);
    const uint32_t layers = info_.shape.layer_count;
    const std::vector<Part> parts = parts_of(info_.shape, uint64_t{info_.shape.vocabulary_size} + padding_);
    uint64_t size = sizeof header;
    for (const Part& part : parts) size += part.element_count() * element_size_ * (part.is_in_layers ? layers : 1);
    if (file_.size() != size) {
      fail("the header describes a file of " + std::to_string(size) + " bytes, this one has " +
           std::to_string(file_.size()) + "; it is incomplete, or written by llm.c in April 2024");
    }
    uint64_t offset = sizeof header;
    for (const Part& part : parts) {
      for (uint32_t i = 0; i < (part.is_in_layers ? layers : 1); ++i) {
        const std::string layer = part.is_in_layers ? "h." + std::to_string(i) + "." : "";
        TensorEntry entry;
        entry.type = type_;
        entry.type_name = type_ == TensorType::kF32 ? "F32" : "BF16";
        entry.shape = part.shape;
        entry.element_count = part.element_count();
        entry.offset = offset;
        entry.size = entry.element_count * element_size_;
        offset += entry.size;
        tensors_[layer + part.name] = std::move(entry);
      }
    }
  }

  const CheckpointInfo& info() const { return info_; }
  uint32_t padding() const { return padding_; }  // rows of the embedding after the last token

 private:
  [[noreturn]] void fail(const std::string& what) const { throw std::runtime_error(path().string() + ": " + what); }

  void read_header(const int32_t* header) {
    if (const char* content = other_content(header[0])) {
      fail(std::string("holds ") + content + " of llm.c, not a GPT-2 model");
    }
    const int32_t version = header[1];
    if (version != 1 && version != 3 && version != 5) {
      fail("version " + std::to_string(version) + " of the format of llm.c; 1, 3 and 5 are supported");
    }
    type_ = version == 5 ? TensorType::kBf16 : TensorType::kF32;
    element_size_ = version == 5 ? 2 : 4;
    const auto count = [&](size_t index) { return static_cast<uint32_t>(std::max(header[index], 0)); };
    ModelShape& shape = info_.shape;
    shape.position_count = count(2);
    shape.vocabulary_size = count(3);
    shape.layer_count = count(4);
    shape.head_count = count(5);
    shape.embedding_size = count(6);
    shape.feed_forward_size = static_cast<uint32_t>(std::min(uint64_t{4} * count(6), uint64_t{UINT32_MAX}));
    check_info(info_, path().string());
    const uint32_t rows = version == 1 ? shape.vocabulary_size : count(7);
    constexpr uint32_t kMaxRows = uint32_t{1} << 25;
    if (rows < shape.vocabulary_size || rows > kMaxRows) {
      fail("the padded vocabulary has " + std::to_string(rows) + " tokens, the vocabulary itself " +
           std::to_string(shape.vocabulary_size));
    }
    padding_ = rows - shape.vocabulary_size;
    info_.name = path().stem().string();
    info_.source = "llm.c checkpoint " + path().filename().string();
    constexpr uint32_t kEndOfText = 50256;
    if (shape.vocabulary_size > kEndOfText) info_.end_of_text_token = kEndOfText;
  }

  CheckpointInfo info_;
  TensorType type_ = TensorType::kF32;
  uint64_t element_size_ = 0;
  uint32_t padding_ = 0;
};

bool is_llm_c(const std::filesystem::path& path) {
  const int32_t magic = read_magic(path);
  return magic == kModelMagic || other_content(magic) != nullptr;
}

std::unique_ptr<Checkpoint> open_llm_c(const std::filesystem::path& path, const ReadOptions& options) {
  const auto file = std::make_shared<const LlmCFile>(path);
  CheckpointInfo info = file->info();
  info.activation = options.activation.value_or(Activation::kGeluTanh);
  TensorMapping mapping = gpt2_mapping("");
  mapping.configuration = path;
  mapping.vocabulary_padding = file->padding();
  return std::make_unique<NamedCheckpoint>(std::move(info), std::vector<std::string>(), Tensors(file),
                                           std::move(mapping));
}

}  // namespace

const CheckpointFormat kLlmCFormat = {"llm.c", "a .bin file", is_llm_c, open_llm_c};

}  // namespace sotto
