// Tests the reader of .sotto files and the writers of other formats.
#include "converters/export.h"

#include <cmath>
#include <cstring>

#include "converters/model_writer.h"
#include "converters/quantize/int4.h"
#include "converters/quantize/int8.h"
#include "converters/readers/model_file.h"
#include "converters/tensors/gguf.h"
#include "converters/tokenizers/reader.h"
#include "tests/unit/converters/checkpoint_support.h"

namespace sotto {
namespace {

class ExportTest : public testing::Test {
 protected:
  // Converts the checkpoint and opens the result.
  ModelFile convert(const WriteOptions& options = {}) const {
    tiny_.save(directory_.path());
    write_model(*open_checkpoint(directory_.path()), model_, options);
    return ModelFile(model_);
  }

  TemporaryDirectory directory_;
  std::filesystem::path model_ = directory_ / "m.sotto";
  TinyCheckpoint tiny_ = make_tiny_checkpoint("F32", "transformer.", 64);
};

void expect_equal(const FloatLinear& a, const FloatLinear& b) {
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.bias, b.bias);
}

void expect_equal(const FloatModel& a, const FloatModel& b) {
  EXPECT_EQ(a.positions, b.positions);
  EXPECT_EQ(a.token_embedding, b.token_embedding);
  ASSERT_EQ(a.layers.size(), b.layers.size());
  for (size_t i = 0; i < a.layers.size(); ++i) {
    EXPECT_EQ(a.layers[i].attention_norm.gain, b.layers[i].attention_norm.gain);
    EXPECT_EQ(a.layers[i].feed_forward_norm.bias, b.layers[i].feed_forward_norm.bias);
    expect_equal(a.layers[i].attention_qkv, b.layers[i].attention_qkv);
    expect_equal(a.layers[i].attention_output, b.layers[i].attention_output);
    expect_equal(a.layers[i].feed_forward_up, b.layers[i].feed_forward_up);
    expect_equal(a.layers[i].feed_forward_down, b.layers[i].feed_forward_down);
  }
  EXPECT_EQ(a.final_norm.gain, b.final_norm.gain);
  ASSERT_EQ(a.head.has_value(), b.head.has_value());
  if (a.head) expect_equal(*a.head, *b.head);
}

TEST_F(ExportTest, ReadsInt8WeightsBack) {
  const FloatModel model = load_float_model(convert());
  const FloatModel original = load_float_model(*open_checkpoint(directory_.path()));
  EXPECT_EQ(model.name, original.name);
  EXPECT_EQ(model.source, original.source);
  EXPECT_EQ(model.end_of_text_token, 10);
  EXPECT_EQ(model.positions, original.positions);
  const FloatLinear& before = original.layers[1].feed_forward_down;
  const FloatLinear& after = model.layers[1].feed_forward_down;
  const QuantizedLinear quantized = quantize(before.weights, before.inputs, before.outputs);
  for (size_t i = 0; i < before.weights.size(); ++i) {
    ASSERT_EQ(after.weights[i], static_cast<float>(quantized.weights[i]) * quantized.scales[i / before.inputs]);
  }
  EXPECT_EQ(after.bias, before.bias);
}

TEST_F(ExportTest, ReadsInt4WeightsBack) {
  const FloatModel model = load_float_model(convert({.layers = WeightKind::kInt4}));
  const FloatModel original = load_float_model(*open_checkpoint(directory_.path()));
  const FloatLinear& before = original.layers[0].feed_forward_down;  // the only layer with 32 inputs or more
  const FloatLinear& after = model.layers[0].feed_forward_down;
  const QuantizedInt4 quantized = quantize_int4(before.weights, before.inputs, before.outputs);
  for (size_t i = 0; i < before.weights.size(); ++i) {
    const size_t output = i / before.inputs, block = i % before.inputs / 32;
    const int weight = quantized.weights[i] * quantized.block_scales[output * 2 + block];
    ASSERT_EQ(after.weights[i], static_cast<float>(weight) * quantized.scales[output]);
  }
  EXPECT_EQ(after.bias, before.bias);
}

TEST_F(ExportTest, SafetensorsKeepEveryWeight) {
  tiny_.tensors["lm_head.weight"] = make_tensor("F32", {11, 8}, std::vector<float>(88, 0.25f));
  tiny_.config["activation_function"] = "gelu";
  const ModelFile model = convert();
  export_safetensors(model, directory_ / "out", {});
  const auto exported = open_checkpoint(directory_ / "out");
  EXPECT_EQ(exported->info().head_kind, HeadKind::kPlain);
  EXPECT_EQ(exported->info().activation, Activation::kGeluErf);
  EXPECT_EQ(exported->info().norm_epsilon, model.info().norm_epsilon);
  EXPECT_EQ(exported->info().end_of_text_token, 10);
  expect_equal(load_float_model(*exported), load_float_model(model));
}

TEST_F(ExportTest, GgufRoundsMatricesToQ8) {
  const ModelFile model = convert();
  export_gguf(model, directory_ / "m.gguf", {});
  const GgufFile file(directory_ / "m.gguf");
  EXPECT_EQ(file.tensors().at("blk.0.ffn_down.weight").type_name, "Q8_0");
  EXPECT_EQ(file.tensors().at("blk.0.ffn_up.weight").type_name, "F32");  // rows of 8
  FloatModel expected = load_float_model(model);
  FloatModel actual = load_float_model(*open_checkpoint(directory_ / "m.gguf"));
  for (size_t i = 0; i < 2; ++i) {
    std::vector<float>& weights = expected.layers[i].feed_forward_down.weights;
    const std::vector<float>& rounded = actual.layers[i].feed_forward_down.weights;
    for (size_t k = 0; k < weights.size(); ++k) ASSERT_NEAR(rounded[k], weights[k], 1.0 / 200);
    weights = rounded;
  }
  expect_equal(actual, expected);

  tiny_.config["activation_function"] = "gelu";
  EXPECT_ERROR(export_gguf(convert(), directory_ / "n.gguf", {}), "GGUF has no activation for GPT-2 but gelu_new");
  tiny_.config["activation_function"] = "gelu_new";
  EXPECT_FALSE(std::filesystem::exists(directory_ / "n.gguf"));
}

TEST_F(ExportTest, RejectsABiasOfTheHead) {
  tiny_.tensors["lm_head.bias"] = make_tensor("F32", {11}, std::vector<float>(11, 0.5f));
  const ModelFile model = convert();
  EXPECT_ERROR(export_safetensors(model, directory_ / "out", {}), "the head has a bias, which transformers");
  EXPECT_ERROR(export_gguf(model, directory_ / "n.gguf", {}), "the head has a bias, which transformers");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "out"));
  EXPECT_FALSE(std::filesystem::exists(directory_ / "n.gguf"));
}

