// Tests the reader of TensorFlow checkpoints.
#include <cstring>

#include "converters/tensors/crc32c.h"
#include "converters/tensors/tensor_bundle.h"
#include "tests/unit/converters/checkpoint_support.h"

namespace sotto {
namespace {

void append_varint(std::string& bytes, uint64_t value) {
  for (; value >= 0x80; value >>= 7) append(bytes, static_cast<uint8_t>(value | 0x80));
  append(bytes, static_cast<uint8_t>(value));
}

// Appends a number as a field of Protocol Buffers, unless it is 0, the default.
void append_field(std::string& bytes, uint32_t number, uint64_t value) {
  if (value == 0) return;
  append_varint(bytes, number * 8);
  append_varint(bytes, value);
}

void append_field(std::string& bytes, uint32_t number, const std::string& message) {
  append_varint(bytes, number * 8 + 2);
  append_varint(bytes, message.size());
  bytes += message;
}

struct Entry {
  uint64_t type = 1;  // float32
  std::vector<uint64_t> shape = {};
  uint64_t shard = 0;
  uint64_t offset = 0;
  uint64_t size = 0;
  uint32_t checksum = 0;

  std::string message() const {
    std::string dimensions, bytes;
    for (const uint64_t extent : shape) {
      std::string dimension;
      append_field(dimension, 1, extent);
      append_field(dimensions, 2, dimension);
    }
    append_field(bytes, 1, type);
    append_field(bytes, 2, dimensions);
    append_field(bytes, 3, shard);
    append_field(bytes, 4, offset);
    append_field(bytes, 5, size);
    append_varint(bytes, 6 * 8 + 5);
    append(bytes, checksum);
    return bytes;
  }
};

std::string header_message(uint64_t shard_count, uint64_t endianness = 0) {
  std::string bytes;
  append_field(bytes, 1, shard_count);
  append_field(bytes, 2, endianness);
  return bytes;
}

// A block of a LevelDB table: keys without the part that they share with the previous one, and one restart point.
std::string block_bytes(const std::map<std::string, std::string>& entries) {
  std::string bytes, last;
  for (const auto& [key, value] : entries) {
    size_t shared = 0;
    while (shared < last.size() && shared < key.size() && last[shared] == key[shared]) ++shared;
    append_varint(bytes, shared);
    append_varint(bytes, key.size() - shared);
    append_varint(bytes, value.size());
    bytes += key.substr(shared) + value;
    last = key;
  }
  append<uint32_t>(bytes, 0);
  append<uint32_t>(bytes, 1);
  return bytes;
}

// Appends a block with its trailer and returns the handle of it.
std::string append_block(std::string& file, const std::string& block, uint8_t compression = 0) {
  std::string handle;
  append_varint(handle, file.size());
  append_varint(handle, block.size());
  std::string bytes = block;
  append(bytes, compression);
  append(bytes, mask_crc32c(extend_crc32c(0, bytes.data(), bytes.size())));
  file += bytes;
  return handle;
}

// A table of up to `block_size` entries per block.
std::string table_bytes(const std::map<std::string, std::string>& entries, size_t block_size = 5,
                        uint8_t compression = 0) {
  std::string file;
  std::map<std::string, std::string> index, block;
  for (const auto& [key, value] : entries) {
    block[key] = value;
    if (block.size() < block_size && key != entries.rbegin()->first) continue;
    index[key] = append_block(file, block_bytes(block), compression);
    block.clear();
  }
  std::string footer = append_block(file, block_bytes({}));
  footer += append_block(file, block_bytes(index));
  footer.resize(40);
  append(footer, uint64_t{0xDB4775248B80FB57});
  return file + footer;
}

std::string variable_name(const std::string& name) {
  std::string variable = "model/" + name.substr(std::strlen("transformer."));
  if (variable.starts_with("model/h.")) variable.erase(7, 1);
  const bool is_norm = variable.find("ln_") != std::string::npos;
  const bool is_embedding = variable.starts_with("model/w");
  for (char& c : variable) c = c == '.' ? '/' : c;
  const auto replace_end = [&](const char* end, const char* other) {
    if (variable.ends_with(end)) variable.replace(variable.size() - std::strlen(end), std::string::npos, other);
  };
  replace_end("/weight", is_embedding ? "" : is_norm ? "/g" : "/w");
  replace_end("/bias", "/b");
  return variable;
}

// A model in the variables of OpenAI's code, in two shards.
struct Bundle {
  std::map<std::string, Entry> variables;
  std::string shards[2];

