#include "converters/readers/checkpoint.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "converters/quantize/float_forward.h"
#include "tests/unit/converters/checkpoint_support.h"

namespace sotto {
namespace {

using nlohmann::json;

std::vector<float> floats_of(const RawTensor& tensor) {
  std::vector<float> values(tensor.bytes.size() / sizeof(float));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

class HuggingFaceTest : public testing::Test {
 protected:
  std::unique_ptr<Checkpoint> open() const {
    tiny_.save(directory_.path());
    return open_checkpoint(directory_.path());
  }
  FloatModel load() const { return load_float_model(*open()); }
  std::vector<float> raw(const std::string& name) const { return floats_of(tiny_.tensors.at("transformer." + name)); }
  std::string config_error(const char* key, const json& value) {
    const json before = tiny_.config;
    tiny_.config[key] = value;
    const std::string message = error_of([&] { open(); });
    tiny_.config = before;
    return message;
  }

  TemporaryDirectory directory_;
  TinyCheckpoint tiny_ = make_tiny_checkpoint();
};

void expect_equal(const FloatModel& a, const FloatModel& b) {
  EXPECT_EQ(a.positions, b.positions);
  EXPECT_EQ(a.token_embedding, b.token_embedding);
  ASSERT_EQ(a.layers.size(), b.layers.size());
  for (size_t i = 0; i < a.layers.size(); ++i) {
    EXPECT_EQ(a.layers[i].attention_norm.gain, b.layers[i].attention_norm.gain);
    EXPECT_EQ(a.layers[i].attention_qkv.weights, b.layers[i].attention_qkv.weights);
    EXPECT_EQ(a.layers[i].attention_qkv.bias, b.layers[i].attention_qkv.bias);
    EXPECT_EQ(a.layers[i].attention_output.weights, b.layers[i].attention_output.weights);
    EXPECT_EQ(a.layers[i].feed_forward_norm.bias, b.layers[i].feed_forward_norm.bias);
    EXPECT_EQ(a.layers[i].feed_forward_up.weights, b.layers[i].feed_forward_up.weights);
    EXPECT_EQ(a.layers[i].feed_forward_down.weights, b.layers[i].feed_forward_down.weights);
  }
  EXPECT_EQ(a.final_norm.gain, b.final_norm.gain);
}

TEST_F(HuggingFaceTest, ReadsShapeAndTensors) {
  const FloatModel model = load();
  EXPECT_EQ(model.name, directory_.path().filename().string());
  EXPECT_EQ(model.shape.vocabulary_size, 11u);
  EXPECT_EQ(model.shape.position_count, 6u);
  EXPECT_EQ(model.shape.embedding_size, 8u);
  EXPECT_EQ(model.shape.head_count, 2u);
  EXPECT_EQ(model.shape.feed_forward_size, 16u);
  EXPECT_EQ(model.shape.layer_count, 2u);
  EXPECT_EQ(model.activation, Activation::kGeluTanh);
  EXPECT_EQ(model.norm_epsilon, 1e-5f);
  EXPECT_EQ(model.end_of_text_token, 10);
  EXPECT_FALSE(model.head.has_value());
  EXPECT_EQ(model.token_embedding, raw("wte.weight"));
  EXPECT_EQ(model.positions, raw("wpe.weight"));
  EXPECT_EQ(model.layers[1].attention_norm.gain, raw("h.1.ln_1.weight"));
  EXPECT_EQ(model.layers[1].attention_norm.bias, raw("h.1.ln_1.bias"));
  EXPECT_EQ(model.layers[0].feed_forward_norm.gain, raw("h.0.ln_2.weight"));
  EXPECT_EQ(model.layers[0].feed_forward_down.bias, raw("h.0.mlp.c_proj.bias"));
  EXPECT_EQ(model.final_norm.bias, raw("ln_f.bias"));
}

TEST_F(HuggingFaceTest, TransposesLinearLayers) {
  const FloatModel model = load();
  const auto check = [&](const FloatLinear& linear, const std::string& name, uint32_t inputs, uint32_t outputs) {
    ASSERT_EQ(linear.inputs, inputs);
    ASSERT_EQ(linear.outputs, outputs);
    const std::vector<float> stored = raw(name + ".weight");
    for (uint32_t o = 0; o < outputs; ++o) {
      for (uint32_t i = 0; i < inputs; ++i) {
        ASSERT_EQ(linear.weights[o * inputs + i], stored[i * outputs + o]) << name;
      }
    }
    EXPECT_EQ(linear.bias, raw(name + ".bias"));
  };
  check(model.layers[1].attention_qkv, "h.1.attn.c_attn", 8, 24);
  check(model.layers[1].attention_output, "h.1.attn.c_proj", 8, 8);
  check(model.layers[1].feed_forward_up, "h.1.mlp.c_fc", 8, 16);
  check(model.layers[1].feed_forward_down, "h.1.mlp.c_proj", 16, 8);
}

TEST_F(HuggingFaceTest, ReadsEveryTypeAlikeWithAndWithoutPrefix) {
  const FloatModel expected = load();
  for (const char* type : {"F16", "BF16", "F64"}) {
    tiny_ = make_tiny_checkpoint(type, "");
    expect_equal(load(), expected);
  }
}

TEST_F(HuggingFaceTest, ReadsShards) {
  const FloatModel expected = load();
  std::filesystem::remove(directory_ / "model.safetensors");
  RawTensors shards[2];
  json weight_map;
  size_t next = 0;
  for (const auto& [name, tensor] : tiny_.tensors) {
    shards[next % 2][name] = tensor;
    weight_map[name] = "model-" + std::to_string(next++ % 2) + ".safetensors";
  }
  for (size_t i = 0; i < 2; ++i) {
    write_bytes(directory_ / ("model-" + std::to_string(i) + ".safetensors"), safetensors_bytes(shards[i]));
  }
  write_bytes(directory_ / "model.safetensors.index.json", json({{"weight_map", weight_map}}).dump());
  expect_equal(load_float_model(*open_checkpoint(directory_.path())), expected);
}

TEST_F(HuggingFaceTest, RecognizesTheKindOfHead) {
  EXPECT_EQ(open()->info().head_kind, HeadKind::kTied);
  const RawTensor embedding = tiny_.tensors["transformer.wte.weight"];

  tiny_.tensors["lm_head.weight"] = embedding;
  tiny_.config["tie_word_embeddings"] = false;
  EXPECT_EQ(open()->info().head_kind, HeadKind::kTied);

  RawTensor other = embedding;
  other.bytes[other.bytes.size() - 2] ^= 1;
  tiny_.tensors["lm_head.weight"] = other;
  for (const bool tied : {false, true}) {
    tiny_.config["tie_word_embeddings"] = tied;
    EXPECT_EQ(open()->info().head_kind, HeadKind::kPlain);
    EXPECT_EQ(load().head->weights, floats_of(other));
    EXPECT_TRUE(load().head->bias.empty());
    const std::vector<std::string> notes = open()->notes();
    EXPECT_EQ(notes.size(), tied ? 1u : 0u);
    for (const std::string& note : notes) {
      EXPECT_PRED2(contains, note, "\"tie_word_embeddings\" is true");
    }
  }

  tiny_.tensors["lm_head.bias"] = make_tensor("F32", {11}, std::vector<float>(11, 0.5f));
  EXPECT_EQ(open()->info().head_kind, HeadKind::kBiased);
  EXPECT_EQ(load().head->weights, floats_of(other));
  EXPECT_EQ(load().head->bias, std::vector<float>(11, 0.5f));

  tiny_.tensors.erase("lm_head.weight");
  EXPECT_EQ(load().head->weights, floats_of(embedding));

  tiny_.config["tie_word_embeddings"] = false;
  EXPECT_ERROR(open(), "tensor \"lm_head.weight\": is missing");
}

TEST_F(HuggingFaceTest, FoldsAttentionScalesIntoQueries) {
  const FloatModel plain = load();
  const auto check = [&](bool scaled, bool by_layer) {
    tiny_.config["scale_attn_weights"] = scaled;
    tiny_.config["scale_attn_by_inverse_layer_idx"] = by_layer;
    const FloatModel model = load();
    for (size_t layer = 0; layer < 2; ++layer) {
      double scale = scaled ? 1 : 2;  // sqrt of the head size, 4
      if (by_layer) scale /= static_cast<double>(layer + 1);
      const FloatLinear& before = plain.layers[layer].attention_qkv;
      const FloatLinear& after = model.layers[layer].attention_qkv;
      for (size_t i = 0; i < before.weights.size(); ++i) {
        ASSERT_EQ(after.weights[i], before.weights[i] * (i < 8 * 8 ? scale : 1));
      }
      for (size_t i = 0; i < before.bias.size(); ++i) {
        ASSERT_EQ(after.bias[i], before.bias[i] * (i < 8 ? scale : 1));
      }
    }
  };
  check(true, true);
  check(false, false);
  check(false, true);

  tiny_.config["scale_attn_weights"] = false;
  RawTensor& bias = tiny_.tensors["transformer.h.0.attn.c_attn.bias"];
  bias = make_tensor("F32", {24}, std::vector<float>(24, 3e38f));
  EXPECT_ERROR(load(), "h.0.attn.c_attn.bias\": a value is too large for the factor 2.0");
}

TEST_F(HuggingFaceTest, ReadsTheActivation) {
  const std::pair<const char*, Activation> activations[] = {{"gelu_new", Activation::kGeluTanh},
                                                            {"gelu_pytorch_tanh", Activation::kGeluTanh},
                                                            {"gelu_fast", Activation::kGeluTanh},
                                                            {"gelu", Activation::kGeluErf},
                                                            {"relu", Activation::kRelu},
                                                            {"silu", Activation::kSilu},
                                                            {"swish", Activation::kSilu},
                                                            {"tanh", Activation::kTanh},
                                                            {"quick_gelu", Activation::kQuickGelu},
                                                            {"relu2", Activation::kSquaredRelu}};
  for (const auto& [name, activation] : activations) {
    tiny_.config["activation_function"] = name;
    EXPECT_EQ(open()->info().activation, activation) << name;
  }
  EXPECT_PRED2(contains, config_error("activation_function", "leaky_relu"),
               "is \"leaky_relu\"; supported are gelu_new");
}

// Returns the tensors of a GPT-2 with the names and shapes that OPT and BioGPT have.
RawTensors fairseq_tensors(const RawTensors& tensors, const std::string& prefix, const std::string& final_norm) {
  const std::pair<const char*, std::string> names[] = {{"transformer.h.", prefix + "layers."},
                                                       {"transformer.wte", prefix + "embed_tokens"},
                                                       {"transformer.wpe", prefix + "embed_positions"},
                                                       {"transformer.ln_f", prefix + final_norm},
                                                       {"ln_1", "self_attn_layer_norm"},
                                                       {"ln_2", "final_layer_norm"},
                                                       {"attn.c_proj", "self_attn.out_proj"},
                                                       {"mlp.c_fc", "fc1"},
                                                       {"mlp.c_proj", "fc2"}};
  RawTensors result;
  for (const auto& [gpt2_name, gpt2_tensor] : tensors) {
    std::string name = gpt2_name;
    RawTensor tensor = gpt2_tensor;
    const bool is_layer = name.find(".h.") != std::string::npos;
    if (is_layer && tensor.shape.size() == 2) tensor = transpose(tensor);
    if (name == "transformer.wpe.weight") {
      tensor.bytes = std::string(2 * tensor.bytes.size() / tensor.shape[0], 'x') + tensor.bytes;
      tensor.shape[0] += 2;
    }
    for (const auto& [ours, theirs] : names) {
      if (const size_t at = name.find(ours); at != std::string::npos) {
        name.replace(at, std::string_view(ours).size(), theirs);
      }
    }
    const size_t fused = name.find("attn.c_attn");
    if (fused == std::string::npos) {
      result[name] = tensor;
      continue;
    }
    const size_t size = tensor.bytes.size() / 3;
    tensor.shape[0] /= 3;
    for (size_t part = 0; part < 3; ++part) {
      std::string part_name = name;
      part_name.replace(fused, 11, std::string("self_attn.") + "qkv"[part] + "_proj");
      result[part_name] = {tensor.type, tensor.shape, tensor.bytes.substr(part * size, size)};
    }
  }
  return result;
}

TEST_F(HuggingFaceTest, OptIsAGpt2WithOtherNames) {
  const FloatModel expected = load();
  const RawTensors gpt2 = tiny_.tensors;
  tiny_.config = {{"model_type", "opt"},    {"vocab_size", 11},   {"max_position_embeddings", 6},
                  {"hidden_size", 8},       {"ffn_dim", 16},      {"num_attention_heads", 2},
                  {"num_hidden_layers", 2}, {"eos_token_id", 10}, {"activation_function", "gelu_new"}};
  for (const char* prefix : {"model.decoder.", "decoder."}) {
    tiny_.tensors = fairseq_tensors(gpt2, prefix, "final_layer_norm");
    expect_equal(load(), expected);
  }
  EXPECT_PRED2(contains, config_error("do_layer_norm_before", false), "norms after its blocks, as OPT-350M");
  EXPECT_PRED2(contains, config_error("word_embed_proj_dim", 4), "projected embeddings are not supported");
  tiny_.tensors.erase("decoder.layers.0.fc1.bias");
  EXPECT_ERROR(open(), "\"decoder.layers.0.fc1.bias\": is missing");
  tiny_.config["enable_bias"] = false;
  EXPECT_EQ(load().layers[0].feed_forward_up.bias, std::vector<float>(16));
  tiny_.config.erase("activation_function");
  EXPECT_EQ(load().activation, Activation::kRelu);
}

TEST_F(HuggingFaceTest, BioGptScalesItsEmbeddings) {
  FloatModel expected = load();
  const std::vector<float> head = expected.token_embedding;
  for (float& value : expected.token_embedding) value = static_cast<float>(value * std::sqrt(8.0));
  tiny_.config = {{"model_type", "biogpt"}, {"vocab_size", 11},        {"max_position_embeddings", 6},
                  {"hidden_size", 8},       {"intermediate_size", 16}, {"num_attention_heads", 2},
                  {"num_hidden_layers", 2}, {"eos_token_id", 10}};
  tiny_.tensors = fairseq_tensors(tiny_.tensors, "biogpt.", "layer_norm");
  const FloatModel model = load();
  expect_equal(model, expected);
  EXPECT_EQ(model.activation, Activation::kGeluErf);
  ASSERT_TRUE(model.head.has_value());
  EXPECT_EQ(model.head->weights, head);
}

TEST_F(HuggingFaceTest, OtherArchitecturesAreNamedWithTheReason) {
  for (const auto& [type, reason] :
       std::initializer_list<std::pair<const char*, const char*>>{{"nanochat", "RMSNorm"},
                                                                  {"gpt_neo", "local attention"},
                                                                  {"gptj", "rotary"},
                                                                  {"gpt_neox", "parallel blocks"},
                                                                  {"gpt_bigcode", "multi-query"},
                                                                  {"jais", "ALiBi"},
                                                                  {"btlm", "ALiBi"},
                                                                  {"openai-gpt", "after the blocks"}}) {
    EXPECT_PRED2(contains, config_error("model_type", type), reason);
  }
}

TEST_F(HuggingFaceTest, ReadsEndOfTextTokens) {
  const auto token_of = [&](const json& value) {
    tiny_.config["eos_token_id"] = value;
    return open()->info().end_of_text_token;
  };
  EXPECT_EQ(token_of(3), 3);
  EXPECT_EQ(token_of(json::array({4, 5, 4, 6})), 4);
  EXPECT_EQ(open()->info().other_end_of_text_tokens, (std::vector<int32_t>{5, 6}));
  EXPECT_TRUE(open()->notes().empty());
  EXPECT_EQ(token_of(json::array()), -1);
  EXPECT_EQ(token_of(nullptr), -1);
  EXPECT_EQ(token_of(11), -1);
  EXPECT_NE(open()->notes().at(0).find("11 is outside the vocabulary"), std::string::npos);
  EXPECT_EQ(token_of(-1), -1);
  EXPECT_NE(config_error("eos_token_id", "x").find("is not a token id"), std::string::npos);
  tiny_.config["vocab_size"] = 100;
  std::vector<int32_t> many(65);
  std::iota(many.begin(), many.end(), 0);
  EXPECT_PRED2(contains, config_error("eos_token_id", many),
               "config.json: \"eos_token_id\" makes the end-of-text tokens 65; a model can have at most 64");
  tiny_.config["vocab_size"] = 11;
  tiny_.config.erase("eos_token_id");
  EXPECT_EQ(open()->info().end_of_text_token, -1);
}

class DescriptionTest : public HuggingFaceTest {
 protected:
  void write(const char* name, const std::string& text) { write_bytes(directory_ / name, text); }
  RecommendedSampling sampling(const char* generation_config) {
    write("generation_config.json", generation_config);
    return open()->info().sampling;
  }
};

TEST_F(DescriptionTest, ReadsTheFilesNextToTheConfiguration) {
  EXPECT_EQ(open()->info().sampling, RecommendedSampling());
  EXPECT_EQ(open()->info().license + open()->info().chat_template, "");
  write("generation_config.json", R"({"eos_token_id": [7, 10, 3], "temperature": 0.7})");
  write("tokenizer_config.json", R"({"chat_template": "{{ a }}"})");
  write("README.md", "---\nlanguage: en\nlicense: 'apache-2.0'\r\n---\nlicense: none\n");
  CheckpointInfo info = open()->info();
  EXPECT_EQ(info.end_of_text_token, 10);
  EXPECT_EQ(info.other_end_of_text_tokens, (std::vector<int32_t>{7, 3}));
  EXPECT_EQ(info.chat_template, "{{ a }}");
  EXPECT_EQ(info.license, "apache-2.0");
  write("tokenizer_config.json", R"({"chat_template": [{"name": "tools", "template": "t"},
                                                      {"name": "default", "template": "d"}]})");
  write("README.md", "---\nlicense: other\nlicense_name: my-own\n---\n");
  info = open()->info();
  EXPECT_EQ(info.chat_template, "d");
  EXPECT_EQ(info.license, "my-own");
  const std::string loop = "{% for m in messages %}{{ m.role + ': ' + m.content + eos_token }}{% endfor %}";
  write("chat_template.jinja", loop + "{% if add_generation_prompt %}assistant: {% endif %}");
  write("special_tokens_map.json", R"({"eos_token": {"content": "<|end|>"}})");
  write("README.md", "# No card\nlicense: mit\n");
  info = open()->info();
  EXPECT_TRUE(info.chat_template.starts_with(loop));
  EXPECT_EQ(info.chat_format,
            "system: {system}<|end|>{|}user: {user}<|end|>{|}assistant: {assistant}<|end|>{|}tool: {tool}<|end|>");
  EXPECT_EQ(info.license, "");
  EXPECT_TRUE(open()->notes().empty());
  write("chat_template.jinja", "from the file");
  EXPECT_EQ(open()->info().chat_format, "");
  EXPECT_PRED2(contains, open()->notes().at(0), "chat_template is stored, but the model gets no chat format");
  write("README.md", "---\nlicense: mit\n---\n" + std::string(1 << 20, '.'));
  EXPECT_EQ(open()->info().license, "");
  EXPECT_PRED2(contains, open()->notes().at(1), "README.md has more than 1048576 bytes");
}

TEST_F(DescriptionTest, SamplingParametersMeanWhatTheyMeanInTransformers) {
  EXPECT_EQ(sampling(R"({"eos_token_id": 10, "max_length": 50})"), RecommendedSampling());
  EXPECT_EQ(sampling(R"({"do_sample": false, "repetition_penalty": 1.5})"),
            (RecommendedSampling{.temperature = 0.0f, .repetition_penalty = 1.5f, .repetition_window = UINT32_MAX}));
  EXPECT_EQ(sampling(R"({"do_sample": true})"),
            (RecommendedSampling{.temperature = 1.0f, .top_k = 50, .top_p = 1.0f, .min_p = 0.0f}));
  EXPECT_EQ(
      sampling(R"({"top_p": 0.5, "top_k": 0, "typical_p": 0.25, "no_repeat_ngram_size": 3})"),
      (RecommendedSampling{
          .temperature = 1.0f, .top_k = 0, .top_p = 0.5f, .min_p = 0.0f, .typical_p = 0.25f, .no_repeat_ngram = 3}));
}

TEST_F(DescriptionTest, ErrorsNameTheFileAndTheMember) {
  EXPECT_ERROR(sampling(R"({"top_p": 1.5})"), "generation_config.json: top_p is 1.5; it must be greater than 0");
  EXPECT_ERROR(sampling(R"({"temperature": "hot"})"), "generation_config.json: \"temperature\" is not a number");
  EXPECT_ERROR(sampling("[]"), "generation_config.json");
  write("generation_config.json", "{}");
  write("tokenizer_config.json", R"({"chat_template": [{"name": "default"}]})");
  EXPECT_ERROR(open(), "\"chat_template\" has an entry without a name or a template");
  write("chat_template.jinja", "a\xff");
  EXPECT_ERROR(open(), "chat_template.jinja: is not UTF-8 at byte 1");
}

TEST_F(HuggingFaceTest, RejectsWrongConfigs) {
  struct Case {
    const char* key;
    json value;
    const char* part;
  };
  const Case cases[] = {
      {"model_type", "llama", "\"model_type\" is \"llama\"; only \"gpt2\", \"opt\" and \"biogpt\" are supported"},
      {"model_type", nullptr, "\"model_type\" is \"\""},
      {"add_cross_attention", true, "cross attention is not supported"},
      {"n_head", 3, "the embedding size 8 is not a multiple of the 3 heads"},
      {"n_head", 0, "the number of heads is 0"},
      {"n_layer", 0, "the number of layers is 0"},
      {"n_layer", -1, "\"n_layer\" is -1, not a count"},
      {"n_layer", 2.5, "\"n_layer\" is 2.5, not a count"},
      {"n_layer", "2", "not a count"},
      {"n_layer", (uint64_t{1} << 63) + 2, "\"n_layer\" is 9223372036854775810, not a count"},
      {"n_embd", uint64_t{1} << 40, "not a count"},
      {"n_embd", 2147483647, "\"n_embd\" is too large"},
      {"vocab_size", 12, "its shape is (11, 8), by config.json it should be (12, 8)"},
      {"n_positions", 7, "its shape is (6, 8), by config.json it should be (7, 8)"},
      {"n_inner", 17, "h.0.mlp.c_fc.weight\": its shape is (8, 16)"},
      {"layer_norm_epsilon", 0, "\"layer_norm_epsilon\" is 0, not a number in (0, 1]"},
      {"layer_norm_epsilon", "x", "is not a number"},
      {"tie_word_embeddings", 1, "is neither true nor false"},
      {"n_layer", 1, "does not belong to a GPT-2 with the 1 layers"},
      {"n_layer", 3, "h.2.ln_1.weight\": is missing"},
      {"activation_function", 1, "is not a string"}};
  for (const Case& wrong : cases) {
    const std::string message = config_error(wrong.key, wrong.value);
    EXPECT_NE(message.find(wrong.part), std::string::npos) << wrong.part << "\n" << message;
  }
}

TEST_F(HuggingFaceTest, HasTheLimitsOfTheRuntime) {
  EXPECT_PRED2(contains, config_error("vocab_size", (1 << 22) + 1), "the vocabulary size is 4194305; it must be");
  EXPECT_PRED2(contains, config_error("n_positions", (1 << 20) + 1), "the number of positions is 1048577; it must be");
  EXPECT_PRED2(contains, config_error("n_layer", 1025), "the number of layers is 1025; it must be");
  tiny_.config["n_embd"] = 514;
  EXPECT_ERROR(open(), "the head size is 257; it must be from 1 to 256");
}

TEST_F(HuggingFaceTest, RejectsWrongTensors) {
  const TinyCheckpoint whole = tiny_;
  for (const auto& [name, tensor] : whole.tensors) {
    tiny_ = whole;
    tiny_.tensors.erase(name);
    const std::string message = error_of([&] { open(); });
    EXPECT_NE(message.find("is missing"), std::string::npos) << name << "\n" << message;

    tiny_ = whole;
    tiny_.tensors[name].type = "I32";
    EXPECT_ERROR(open(), "tensor \"" + name + "\": its dtype is I32");

    tiny_ = whole;
    tiny_.tensors[name].shape.push_back(1);
    EXPECT_ERROR(open(), "tensor \"" + name + "\": its shape is");

    tiny_ = whole;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(tiny_.tensors[name].bytes.data() + 4, &nan, sizeof nan);
    EXPECT_ERROR(load(), "tensor \"" + name + "\": element 1 is not a finite");
  }
}

TEST_F(HuggingFaceTest, IgnoresTensorsThatAreNotWeights) {
  tiny_.tensors["transformer.h.0.attn.bias"] = {"BOOL", {1, 1, 2, 2}, std::string(4, 1)};
  tiny_.tensors["transformer.h.1.attn.masked_bias"] = make_tensor("F32", {}, {-1e4f});
  EXPECT_TRUE(open()->notes().empty());
  tiny_.tensors["v_head.summary.weight"] = make_tensor("F32", {1}, {1});
  EXPECT_EQ(open()->notes(), std::vector<std::string>{"tensor \"v_head.summary.weight\" is not used"});
  tiny_.tensors["transformer.h.1.crossattention.c_attn.weight"] = make_tensor("F32", {1}, {1});
  EXPECT_ERROR(open(), "cross attention is not supported");
  tiny_ = make_tiny_checkpoint();
  tiny_.tensors["score.weight"] = make_tensor("F32", {1}, {1});
  EXPECT_ERROR(open(), "\"score.weight\": this is the head of a reward or classification model");
}

// The logits of the ids after the vocabulary are the products of the head's rows and the last hidden state.
TEST_F(HuggingFaceTest, TheScoreOfARewardModelIsKeptOnRequest) {
  const std::vector<uint64_t> shape = {2, 8};
  std::vector<float> rows(16);
  std::iota(rows.begin(), rows.end(), -7.0f);
  for (float& value : rows) value /= 32;
  tiny_.tensors["score.weight"] = make_tensor("F32", shape, rows);
  tiny_.save(directory_.path());
  ReadOptions options;
  options.keeps_score = true;
  const FloatModel model = load_float_model(*open_checkpoint(directory_.path(), options));
  EXPECT_EQ(model.reward_count, 2u);
  EXPECT_EQ(model.shape.vocabulary_size, 13u);
  EXPECT_EQ(model.head_kind, HeadKind::kTied);
  EXPECT_EQ(std::vector<float>(model.token_embedding.end() - 16, model.token_embedding.end()), rows);
  FloatActivations activations;
  const std::vector<float> logits = float_forward(model, std::vector<int32_t>{3, 1, 4}, 1, &activations);
  const std::vector<float>& hidden = activations.final_norm;
  EXPECT_NEAR(logits.back(), std::inner_product(rows.end() - 8, rows.end(), hidden.end() - 8, 0.0f), 1e-5f);

  tiny_.tensors["score.weight"] = make_tensor("F32", {2, 7}, std::vector<float>(14));
  tiny_.save(directory_.path());
  EXPECT_ERROR(open_checkpoint(directory_.path(), options), "its shape is (2, 7), by config.json it should be (2, 8)");
  tiny_.tensors["score.weight"] = make_tensor("F32", shape, rows);
  tiny_.tensors["lm_head.weight"] = make_tensor("F32", {11, 8}, std::vector<float>(88, 1));
  tiny_.save(directory_.path());
  EXPECT_ERROR(open_checkpoint(directory_.path(), options), "a reward model with another head");
  tiny_ = make_tiny_checkpoint();
  tiny_.save(directory_.path());
  EXPECT_ERROR(open_checkpoint(directory_.path(), options), "\"score.weight\": is missing");
}

TEST_F(HuggingFaceTest, OtherDirectoriesAreRejected) {
  EXPECT_ERROR(open_checkpoint(directory_.path()), "transformers (config.json with model.safetensors or");
  EXPECT_ERROR(open_checkpoint(directory_ / "absent"), "no such file or directory");
  write_bytes(directory_ / "config.json", "{}");
  EXPECT_ERROR(open_checkpoint(directory_ / "config.json"), "transformers (config.json with model.safetensors or");
  EXPECT_ERROR(open_checkpoint(directory_.path()), "transformers (config.json with model.safetensors or");
  tiny_.save(directory_.path());
  for (const char* text : {"", "[]", "{\"n_layer\":2,\"n_layer\":2}", "nonsense"}) {
    write_bytes(directory_ / "config.json", text);
    EXPECT_ERROR(open_checkpoint(directory_.path()), "config.json: ");
  }
}

}  // namespace
}  // namespace sotto