TEST_F(ExportTest, KeepsTheTokenizer) {
  write_bytes(directory_ / "vocab.json",
              R"({"a": 0, "b": 1, "\u0120": 2, "\u00ff": 3, "ab": 4, "\u0120ab": 5, "<|endoftext|>": 6})");
  write_bytes(directory_ / "merges.txt", "#version: 0.2\na b\n\u0120 ab\n");
  write_bytes(directory_ / "added_tokens.json", R"({" \u00e9": 8})");
  const TokenizerData tokenizer = *read_tokenizer_directory(directory_.path(), 11);
  const ModelFile model = convert({.tokenizer = &tokenizer});
  ASSERT_NE(model.tokenizer(), nullptr);
  export_safetensors(model, directory_ / "out", {.tokenizer = model.tokenizer()});
  export_gguf(model, directory_ / "m.gguf", {.tokenizer = model.tokenizer()});
  for (const char* path : {"out", "m.gguf"}) {
    const auto read = read_checkpoint_tokenizer(directory_ / path, 11);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->token_offsets, tokenizer.token_offsets) << path;
    EXPECT_EQ(read->token_bytes, tokenizer.token_bytes) << path;
    EXPECT_EQ(read->byte_tokens, tokenizer.byte_tokens) << path;
    EXPECT_EQ(read->merge_index, tokenizer.merge_index) << path;
    EXPECT_EQ(read->added_tokens, tokenizer.added_tokens) << path;
  }
}

TEST_F(ExportTest, RejectsDamagedFiles) {
  convert();
  std::string bytes = read_file(model_);
  write_bytes(model_, bytes.substr(0, bytes.size() - 1));
  EXPECT_ERROR(ModelFile(model_), "m.sotto: ");
  write_bytes(model_, bytes);
  const FloatModel whole = load_float_model(ModelFile(model_));
  size_t error_count = 0;
  for (size_t at = 0; at < bytes.size(); at += 61) {
    std::string damaged = bytes;
    damaged[at] ^= 1;
    write_bytes(model_, damaged);
    try {
      expect_equal(load_float_model(ModelFile(model_)), whole);  // the byte is padding
    } catch (const std::runtime_error& error) {
      EXPECT_PRED2(contains, error.what(), "m.sotto: ");
      ++error_count;
    }
  }
  EXPECT_GT(error_count, bytes.size() / 61 / 2);
}

}  // namespace
}  // namespace sotto