  void add(const std::string& name, const RawTensor& tensor, uint64_t shard) {
    Entry entry;
    entry.shape = tensor.shape;
    if (name.ends_with("/w")) entry.shape.insert(entry.shape.begin(), 1);
    entry.shard = shard;
    entry.offset = shards[shard].size();
    entry.size = tensor.bytes.size();
    entry.checksum = mask_crc32c(extend_crc32c(0, tensor.bytes.data(), tensor.bytes.size()));
    shards[shard] += tensor.bytes;
    variables[name] = entry;
  }

  std::map<std::string, std::string> entries() const {
    std::map<std::string, std::string> entries = {{"", header_message(2)}};
    for (const auto& [name, entry] : variables) entries[name] = entry.message();
    return entries;
  }

  void save(const std::filesystem::path& prefix) const {
    write_bytes(prefix.string() + ".data-00000-of-00002", shards[0]);
    write_bytes(prefix.string() + ".data-00001-of-00002", shards[1]);
    write_bytes(prefix.string() + ".index", table_bytes(entries()));
  }
};

Bundle make_tiny_bundle(const TinyCheckpoint& tiny) {
  Bundle bundle;
  uint64_t count = 0;
  for (const auto& [name, tensor] : tiny.tensors) bundle.add(variable_name(name), tensor, count++ % 2);
  bundle.add("model/h0/attn/c_attn/w/Adam", make_tensor("F32", {1}, {0}), 0);
  bundle.add("beta1_power", make_tensor("F32", {}, {0}), 0);
  bundle.variables["global_step"] = {.type = 9, .shard = 1, .size = 8};
  return bundle;
}

class TensorFlowTest : public testing::Test {
 protected:
  TensorFlowTest() {
    tiny_.config["eos_token_id"] = nullptr;
    tiny_.save(directory_.path());
    std::filesystem::create_directory(run_);
    write_bytes(run_ / "hparams.json", R"({"n_vocab": 11, "n_ctx": 6, "n_embd": 8, "n_head": 2, "n_layer": 2})");
    bundle_.save(run_ / "model.ckpt");
  }

  std::string error_with_index(const std::string& bytes) const {
    write_bytes(run_ / "model.ckpt.index", bytes);
    return error_of([&] { open_tensor_bundle(run_ / "model.ckpt.index"); });
  }
  std::string error_with_entry(const Entry& entry) const {
    std::map<std::string, std::string> entries = bundle_.entries();
    entries["x"] = entry.message();
    return error_with_index(table_bytes(entries));
  }

