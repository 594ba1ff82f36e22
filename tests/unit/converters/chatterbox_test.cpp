// Tests the reader of Chatterbox's language model against the same weights in a checkpoint of transformers.
#include <random>

#include "tests/unit/converters/checkpoint_support.h"

namespace sotto {
namespace {

constexpr uint64_t kWidth = 128, kInner = 256, kTokens = 30, kPositions = 16;

// Returns a model of one layer with the names of transformers.
TinyCheckpoint make_model() {
  std::mt19937 random(1);
  TinyCheckpoint model;
  const auto put = [&](const std::string& name, const std::vector<uint64_t>& shape) {
    std::vector<float> values(shape.size() == 1 ? shape[0] : shape[0] * shape[1]);
    for (float& value : values) value = (static_cast<float>(random() % 129) - 64) / 64;
    model.tensors[name] = make_tensor("F32", shape, values);
  };
  put("transformer.wte.weight", {kTokens, kWidth});
  put("transformer.wpe.weight", {kPositions, kWidth});
  for (const auto& [name, inputs, outputs] :
       {std::tuple{"attn.c_attn", kWidth, 3 * kWidth}, std::tuple{"attn.c_proj", kWidth, kWidth},
        std::tuple{"mlp.c_fc", kWidth, kInner}, std::tuple{"mlp.c_proj", kInner, kWidth}}) {
    put(std::string("transformer.h.0.") + name + ".weight", {inputs, outputs});
    put(std::string("transformer.h.0.") + name + ".bias", {outputs});
  }
  for (const char* name : {"h.0.ln_1", "h.0.ln_2", "ln_f"}) {
    put(std::string("transformer.") + name + ".weight", {kWidth});
    put(std::string("transformer.") + name + ".bias", {kWidth});
  }
  put("lm_head.weight", {kTokens, kWidth});
  put("lm_head.bias", {kTokens});
  model.config = {{"model_type", "gpt2"},
                  {"vocab_size", kTokens},
                  {"n_positions", kPositions},
                  {"n_embd", kWidth},
                  {"n_head", 2},
                  {"n_layer", 1},
                  {"n_inner", kInner},
                  {"bos_token_id", nullptr},
                  {"eos_token_id", 5},
                  {"tie_word_embeddings", false}};
  return model;
}

RawTensors renamed(const RawTensors& tensors) {
  RawTensors result;
  for (const auto& [name, tensor] : tensors) {
    if (name == "transformer.wte.weight") {
      result["speech_emb.weight"] = tensor;
    } else if (name.starts_with("lm_head.")) {
      result["speech_head." + name.substr(8)] = tensor;
    } else {
      result["tfmr." + name.substr(12)] = tensor;
    }
  }
  return result;
}

std::unique_ptr<Checkpoint> open_renamed(const TemporaryDirectory& directory, const RawTensors& tensors) {
  write_bytes(directory / "t3_turbo_v1.safetensors", safetensors_bytes(tensors));
  write_bytes(directory / "ve.safetensors", safetensors_bytes(RawTensors()));
  return open_checkpoint(directory.path());
}

TEST(Chatterbox, GivesTheWeightsOfTransformers) {
  const TinyCheckpoint model = make_model();
  const TemporaryDirectory original, directory;
  model.save(original.path());
  const FloatModel expected = load_float_model(*open_checkpoint(original.path()));
  RawTensors tensors = renamed(model.tensors);
  tensors["text_emb.weight"] = tensors["speech_emb.weight"];
  const auto checkpoint = open_renamed(directory, tensors);
  ASSERT_EQ(checkpoint->notes().size(), 1u);
  EXPECT_TRUE(contains(checkpoint->notes()[0], "\"text_emb.weight\" is not used"));
  EXPECT_EQ(checkpoint->info().head_kind, HeadKind::kBiased);
  EXPECT_EQ(checkpoint->info().end_of_text_token, -1);
  const FloatModel found = load_float_model(*checkpoint);
  EXPECT_EQ(found.shape.head_count, 2u);
  EXPECT_EQ(found.shape.feed_forward_size, kInner);
  EXPECT_EQ(found.token_embedding, expected.token_embedding);
  EXPECT_EQ(found.positions, expected.positions);
  EXPECT_EQ(found.layers[0].attention_qkv.weights, expected.layers[0].attention_qkv.weights);
  EXPECT_EQ(found.layers[0].feed_forward_down.weights, expected.layers[0].feed_forward_down.weights);
  EXPECT_EQ(found.head->weights, expected.head->weights);
  EXPECT_EQ(found.head->bias, expected.head->bias);
}

TEST(Chatterbox, RejectsTensorsThatDoNotFit) {
  const RawTensors tensors = renamed(make_model().tensors);
  const TemporaryDirectory directory;
  for (const char* missing : {"speech_head.weight", "tfmr.ln_f.bias", "tfmr.h.0.mlp.c_fc.weight"}) {
    RawTensors damaged = tensors;
    damaged.erase(missing);
    EXPECT_ERROR(open_renamed(directory, damaged), missing);
  }
  RawTensors damaged = tensors;
  damaged["speech_head.weight"] = make_tensor("F32", {kWidth}, std::vector<float>(kWidth));
  EXPECT_ERROR(open_renamed(directory, damaged), "speech_head.weight");
  damaged["speech_head.weight"] = make_tensor("F32", {3, kWidth}, std::vector<float>(size_t{3} * kWidth));
  EXPECT_ERROR(open_renamed(directory, damaged), "the head has 3 outputs and the token embedding");
}

}  // namespace
}  // namespace sotto
