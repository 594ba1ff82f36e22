// Tests the reader of GGUF files and their tokenizers.
#include "converters/tensors/gguf.h"

#include <cstring>
#include <limits>

#include "converters/tensors/ggml_types.h"
#include "converters/tokenizers/gguf.h"
#include "converters/tokenizers/reader.h"
#include "tests/unit/converters/checkpoint_support.h"

namespace sotto {
namespace {

void append_text(std::string& bytes, const std::string& text) {
  append<uint64_t>(bytes, text.size());
  bytes += text;
}

// Builds a file piece by piece. A value is the number of its type followed by its bytes.
struct GgufBuilder {
  static std::string number(uint32_t value) {
    std::string bytes;
    append<uint32_t>(bytes, 4);
    append(bytes, value);
    return bytes;
  }
  static std::string real(float value) {
    std::string bytes;
    append<uint32_t>(bytes, 6);
    append(bytes, value);
    return bytes;
  }
  static std::string text(const std::string& value) {
    std::string bytes;
    append<uint32_t>(bytes, 8);
    append_text(bytes, value);
    return bytes;
  }
  static std::string texts(const std::vector<std::string>& values) {
    std::string bytes;
    append<uint32_t>(bytes, 9);
    append<uint32_t>(bytes, 8);
    append<uint64_t>(bytes, values.size());
    for (const std::string& value : values) append_text(bytes, value);
    return bytes;
  }
  static std::string numbers(const std::vector<int32_t>& values) {
    std::string bytes;
    append<uint32_t>(bytes, 9);
    append<uint32_t>(bytes, 5);
    append<uint64_t>(bytes, values.size());
    for (const int32_t value : values) append(bytes, value);
    return bytes;
  }

  std::string build() const {
    constexpr size_t kAlignment = 32;
    std::string bytes = "GGUF";
    append<uint32_t>(bytes, version);
    append<uint64_t>(bytes, tensors.size());
    append<uint64_t>(bytes, values.size());
    for (const auto& [key, value] : values) {
      append_text(bytes, key);
      bytes += value;
    }
    std::string data;
    for (const auto& [name, tensor] : tensors) {
      data.resize((data.size() + kAlignment - 1) / kAlignment * kAlignment);
      append_text(bytes, name);
      append(bytes, static_cast<uint32_t>(tensor.shape.size()));
      for (size_t i = tensor.shape.size(); i-- > 0;) append<uint64_t>(bytes, tensor.shape[i]);
      append<uint32_t>(bytes, type_of(tensor.type));
      append<uint64_t>(bytes, data.size());
      data += tensor.bytes;
    }
    bytes.resize((bytes.size() + kAlignment - 1) / kAlignment * kAlignment);
    return bytes + data;
  }

  static uint32_t type_of(const std::string& name) {
    if (name == "F32") return 0;
    if (name == "F16") return 1;
    if (name == "BF16") return 30;
    return static_cast<uint32_t>(std::stoul(name));
  }

  uint32_t version = 3;
  std::map<std::string, std::string> values;
  RawTensors tensors;
};

std::string gguf_name(std::string name) {
  constexpr struct {
    const char* from;
    const char* to;
  } kNames[] = {{"transformer.", ""},           {"h.", "blk."},         {"wte", "token_embd"},
                {"wpe", "position_embd"},       {"ln_1", "attn_norm"},  {"attn.c_attn", "attn_qkv"},
                {"attn.c_proj", "attn_output"}, {"ln_2", "ffn_norm"},   {"mlp.c_fc", "ffn_up"},
                {"mlp.c_proj", "ffn_down"},     {"ln_f", "output_norm"}};
  for (const auto& [from, to] : kNames) {
    const size_t at = name.find(from);
    if (at != std::string::npos) name.replace(at, std::strlen(from), to);
  }
  return name;
}

// The output of convert_hf_to_gguf.py for a checkpoint of transformers.
GgufBuilder make_tiny_gguf(const TinyCheckpoint& tiny) {
  GgufBuilder gguf;
  gguf.values = {{"general.architecture", GgufBuilder::text("gpt2")},
                 {"general.name", GgufBuilder::text("tiny")},
                 {"gpt2.block_count", GgufBuilder::number(2)},
                 {"gpt2.context_length", GgufBuilder::number(6)},
                 {"gpt2.embedding_length", GgufBuilder::number(8)},
                 {"gpt2.feed_forward_length", GgufBuilder::number(32)},  // 4 x embedding, though the tensors have 16
                 {"gpt2.attention.head_count", GgufBuilder::number(2)},
                 {"gpt2.attention.layer_norm_epsilon", GgufBuilder::real(1e-5f)},
                 {"tokenizer.ggml.eos_token_id", GgufBuilder::number(10)}};
  for (const auto& [name, tensor] : tiny.tensors) {
    const bool is_linear = name.find(".c_") != std::string::npos && tensor.shape.size() == 2;
    gguf.tensors[gguf_name(name)] = is_linear ? transpose(tensor) : tensor;
  }
  return gguf;
}

class GgufTest : public testing::Test {
 protected:
  GgufTest() { tiny_.save(directory_.path()); }