  TemporaryDirectory directory_;
  TinyCheckpoint tiny_ = make_tiny_checkpoint("F32", "transformer.", 32);
  Bundle bundle_ = make_tiny_bundle(tiny_);
  std::filesystem::path run_ = directory_ / "run1";
};

TEST(Crc32c, EqualsPublishedValues) {
  // RFC 3720, appendix B.4.
  EXPECT_EQ(extend_crc32c(0, std::string(32, '\0').data(), 32), 0x8A9136AAu);
  EXPECT_EQ(extend_crc32c(0, std::string(32, '\xFF').data(), 32), 0x62A8AB43u);
  EXPECT_EQ(extend_crc32c(0, "123456789", 9), 0xE3069283u);
  EXPECT_EQ(extend_crc32c(extend_crc32c(0, "1234", 4), "56789", 5), 0xE3069283u);
}

TEST_F(TensorFlowTest, GivesTheSameModelAsSafetensors) {
  const std::vector<uint8_t> expected = convert_unlabelled(*open_checkpoint(directory_.path()));
  for (const char* path : {"run1", "run1/model.ckpt", "run1/model.ckpt.index"}) {
    const auto checkpoint = open_checkpoint(directory_ / path);
    EXPECT_EQ(checkpoint->info().name, "run1");
    EXPECT_EQ(checkpoint->info().source, "TensorFlow checkpoint model.ckpt");
    EXPECT_TRUE(checkpoint->notes().empty());
    EXPECT_EQ(convert_unlabelled(*checkpoint), expected) << path;
  }
}

TEST_F(TensorFlowTest, ChoosesTheLatestOfSeveralCheckpoints) {
  write_bytes(run_ / "model-9.index", "not an index");
  EXPECT_EQ(open_checkpoint(run_)->info().source, "TensorFlow checkpoint model.ckpt");
  bundle_.save(run_ / "model-10");
  EXPECT_ERROR(open_checkpoint(run_), "several checkpoints; give one of");
  write_bytes(run_ / "checkpoint",
              "model_checkpoint_path: \"/content/run1/model-10\"\nall_model_checkpoint_paths: \"x\"\n");
  EXPECT_EQ(open_checkpoint(run_)->info().source, "TensorFlow checkpoint model-10");
}

TEST_F(TensorFlowTest, NamesMissingParts) {
  std::filesystem::remove(run_ / "hparams.json");
  EXPECT_ERROR(open_checkpoint(run_), "hparams.json: cannot open");
  write_bytes(run_ / "hparams.json", R"({"n_vocab": 11, "n_ctx": 6, "n_embd": 8, "n_head": 2, "n_layer": 3})");
  EXPECT_ERROR(open_checkpoint(run_), "h.2.ln_1.weight\": is missing");
  write_bytes(run_ / "hparams.json", R"({"n_vocab": 11, "n_ctx": 6, "n_embd": 8, "n_head": 2, "n_layer": 2})");
  bundle_.add("model/h1/adapter/w", make_tensor("F32", {1}, {0}), 0);
  bundle_.save(run_ / "model.ckpt");
  EXPECT_ERROR(open_checkpoint(run_), "model/h1/adapter/w\": does not belong to a GPT-2 with the 2 layers");
  std::filesystem::remove(run_ / "model.ckpt.data-00001-of-00002");
  EXPECT_ERROR(open_checkpoint(run_), "model.ckpt.data-00001-of-00002: cannot open");
}

TEST_F(TensorFlowTest, VerifiesChecksumsOfTensors) {
  bundle_.shards[1].back() ^= 1;
  bundle_.save(run_ / "model.ckpt");
  EXPECT_ERROR(load_float_model(*open_checkpoint(run_)), "bytes is wrong; the file is damaged");
}

TEST_F(TensorFlowTest, RejectsWrongEntries) {
  const auto error = [&](const Entry& entry) { return error_with_entry(entry); };
  const uint64_t huge = ~uint64_t{0};
  EXPECT_PRED2(contains, error({.shape = {2}, .offset = huge - 3, .size = 8}), "tensor \"x\": its data of 8 bytes");
  EXPECT_PRED2(contains, error({.shape = {huge / 4}, .size = huge / 4 * 4}), "ends after the file");
  EXPECT_PRED2(contains, error({.shape = {huge, 2}, .size = 8}), "its shape is too large");
  EXPECT_PRED2(contains, error({.shape = {3}, .size = 8}), "its shape (3) of float32 does not fit its 8 bytes");
  EXPECT_PRED2(contains, error({.shape = {1}, .shard = 2, .size = 4}), "it is in shard 2 of 2");
  EXPECT_PRED2(contains, error({.shape = std::vector<uint64_t>(9, 1), .size = 4}), "more than 8 dimensions");
  std::map<std::string, std::string> entries = bundle_.entries();
  append_field(entries["model/wte"], 7, std::string());
  EXPECT_PRED2(contains, error_with_index(table_bytes(entries)), "tensor \"model/wte\": it is stored in slices");
  entries = bundle_.entries();
  entries["x"] = std::string(11, '\xFF');
  EXPECT_PRED2(contains, error_with_index(table_bytes(entries)), "a number has more than 64 bits");
  entries["x"] = "\x0A\x7F";
  EXPECT_PRED2(contains, error_with_index(table_bytes(entries)), "ends 127 bytes too early");
  entries["x"] = "\x0B";
  EXPECT_PRED2(contains, error_with_index(table_bytes(entries)), "a field of type 3");
  entries.erase("x");
  entries[""] = header_message(2, 1);
  EXPECT_PRED2(contains, error_with_index(table_bytes(entries)), "big-endian");
  entries[""] = header_message(0);
  EXPECT_PRED2(contains, error_with_index(table_bytes(entries)), "the number of shards is 0");
}

TEST_F(TensorFlowTest, RejectsDamagedIndexes) {
  const std::string whole = table_bytes(bundle_.entries());
  EXPECT_PRED2(contains, error_with_index(table_bytes(bundle_.entries(), 5, 1)), "compressed with Snappy");
  EXPECT_PRED2(contains, error_with_index(whole.substr(1)), "model.ckpt.index: ");
  EXPECT_PRED2(contains, error_with_index(whole.substr(0, whole.size() - 1)),
               "not the index of a TensorFlow checkpoint");
  std::string bytes = whole;
  bytes[20] ^= 1;
  EXPECT_PRED2(contains, error_with_index(bytes), "block at byte 0: its checksum is wrong");
  EXPECT_PRED2(contains, error_with_index(table_bytes({{std::string(600, 'x'), ""}})), "a name of more than 512 bytes");

  std::string file;  // with the same block twice
  const std::string handle = append_block(file, block_bytes(bundle_.entries()));
  std::string footer = handle + append_block(file, block_bytes({{"x", handle}, {"y", handle}}));
  footer.resize(40);
  append(footer, uint64_t{0xDB4775248B80FB57});
  EXPECT_PRED2(contains, error_with_index(file + footer), "overlaps another");
}

// The index that TensorFlow wrote for a fine-tuned GPT-2, with its 148 variables.
TEST(TensorBundle, ReadsTheIndexOfTensorFlow) {
  constexpr char kIndex[] = "weights/tf-checkpoint-index";
  SOTTO_REQUIRE_DATA(kIndex);
  const auto data = test::shared_data() / kIndex;
  TemporaryDirectory directory;
  std::filesystem::copy_file(data / "oscar_model-1000.index", directory / "model-1000.index");
  const auto described = nlohmann::json::parse(read_file(data / "oscar_model-1000.index.json"));
  EXPECT_ERROR(open_tensor_bundle(directory / "model-1000.index"), "model-1000.data-00000-of-00001: cannot open");
  write_bytes(directory / "model-1000.data-00000-of-00001", "");
  std::filesystem::resize_file(directory / "model-1000.data-00000-of-00001", 497759232);
  const Tensors tensors = open_tensor_bundle(directory / "model-1000.index");
  EXPECT_EQ(tensors.names().size(), described.size());
  for (const auto& variable : described) {
    const TensorEntry& entry = tensors.entry(variable["name"]);
    EXPECT_EQ(entry.offset, variable["offset"]) << variable["name"];
    EXPECT_EQ(entry.size, variable["size"]) << variable["name"];
  }
  std::filesystem::copy_file(data / "hparams.json", directory / "hparams.json");
  EXPECT_EQ(open_checkpoint(directory.path())->info().shape.layer_count, 12u);
  EXPECT_ERROR(tensors.read("model/wpe", 0, 1024 * 768), "bytes is wrong");
}

}  // namespace
}  // namespace sotto
