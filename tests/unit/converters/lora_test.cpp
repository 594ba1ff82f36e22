#include "converters/readers/lora.h"

#include <cstring>

#include "tests/unit/converters/pytorch_support.h"

namespace sotto {
namespace {

using nlohmann::json;

class LoraTest : public testing::Test {
 protected:
  LoraTest() {
    std::filesystem::create_directory(adapter());
    trained_["base_model.model.transformer.h.1.attn.c_attn.lora_A.weight"] = make_tensor("F32", {2, 8}, values(16));
    trained_["base_model.model.transformer.h.1.attn.c_attn.lora_B.weight"] = make_tensor("F32", {24, 2}, values(48));
  }

  std::filesystem::path adapter() const { return directory_ / "adapter"; }
  FloatModel load(const std::vector<Adapter>& adapters) {
    tiny_.save(directory_.path());
    write_bytes(adapter() / "adapter_config.json", config_.dump());
    if (!is_pytorch_) write_bytes(adapter() / "adapter_model.safetensors", safetensors_bytes(trained_));
    if (is_pytorch_) write_bytes(adapter() / "adapter_model.bin", pytorch_bytes(trained_));
    return load_float_model(*open_checkpoint(directory_.path(), {.activation = {}, .adapters = adapters}));
  }
  FloatModel load() { return load({{adapter()}}); }
  std::string config_error(const char* key, const json& value) {
    const json before = config_;
    config_[key] = value;
    const std::string message = error_of([&] { load(); });
    config_ = before;
    return message;
  }

  static std::vector<float> values(size_t count) {
    std::vector<float> result(count);
    for (size_t i = 0; i < count; ++i) result[i] = static_cast<float>(i % 7) / 8 - 0.25f;
    return result;
  }
  // Checks W + scale * B A. Every value is exact in float32.
  static void expect_merged(const FloatLinear& before, const FloatLinear& after, float scale) {
    const std::vector<float> a = values(16), b = values(48);
    for (size_t o = 0; o < 24; ++o) {
      for (size_t i = 0; i < 8; ++i) {
        const float delta = b[o * 2] * a[i] + b[o * 2 + 1] * a[8 + i];
        ASSERT_EQ(after.weights[o * 8 + i], before.weights[o * 8 + i] + scale * delta) << o << ' ' << i;
      }
    }
    EXPECT_EQ(after.bias, before.bias);
  }