  std::unique_ptr<Checkpoint> open() const {
    write_bytes(path_, gguf_.build());
    return open_checkpoint(path_);
  }
  // Returns the message about a file with another value.
  std::string error_with(const std::string& key, const std::string& value) {
    const GgufBuilder before = gguf_;
    gguf_.values[key] = value;
    const std::string message = error_of([&] { open(); });
    gguf_ = before;
    return message;
  }

  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "tiny-f32.gguf";
  TinyCheckpoint tiny_ = make_tiny_checkpoint();
  GgufBuilder gguf_ = make_tiny_gguf(tiny_);
};

TEST_F(GgufTest, GivesTheSameModelAsSafetensors) {
  const auto expected = open_checkpoint(directory_.path());
  const auto actual = open();
  EXPECT_EQ(actual->info().name, "tiny");
  EXPECT_EQ(actual->info().source, "GGUF file tiny-f32.gguf");
  EXPECT_TRUE(actual->notes().empty());
  EXPECT_EQ(convert_unlabelled(*actual), convert_unlabelled(*expected));
  for (const char* type : {"F16", "BF16"}) {
    gguf_ = make_tiny_gguf(make_tiny_checkpoint(type));
    gguf_.version = 2;
    EXPECT_EQ(convert_unlabelled(*open()), convert_unlabelled(*expected)) << type;
  }
}

TEST_F(GgufTest, ReadsTheDescription) {
  gguf_.values["general.license"] = GgufBuilder::text("mit");
  gguf_.values["tokenizer.chat_template"] = GgufBuilder::text("{{ messages }}");
  gguf_.values["tokenizer.ggml.eot_token_id"] = GgufBuilder::number(7);
  gguf_.values["general.sampling.temp"] = GgufBuilder::real(0.5f);
  gguf_.values["general.sampling.top_k"] = GgufBuilder::number(20);
  gguf_.values["general.sampling.penalty_repeat"] = GgufBuilder::real(1.25f);
  const CheckpointInfo info = open()->info();
  EXPECT_EQ(info.license, "mit");
  EXPECT_EQ(info.chat_template, "{{ messages }}");
  EXPECT_EQ(info.end_of_text_token, 10);
  EXPECT_EQ(info.other_end_of_text_tokens, std::vector<int32_t>{7});
  EXPECT_EQ(info.sampling,
            (RecommendedSampling{
                .temperature = 0.5f, .top_k = 20, .repetition_penalty = 1.25f, .repetition_window = UINT32_MAX}));
  EXPECT_PRED2(contains, error_with("general.sampling.temp", GgufBuilder::real(-1)), "temperature is -1");
}

// tests/tools/make_gguf_types.py wrote the file with gguf-py.
TEST(GgmlTypes, ConvertToTheFloatsOfGgufPy) {
  const GgufFile file(std::filesystem::path(SOTTO_SOURCE_DIR) / "tests/data/gguf/types.gguf");
  size_t type_count = 0;
  for (const auto& [name, entry] : file.tensors()) {
    if (name.ends_with(".expected")) continue;
    ++type_count;
    const std::vector<float> expected = file.read(name + ".expected", 0, entry.element_count);
    EXPECT_EQ(file.read(name, 0, entry.element_count), expected) << name;
    // A range need not begin or end between blocks.
    const std::vector<float> part(expected.begin() + 5, expected.end() - 9);
    EXPECT_EQ(file.read(name, 5, entry.element_count - 14), part) << name;
  }
  EXPECT_EQ(type_count, 10u);
}

TEST(GgmlTypes, Q8RoundsAsGgmlDoes) {
  float values[kGgmlQ8Elements] = {};
  values[0] = 127;
  values[1] = -2.5f;
  values[2] = 2.5f;
  values[3] = -0.49f;
  uint8_t block[kGgmlQ8Bytes];
  quantize_ggml_q8(values, block);
  EXPECT_EQ(block[0] | block[1] << 8, 0x3C00);  // a scale of 1
  EXPECT_EQ(static_cast<int8_t>(block[2]), 127);
  EXPECT_EQ(static_cast<int8_t>(block[3]), -3);
  EXPECT_EQ(static_cast<int8_t>(block[4]), 3);
  EXPECT_EQ(static_cast<int8_t>(block[5]), 0);
}

TEST_F(GgufTest, TakesWidthsFromTheTensors) {
  EXPECT_EQ(open()->info().shape.feed_forward_size, 16u);
  gguf_.values["gpt2.context_length"] = GgufBuilder::number(99);
  EXPECT_EQ(open()->info().shape.position_count, 6u);
}

TEST_F(GgufTest, KeepsASeparateHead) {
  gguf_.tensors["output.weight"] = gguf_.tensors["token_embd.weight"];
  EXPECT_EQ(open()->info().head_kind, HeadKind::kTied);
  gguf_.tensors["output.weight"].bytes[1] ^= 1;
  EXPECT_EQ(open()->info().head_kind, HeadKind::kPlain);
}

TEST_F(GgufTest, WarnsOfALostAttentionScale) {
  gguf_.values["general.name"] = GgufBuilder::text("CodeParrot Small");
  const auto checkpoint = open();
  ASSERT_EQ(checkpoint->notes().size(), 1u);
  EXPECT_PRED2(contains, checkpoint->notes().front(), "scale_attn_by_inverse_layer_idx");
}

TEST_F(GgufTest, RejectsOtherModels) {
  const auto text = [](const char* value) { return GgufBuilder::text(value); };
  EXPECT_PRED2(contains, error_with("general.architecture", text("llama")), "is \"llama\"; only \"gpt2\" is supported");
  EXPECT_PRED2(contains, error_with("gpt2.block_count", GgufBuilder::number(1)), "blk.1.");
  EXPECT_PRED2(contains, error_with("gpt2.block_count", GgufBuilder::number(3)),
               "blk.2.attn_norm.weight\": is missing");
  EXPECT_PRED2(contains, error_with("gpt2.attention.head_count", GgufBuilder::number(3)),
               "not a multiple of the 3 heads");
  EXPECT_PRED2(contains, error_with("gpt2.attention.layer_norm_epsilon", GgufBuilder::real(-1)), "layer_norm_epsilon");
  EXPECT_PRED2(contains, error_with("split.count", GgufBuilder::number(2)), "llama-gguf-split --merge");
  gguf_.tensors["blk.0.ffn_gate.weight"] = gguf_.tensors["blk.0.ffn_up.weight"];
  EXPECT_ERROR(open(), "blk.0.ffn_gate.weight\": does not belong to a GPT-2");
  gguf_ = make_tiny_gguf(tiny_);
  gguf_.tensors["rope_freqs.weight"] = gguf_.tensors["output_norm.weight"];
  EXPECT_ERROR(open(), "rope_freqs.weight\": does not belong to a GPT-2");
}

TEST_F(GgufTest, RejectsDamagedFiles) {
  const std::string whole = gguf_.build();
  const auto error = [&](const std::string& bytes) {
    write_bytes(path_, bytes);
    return error_of([&] { GgufFile file(path_); });
  };
  for (size_t size = 0; size < whole.size(); size += 97) {
    EXPECT_PRED2(contains, error(whole.substr(0, size)), "tiny-f32.gguf: ") << size;
  }
  EXPECT_PRED2(contains, error(whole + std::string(64, '\0')), "the tensors end at byte");
  std::string bytes = whole;
  bytes[4] = 1;
  EXPECT_PRED2(contains, error(bytes), "GGUF version 1; versions 2 and 3 are supported");
  bytes = whole;
  std::memcpy(&bytes[4], "\0\0\0\3", 4);
  EXPECT_PRED2(contains, error(bytes), "big-endian");
  bytes = whole;
  std::memset(&bytes[8], 0xFF, 8);  // the number of tensors
  EXPECT_PRED2(contains, error(bytes), "the file is damaged or incomplete");

  gguf_.values["x"] = GgufBuilder::number(0).replace(0, 1, "\x0d");
  EXPECT_PRED2(contains, error(gguf_.build()), "a value of type 13");
  std::string array = GgufBuilder::numbers({1});
  std::memset(&array[8], 0x7F, 8);
  gguf_.values["x"] = array;
  EXPECT_PRED2(contains, error(gguf_.build()), "do not fit the header");
  gguf_.values["x"] = array.replace(4, 1, "\x09");
  EXPECT_PRED2(contains, error(gguf_.build()), "an array of values of type 9");
  gguf_.values.erase("x");

  RawTensor& tensor = gguf_.tensors["output_norm.weight"];
  tensor.type = "10";
  EXPECT_PRED2(contains, error(gguf_.build()), "output_norm.weight\": its type is Q2_K; supported are F32, F16");
  tensor.type = "8";
  EXPECT_PRED2(contains, error(gguf_.build()), "its rows of 8 numbers are not blocks of Q8_0");
  tensor.type = "F32";
  tensor.shape = {uint64_t{1} << 40, uint64_t{1} << 40};
  EXPECT_PRED2(contains, error(gguf_.build()), "its shape is too large or 0");
  tensor.shape = {uint64_t{1} << 40};
  EXPECT_PRED2(contains, error(gguf_.build()), "ends after the file");
  tensor.shape = {8};
  const float infinity = std::numeric_limits<float>::infinity();
  std::memcpy(tensor.bytes.data(), &infinity, sizeof infinity);
  EXPECT_ERROR(load_float_model(*open()), "output_norm.weight\": element 0 is not a finite");
}

class GgufTokenizerTest : public GgufTest {
 protected:
  GgufTokenizerTest() {
    gguf_.values["tokenizer.ggml.model"] = GgufBuilder::text("gpt2");
    gguf_.values["tokenizer.ggml.pre"] = GgufBuilder::text("gpt-2");
    set_tokens({"a", "b", "\u0120", "ab", "\u0120ab", "<|endoftext|>", " \u00E9", "[PAD7]"}, {1, 1, 1, 1, 1, 3, 4, 5});
    gguf_.values["tokenizer.ggml.merges"] = GgufBuilder::texts({"a b", "\u0120 ab"});
    gguf_.values["tokenizer.ggml.eos_token_id"] = GgufBuilder::number(5);
  }

  void set_tokens(const std::vector<std::string>& tokens, const std::vector<int32_t>& types) {
    gguf_.values["tokenizer.ggml.tokens"] = GgufBuilder::texts(tokens);
    gguf_.values["tokenizer.ggml.token_type"] = GgufBuilder::numbers(types);
  }
  std::optional<TokenizerData> read() const {
    write_bytes(path_, gguf_.build());
    return read_checkpoint_tokenizer(path_, 11);
  }
};

TEST_F(GgufTokenizerTest, EqualsTheFilesOfTransformers) {
  write_bytes(directory_ / "vocab.json",
              R"({"a": 0, "b": 1, "\u0120": 2, "ab": 3, "\u0120ab": 4, "<|endoftext|>": 5})");
  write_bytes(directory_ / "merges.txt", "#version: 0.2\na b\n\u0120 ab\n");
  write_bytes(directory_ / "added_tokens.json", R"({" \u00e9": 6})");
  const auto expected = read_tokenizer_directory(directory_.path(), 11);
  const auto check = [&] {
    const auto actual = read();
    ASSERT_TRUE(actual && expected);
    EXPECT_EQ(actual->token_offsets, expected->token_offsets);
    EXPECT_EQ(actual->token_bytes, expected->token_bytes);
    EXPECT_EQ(actual->token_kinds, expected->token_kinds);
    EXPECT_EQ(actual->byte_tokens, expected->byte_tokens);
    EXPECT_EQ(actual->merge_index, expected->merge_index);
    EXPECT_EQ(actual->added_tokens, expected->added_tokens);
  };
  check();
  // Old files have no pre-tokenizer, and all their tokens have the type of normal tokens.
  gguf_.values.erase("tokenizer.ggml.pre");
  set_tokens({"a", "b", "\u0120", "ab", "\u0120ab", "<|endoftext|>", " \u00E9"}, {1, 1, 1, 1, 1, 1, 4});
  check();
}

TEST_F(GgufTokenizerTest, IsAbsentWithoutAModel) {
  gguf_.values.erase("tokenizer.ggml.model");
  EXPECT_FALSE(read());
}

TEST_F(GgufTokenizerTest, RejectsOtherTokenizers) {
  const auto error = [&](const char* key, const std::string& value) {
    const GgufBuilder before = gguf_;
    gguf_.values[key] = value;
    const std::string message = error_of([&] { read(); });
    gguf_ = before;
    return message;
  };
  EXPECT_PRED2(contains, error("tokenizer.ggml.model", GgufBuilder::text("llama")), "is \"llama\"; only \"gpt2\"");
  EXPECT_PRED2(contains, error("tokenizer.ggml.pre", GgufBuilder::text("qwen2")), "is \"qwen2\"; only \"gpt-2\"");
  EXPECT_PRED2(contains, error("tokenizer.ggml.tokens", GgufBuilder::number(1)), "is missing or not an array");
  EXPECT_PRED2(contains, error("tokenizer.ggml.merges", GgufBuilder::texts({"ab"})), "not two tokens");
  EXPECT_PRED2(contains, error("tokenizer.ggml.merges", GgufBuilder::texts({"a c"})), "\"c\" is not in the vocabulary");
  EXPECT_PRED2(contains, error("tokenizer.ggml.merges", GgufBuilder::numbers({1})), "not a string");
  EXPECT_PRED2(contains, error("tokenizer.ggml.token_type", GgufBuilder::numbers({1})), "as many types as there are");
  EXPECT_PRED2(contains, error("tokenizer.ggml.token_type", GgufBuilder::numbers({6, 1, 1, 1, 1, 1, 1, 1})),
               "of token \"a\" is 6; supported are 1 (normal)");
}

}  // namespace
}  // namespace sotto