  TemporaryDirectory directory_;
  TinyCheckpoint tiny_ = make_tiny_checkpoint();
  RawTensors trained_;
  json config_ = {{"peft_type", "LORA"}, {"r", 2}, {"lora_alpha", 4}, {"fan_in_fan_out", true}};
  bool is_pytorch_ = false;
};

TEST_F(LoraTest, AddsTheProductOfTheAdapter) {
  const FloatModel before = load({});
  const auto merged = [&](const std::vector<Adapter>& adapters) { return load(adapters).layers[1].attention_qkv; };
  const FloatLinear& plain = before.layers[1].attention_qkv;
  expect_merged(plain, merged({{adapter()}}), 2);
  expect_merged(plain, merged({{adapter(), 0.5}}), 1);
  expect_merged(plain, merged({{adapter()}, {adapter(), -0.5}}), 1);
  config_["alpha_pattern"] = {{"attn.c_attn", 8}, {"c_proj", 1}};
  expect_merged(plain, merged({{adapter()}}), 4);
  config_["alpha_pattern"] = {{"h.0.attn.c_attn", 8}};
  config_["use_rslora"] = true;
  config_["lora_alpha"] = 2.8284271247461903;
  expect_merged(plain, merged({{adapter()}}), 2);
  EXPECT_EQ(load().layers[0].attention_qkv.weights, before.layers[0].attention_qkv.weights);

  config_ = {{"lora_alpha", 4}};
  is_pytorch_ = true;
  std::filesystem::remove(adapter() / "adapter_model.safetensors");
  expect_merged(plain, merged({{adapter()}}), 2);
}

TEST_F(LoraTest, FindsModulesWithAndWithoutPrefix) {
  const FloatModel expected = load();
  tiny_ = make_tiny_checkpoint("F32", "");
  EXPECT_EQ(load().layers[1].attention_qkv.weights, expected.layers[1].attention_qkv.weights);
}

TEST_F(LoraTest, TrainsTheHeadOfTiedModels) {
  const FloatModel before = load({});
  trained_ = {{"base_model.model.lm_head.lora_A.weight", make_tensor("F32", {1, 8}, values(8))},
              {"base_model.model.lm_head.lora_B.weight", make_tensor("F32", {11, 1}, std::vector<float>(11, 0.5f))}};
  const FloatModel after = load();
  EXPECT_EQ(after.token_embedding, before.token_embedding);
  ASSERT_TRUE(after.head.has_value());
  EXPECT_EQ(after.head->weights[9], before.token_embedding[9] + 4 * 0.5f * values(8)[1]);
}

TEST_F(LoraTest, SavedModulesReplaceTheModels) {
  const RawTensor embedding = make_tensor("F32", {13, 8}, values(104));
  trained_["base_model.model.transformer.wte.weight"] = embedding;
  trained_["base_model.model.lm_head.modules_to_save.weight"] = embedding;
  trained_["base_model.model.transformer.h.0.attn.c_proj.base_layer.bias"] = make_tensor("F32", {8}, values(8));
  const FloatModel model = load();
  EXPECT_EQ(model.shape.vocabulary_size, 13u);
  EXPECT_EQ(model.token_embedding, values(104));
  EXPECT_FALSE(model.head.has_value());
  EXPECT_EQ(model.layers[0].attention_output.bias, values(8));
}

TEST_F(LoraTest, RejectsOtherAdaptersThanLora) {
  EXPECT_PRED2(contains, config_error("peft_type", "LOHA"), "\"peft_type\" is \"LOHA\"; only \"LORA\" is supported");
  EXPECT_PRED2(contains, config_error("peft_type", "IA3"), "\"IA3\"");
  EXPECT_PRED2(contains, config_error("use_dora", true), "\"use_dora\" is set; merge such an adapter in Python");
  EXPECT_PRED2(contains, config_error("init_lora_weights", "pissa"), "\"pissa\", which changes the base model");
  EXPECT_PRED2(contains, config_error("alpha_pattern", {{"h.[0-9]", 3}}), "only names of modules with a number");
  const RawTensors before = trained_;
  trained_["base_model.model.transformer.h.1.attn.c_attn.lora_magnitude_vector"] = make_tensor("F32", {8}, values(8));
  EXPECT_ERROR(load(), "lora_magnitude_vector\": is not a part of a plain LoRA");
  trained_ = before;
  trained_["base_model.model.transformer.h.1.attn.c_attn.lora_A.weight"].shape = {4, 4};
  EXPECT_ERROR(load(), "its shape is (4, 4) and that of lora_B (24, 2); they do not fit transformer.h.1.attn.c_attn");
  trained_.erase("base_model.model.transformer.h.1.attn.c_attn.lora_A.weight");
  EXPECT_ERROR(load(), "lora_B.weight\": is not a part of a plain LoRA");
  trained_ = {{"base_model.model.other.lora_A.weight", make_tensor("F32", {1, 8}, values(8))},
              {"base_model.model.other.lora_B.weight", make_tensor("F32", {8, 1}, values(8))}};
  EXPECT_ERROR(load(), "tensor \"other.weight\": is missing");
}

TEST_F(LoraTest, OnlyCheckpointsOfTransformersTakeAdapters) {
  load();
  transpose_linears(tiny_.tensors);
  write_bytes(directory_ / "model.pt", pytorch_bytes(tiny_.tensors));
  write_bytes(directory_ / "config.json", R"({"model": {"n_head": 2}})");
  EXPECT_ERROR(open_checkpoint(directory_ / "model.pt", {.activation = {}, .adapters = {{adapter()}}}),
               "is a checkpoint of minGPT, which takes no adapters");
}

}  // namespace
}  // namespace sotto
