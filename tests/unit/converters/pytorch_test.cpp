#include "converters/tensors/pytorch.h"

#include <chrono>

#include "converters/model_writer.h"

#include "tests/unit/converters/pytorch_support.h"

namespace sotto {
namespace {

class PytorchTest : public testing::Test {
 protected:
  PytorchFile open(const std::string& bytes) {
    write_bytes(file(), bytes);
    return PytorchFile(file());
  }
  // Opens an archive whose object is a dict with a member "w".
  PytorchFile open_value(const std::string& value, const std::vector<std::string>& storages = {}) {
    return open(pytorch_zip_bytes(pickle_of(pickle_dict({{"w", value}})), storages));
  }
  std::filesystem::path file() const { return directory_ / "x.pt"; }

  static RawTensors tensors(const std::string& type = "F32") {
    return {{"a", make_tensor(type, {3}, {1, -2, 0.5f})}, {"b", make_tensor(type, {2, 2}, {0, 3, -0.25f, 1024})}};
  }
  // Six floats, 0 to 5.
  static std::string six() { return make_tensor("F32", {6}, {0, 1, 2, 3, 4, 5}).bytes; }

  TemporaryDirectory directory_;
};

TEST_F(PytorchTest, ReadsEveryFloatTypeInBothFormats) {
  for (const char* type : {"F32", "F16", "BF16", "F64"}) {
    for (const std::string& bytes : {pytorch_bytes(tensors(type)), legacy_pytorch_bytes(tensors(type))}) {
      const PytorchFile file = open(bytes);
      EXPECT_EQ(file.tensors().size(), 2u);
      EXPECT_EQ(file.tensors().at("b").shape, (std::vector<uint64_t>{2, 2}));
      EXPECT_EQ(file.tensors().at("b").type_name, type);
      EXPECT_EQ(file.read("a", 0, 3), (std::vector<float>{1, -2, 0.5f}));
      EXPECT_EQ(file.read("b", 1, 2), (std::vector<float>{3, -0.25f}));
    }
  }
}

TEST_F(PytorchTest, NestedDictsJoinTheirKeys) {
  const PytorchFile file = open(pytorch_bytes(tensors(), {{"iter_num", pickle_integer(7)}}));
  EXPECT_EQ(file.read("model.a", 0, 3), (std::vector<float>{1, -2, 0.5f}));
  EXPECT_EQ(settings_of(file.root())["iter_num"], 7);
}

TEST_F(PytorchTest, ReadsViewsAndSharedStorages) {
  const SavedTensor transposed = {.storage_count = 6, .shape = {3, 2}, .strides = {1, 3}};
  const PytorchFile view = open_value(pickle_tensor(transposed), {six()});
  EXPECT_EQ(view.read("w", 0, 6), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(view.read("w", 3, 2), (std::vector<float>{4, 2}));
  const SavedTensor column = {.storage_count = 6, .offset = 1, .shape = {2, 1}, .strides = {3, 1}};
  EXPECT_EQ(open_value(pickle_tensor(column), {six()}).read("w", 0, 2), (std::vector<float>{1, 4}));
  const SavedTensor whole = {.storage_count = 6, .shape = {6}, .strides = {1}};
  const PytorchFile shared = open(
      pytorch_zip_bytes(pickle_of(pickle_dict({{"a", pickle_tensor(whole)}, {"b", pickle_tensor(column)}})), {six()}));
  EXPECT_EQ(shared.read("a", 4, 1), shared.read("b", 1, 1));
}

TEST_F(PytorchTest, ReadsParameters) {
  const std::string tensor = pickle_tensor({.storage_count = 6, .shape = {6}, .strides = {1}});
  const std::string parameter = pickle_call("torch._utils", "_rebuild_parameter", tensor + "\x88" + "}");
  EXPECT_EQ(open_value(parameter, {six()}).read("w", 5, 1), std::vector<float>{5});
}

TEST_F(PytorchTest, RejectsTensorsOutsideTheirStorage) {
  const SavedTensor fits = {.storage_count = 6, .shape = {2, 3}, .strides = {3, 1}};
  SavedTensor wrong = fits;
  wrong.offset = 1;
  EXPECT_ERROR(open_value(pickle_tensor(wrong), {six()}), "tensor \"w\": it reaches to element 7 of a storage of 6");
  wrong = fits;
  wrong.strides = {uint64_t{1} << 62, 1};
  EXPECT_ERROR(open_value(pickle_tensor(wrong), {six()}), "it reaches to element 4611686018427387907");
  wrong.strides = {(uint64_t{1} << 63) - 1, (uint64_t{1} << 63) - 1};
  EXPECT_ERROR(open_value(pickle_tensor(wrong), {six()}), "it reaches to element 18446744073709551615");
  wrong = fits;
  wrong.shape = {uint64_t{1} << 62, 3};
  EXPECT_ERROR(open_value(pickle_tensor(wrong), {six()}), "its shape is too large");
  wrong.shape = {uint64_t{1} << 40, 3};
  wrong.strides = {0, 1};
  EXPECT_ERROR(open_value(pickle_tensor(wrong), {six()}), "3298534883328 elements repeat those of a storage of 6");
  wrong = fits;
  wrong.strides = {1};
  EXPECT_ERROR(open_value(pickle_tensor(wrong), {six()}), "its shape and its strides differ in number");
  wrong = fits;
  wrong.key = "1";
  EXPECT_ERROR(open_value(pickle_tensor(wrong), {six()}), "the data of storage \"1\" is missing");
  wrong = fits;
  wrong.storage_type = "Size";
  EXPECT_ERROR(open_value(pickle_tensor(wrong), {six()}), "its type is \"torch.Size\"");
}

TEST_F(PytorchTest, CodeInPicklesIsNamedAndNotCalled) {
  const std::string system = pickle_call("os", "system", pickle_text("touch called"));
  EXPECT_ERROR(open_value(system), "it refers to \"os.system\", which is not a part of a checkpoint's tensors");
  const std::string eval = pickle_text("builtins") + pickle_text("eval") + "\x93(" + pickle_text("1") + "tR";
  EXPECT_ERROR(open_value(eval), "it refers to \"builtins.eval\"");
  const std::string nested = pickle_call("torch._utils", "_rebuild_parameter", eval + "\x88" + "}");
  EXPECT_ERROR(open_value(nested), "it refers to \"builtins.eval\"");
  EXPECT_ERROR(open_value("i__main__\nGPT\n"), "opcode 0x69 is not supported");
  EXPECT_ERROR(open_value(pickle_call("torch.nn", "Linear", "")), "save its state_dict()");
  RawTensors plain = tensors();
  std::string legacy = legacy_pytorch_bytes(plain);
  const size_t at = legacy.find("torch._utils\n_rebuild_tensor_v2");
  legacy.replace(at, 31, "torch._utils\n_rebuild_tensor_v9");
  EXPECT_ERROR(open(legacy), "it refers to \"torch._utils._rebuild_tensor_v9\"");
}

TEST_F(PytorchTest, BombsEndWithAnErrorOrQuickly) {
  const auto start = std::chrono::steady_clock::now();
  // Each dict has the previous one under several keys.
  const auto bomb = [](char depth, char last_key) {
    std::string value =
        "}q\x01"
        "0";
    for (char i = 1; i <= depth; ++i) {
      value += "}(";
      for (char key = 'a'; key <= last_key; ++key) value += pickle_text(std::string(1, key)) + "h" + i;
      value += std::string("uq") + static_cast<char>(i + 1) + "0";
    }
    return value + "h" + static_cast<char>(depth + 1);
  };
  EXPECT_ERROR(open_value(bomb(40, 'b')), "nested too deeply");
  EXPECT_ERROR(open_value(bomb(12, 'z')), "its dicts have too many items");
  EXPECT_ERROR(open_value(std::string(3'000'000, ']')), "it has more than 1048576 values");
  const std::string deep = std::string(500'000, ']') + std::string(499'999, 'a');
  EXPECT_EQ(open_value(deep).tensors().size(), 0u);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 20);
}

TEST_F(PytorchTest, RejectsDamagedPickles) {
  EXPECT_ERROR(open(pytorch_zip_bytes("\x80\x06.", {})), "protocol 6 is not supported");
  EXPECT_ERROR(open(pytorch_zip_bytes(".", {})), "it ends with 0 values, not one");
  EXPECT_ERROR(open_value("h\x05"), "memo 5 does not exist");
  EXPECT_ERROR(open_value("t"), "a mark is missing");
  EXPECT_ERROR(open_value(""), "a key has no value");
  EXPECT_ERROR(open_value("R"), "a value is missing");
  EXPECT_ERROR(open_value("X\xff\xff\xff\xff"), "the pickle ends within a value");
  EXPECT_ERROR(open_value("N(K\1e"), "items are added to a value of another type");
  const std::string whole =
      pickle_of(pickle_dict({{"w", pickle_tensor({.storage_count = 6, .shape = {6}, .strides = {1}})}}));
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(error_of([&] { open(pytorch_zip_bytes(whole.substr(0, size), {six()})); }), "no error") << size;
  }
}

TEST_F(PytorchTest, RejectsWrongArchives) {
  const std::string pickle = pickle_of(pickle_dict({}));
  EXPECT_ERROR(open(zip_bytes({{"m/data.npy", ""}})), "a zip archive without data.pkl, not a PyTorch file");
  EXPECT_ERROR(open(zip_bytes({{"m/data.pkl", pickle}, {"m/constants.pkl", pickle}})), "a TorchScript archive");
  EXPECT_ERROR(open(zip_bytes({{"m/data.pkl", pickle, 8}})), "data.pkl is compressed");
  EXPECT_ERROR(open(zip_bytes({{"m/data.pkl", pickle}, {"m/byteorder", "big"}})), "its byte order is \"big\"");
  EXPECT_ERROR(open(zip_bytes({{"m/data.pkl", pickle}, {"m/data.pkl", pickle}})), "duplicate entry: \"m/data.pkl\"");
  const std::string tensor = pickle_tensor({.storage_count = 6, .shape = {6}, .strides = {1}});
  EXPECT_ERROR(open(zip_bytes({{"m/data.pkl", pickle_of(pickle_dict({{"w", tensor}}))}, {"m/data/0", six(), 8}})),
               "entry \"m/data/0\" is compressed");

  const std::string whole = zip_bytes({{"m/data.pkl", pickle}, {"m/other", std::string(200, 'x')}});
  const size_t second = whole.rfind("m/other");
  std::string overlap = whole;
  overlap.replace(second - 4, 4, std::string(4, '\0'));  // the offset of its header
  EXPECT_ERROR(open(overlap), "entries \"m/data.pkl\" and \"m/other\" overlap");
  std::string outside = whole;
  outside.replace(second - 4, 4, "\xf0\xff\xff\xff");
  EXPECT_ERROR(open(outside), "are outside the file");
  std::string large = whole;
  large.replace(second - 26, 8, "\xf0\xff\xff\xff\xf0\xff\xff\xff");
  EXPECT_ERROR(open(large), "the data of entry \"m/other\" is outside the file");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(error_of([&] { open(whole.substr(0, size)); }), "no error") << size;
  }
}

TEST_F(PytorchTest, RejectsEveryTruncationOfTheOlderFormat) {
  const std::string whole = legacy_pytorch_bytes(tensors());
  for (size_t size = 14; size < whole.size(); ++size) {
    EXPECT_NE(error_of([&] { open(whole.substr(0, size)); }), "no error") << size;
  }
  EXPECT_ERROR(open(whole.substr(0, whole.size() - 1)), "ends within storage \"1\"; the file is damaged");
}

TEST_F(PytorchTest, ZerosAndScalarsHaveShapes) {
  EXPECT_EQ(open(pytorch_bytes({{"s", make_tensor("F32", {}, {7})}})).read("s", 0, 1), std::vector<float>{7});
  const PytorchFile empty = open_value(pickle_tensor({.shape = {0, 5}, .strides = {5, 1}}));
  EXPECT_EQ(empty.tensors().at("w").element_count, 0u);
}

// The same weights give the same model file from every format, except for its name and source.
class PytorchCheckpointTest : public testing::Test {
 protected:
  PytorchCheckpointTest() { tiny_.config["eos_token_id"] = nullptr; }

  std::vector<uint8_t> convert(const std::filesystem::path& path, const ReadOptions& options = {}) const {
    return convert_unlabelled(*open_checkpoint(path, options));
  }
  std::vector<uint8_t> expected(const char* activation = "gelu_new") {
    tiny_.config["activation_function"] = activation;
    tiny_.save(directory_.path());
    const std::vector<uint8_t> bytes = convert(directory_.path());
    std::filesystem::remove(directory_ / "model.safetensors");
    return bytes;
  }
  PickleItems nanogpt_arguments() const {
    return {{"model_args", pickle_dict({{"n_layer", pickle_integer(2)},
                                        {"n_head", pickle_integer(2)},
                                        {"n_embd", pickle_integer(8)},
                                        {"block_size", pickle_integer(6)},
                                        {"bias", "\x88"},
                                        {"vocab_size", pickle_integer(11)}})}};
  }

  TemporaryDirectory directory_;
  TinyCheckpoint tiny_ = make_tiny_checkpoint("F32", "transformer.", 32);  // nanoGPT requires the width 4 * 8
};

TEST_F(PytorchCheckpointTest, TransformersFilesEqualSafetensors) {
  const std::vector<uint8_t> bytes = expected();
  for (const std::string& file : {pytorch_bytes(tiny_.tensors), legacy_pytorch_bytes(tiny_.tensors)}) {
    write_bytes(directory_ / "pytorch_model.bin", file);
    EXPECT_EQ(convert(directory_.path()), bytes);
    EXPECT_EQ(convert(directory_ / "pytorch_model.bin"), bytes);
  }
  std::filesystem::remove(directory_ / "pytorch_model.bin");
  RawTensors shards[2];
  nlohmann::json places;
  for (const auto& [name, tensor] : tiny_.tensors) {
    const size_t shard = places.size() % 2;
    shards[shard][name] = tensor;
    places[name] = std::to_string(shard) + ".bin";
  }
  write_bytes(directory_ / "0.bin", pytorch_bytes(shards[0]));
  write_bytes(directory_ / "1.bin", legacy_pytorch_bytes(shards[1]));
  write_bytes(directory_ / "pytorch_model.bin.index.json", nlohmann::json({{"weight_map", places}}).dump());
  EXPECT_EQ(convert(directory_.path()), bytes);
}

TEST_F(PytorchCheckpointTest, NanoGptEqualsSafetensors) {
  const std::vector<uint8_t> erf = expected("gelu"), tanh = expected("gelu_new");
  std::filesystem::remove(directory_ / "config.json");
  transpose_linears(tiny_.tensors);
  const RawTensors plain = tiny_.tensors;
  for (const char* prefix : {"", "_orig_mod.", "module._orig_mod."}) {
    RawTensors tensors;
    for (const auto& [name, tensor] : plain) tensors[prefix + name] = tensor;
    tensors[std::string(prefix) + "lm_head.weight"] = plain.at("transformer.wte.weight");
    write_bytes(directory_ / "ckpt.pt", pytorch_bytes(tensors, nanogpt_arguments()));
    EXPECT_EQ(convert(directory_.path()), erf);
    EXPECT_EQ(convert(directory_ / "ckpt.pt"), erf);
    EXPECT_EQ(convert(directory_.path(), {.activation = Activation::kGeluTanh}), tanh);
  }
  const std::vector<std::string> notes = open_checkpoint(directory_.path())->notes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_PRED2(contains, notes[0], "--activation gelu_new");
}

TEST_F(PytorchCheckpointTest, AbsentBiasesAreZero) {
  transpose_linears(tiny_.tensors);
  for (auto& [name, tensor] : tiny_.tensors) {
    if (name.ends_with(".bias")) tensor.bytes.assign(tensor.bytes.size(), '\0');
  }
  const auto path = directory_ / "ckpt.pt";
  PickleItems arguments = nanogpt_arguments();
  write_bytes(path, pytorch_bytes(tiny_.tensors, arguments));
  const std::vector<uint8_t> zeros = convert(path);
  std::erase_if(tiny_.tensors, [](const auto& tensor) { return tensor.first.ends_with(".bias"); });
  write_bytes(path, pytorch_bytes(tiny_.tensors, arguments));
  EXPECT_ERROR(convert(path), "h.0.ln_1.bias\": is missing");
  std::string& dict = arguments[0].second;
  dict.replace(dict.find("\x88"), 1, "\x89");
  write_bytes(path, pytorch_bytes(tiny_.tensors, arguments));
  EXPECT_EQ(convert(path), zeros);
}

TEST_F(PytorchCheckpointTest, PaddedVocabulariesAreCut) {
  transpose_linears(tiny_.tensors);
  constexpr uint64_t kRows = 50304, kTokens = 50257, kWidth = 8;
  std::vector<float> embedding(kRows * kWidth);
  for (size_t i = 0; i < embedding.size(); ++i) embedding[i] = static_cast<float>(i % 251);
  tiny_.tensors["transformer.wte.weight"] = make_tensor("F32", {kRows, kWidth}, embedding);
  PickleItems arguments = {{"model_args", pickle_dict({{"n_layer", pickle_integer(2)},
                                                       {"n_head", pickle_integer(2)},
                                                       {"n_embd", pickle_integer(8)},
                                                       {"block_size", pickle_integer(6)},
                                                       {"vocab_size", pickle_integer(kRows)}})}};
  write_bytes(directory_ / "ckpt.pt", pytorch_bytes(tiny_.tensors, arguments));
  const auto checkpoint = open_checkpoint(directory_.path());
  EXPECT_EQ(checkpoint->info().shape.vocabulary_size, kTokens);
  EXPECT_EQ(checkpoint->info().end_of_text_token, 50256);
  embedding.resize(kTokens * kWidth);
  EXPECT_EQ(checkpoint->token_embedding(), embedding);
  EXPECT_PRED2(contains, checkpoint->notes().at(0), "is cut to the 50257 tokens of GPT-2");
}

TEST_F(PytorchCheckpointTest, MinGptEqualsSafetensors) {
  tiny_.tensors["lm_head.weight"] = make_tensor("F32", {11, 8}, std::vector<float>(88, 0.25f));
  tiny_.config["tie_word_embeddings"] = false;
  const std::vector<uint8_t> bytes = expected();
  transpose_linears(tiny_.tensors);
  tiny_.tensors["transformer.h.0.attn.bias"] = make_tensor("F32", {1}, {1});
  write_bytes(directory_ / "model.pt", pytorch_bytes(tiny_.tensors));
  write_bytes(directory_ / "config.json", R"({"model": {"model_type": null, "n_head": 2, "vocab_size": null}})");
  EXPECT_EQ(convert(directory_.path()), bytes);
  EXPECT_EQ(convert(directory_ / "model.pt"), bytes);
  write_bytes(directory_ / "config.json", R"({"model": {"model_type": "gpt-nano"}})");
  EXPECT_ERROR(convert(directory_.path()), "the embedding size 8 is not a multiple of the 3 heads");
  write_bytes(directory_ / "config.json", R"({"model": {}})");
  EXPECT_ERROR(convert(directory_.path()), "\"n_head\" is missing");
}

// Moves the rows of fused weights and biases, of 2 heads of size 4, from (3, heads, size) to another order.
RawTensor reorder(const RawTensor& tensor, bool is_interleaved) {
  RawTensor result = tensor;
  const size_t row = tensor.bytes.size() / 24;
  for (size_t part = 0; part < 3; ++part) {
    for (size_t head = 0; head < 2; ++head) {
      for (size_t i = 0; i < 4; ++i) {
        const size_t to = is_interleaved ? (head * 4 + i) * 3 + part : (head * 3 + part) * 4 + i;
        result.bytes.replace(to * row, row, tensor.bytes, ((part * 2 + head) * 4 + i) * row, row);
      }
    }
  }
  return result;
}

class MegatronTest : public PytorchCheckpointTest {
 protected:
  // Writes the checkpoint in a version of the format, with the names of Megatron-LM or Megatron Core.
  void save(uint32_t version, bool is_core, const PickleItems& settings = {}) {
    static const std::pair<const char*, const char*> kNames[] = {
        {"transformer.wte", "embedding.word_embeddings"},
        {"transformer.wpe", "embedding.position_embeddings"},
        {"transformer.h", "transformer.layers"},
        {"ln_1", "input_layernorm"},
        {"attn.c_attn", "attention.query_key_value"},
        {"attn.c_proj", "attention.dense"},
        {"ln_2", "post_attention_layernorm"},
        {"mlp.c_fc", "mlp.dense_h_to_4h"},
        {"mlp.c_proj", "mlp.dense_4h_to_h"},
        {"ln_f", "final_layernorm"},
    };
    static const std::pair<const char*, const char*> kCoreNames[] = {
        {"transformer.layers", "decoder.layers"},
        {"transformer.final_layernorm", "decoder.final_layernorm"},
        {"input_layernorm.", "self_attention.linear_qkv.layer_norm_"},
        {"attention.query_key_value", "self_attention.linear_qkv"},
        {"attention.dense", "self_attention.linear_proj"},
        {"post_attention_layernorm.", "mlp.linear_fc1.layer_norm_"},
        {"dense_h_to_4h", "linear_fc1"},
        {"dense_4h_to_h", "linear_fc2"},
    };
    const auto replace = [](std::string& name, const char* part, const char* with) {
      if (const size_t at = name.find(part); at != std::string::npos) name.replace(at, std::string(part).size(), with);
    };
    RawTensors tensors;
    for (const auto& [gpt2_name, gpt2_tensor] : tiny_.tensors) {
      std::string name = gpt2_name;
      RawTensor tensor = gpt2_tensor;
      if (contains(name, "c_attn") && version > 0) tensor = reorder(tensor, version == 1);
      for (const auto& [ours, theirs] : kNames) replace(name, ours, theirs);
      if (is_core) {
        for (const auto& [older, core] : kCoreNames) replace(name, older, core);
      }
      tensors[is_core ? name : "language_model." + name] = tensor;
    }
    PickleItems items = {{"num_layers", pickle_integer(2)},
                         {"num_attention_heads", pickle_integer(2)},
                         {"hidden_size", pickle_integer(8)},
                         {"ffn_hidden_size", pickle_integer(32)},
                         {"max_position_embeddings", pickle_integer(6)},
                         {"padded_vocab_size", pickle_integer(11)},
                         {"tensor_model_parallel_size", pickle_integer(1)},
                         {"attention_softmax", pickle_global("megatron.enums", "Softmax")}};
    items.insert(items.end(), settings.begin(), settings.end());
    const std::string arguments = pickle_global("argparse", "Namespace") + ")\x81" + pickle_dict(items) + "b";
    write_bytes(path(), pytorch_bytes(tensors, {{"checkpoint_version", pickle_integer(version)}, {"args", arguments}}));
  }
  std::filesystem::path path() const { return directory_ / "model_optim_rng.pt"; }
};

TEST_F(MegatronTest, EveryVersionEqualsSafetensors) {
  const std::vector<uint8_t> bytes = expected("gelu_fast");
  transpose_linears(tiny_.tensors);
  for (uint32_t version = 0; version <= 3; ++version) {
    for (const bool is_core : {false, true}) {
      save(version, is_core);
      EXPECT_EQ(convert(path()), bytes) << version;
      EXPECT_EQ(convert(directory_.path()), bytes) << version;
    }
  }
}

TEST_F(MegatronTest, SquaredReluReplacesGelu) {
  const std::vector<uint8_t> bytes = expected("relu2");
  transpose_linears(tiny_.tensors);
  save(3, true, {{"squared_relu", std::string("\x88")}});
  EXPECT_EQ(convert(path()), bytes);
}

TEST_F(MegatronTest, OtherModelsAreNamed) {
  transpose_linears(tiny_.tensors);
  save(3, true, {{"tensor_model_parallel_size", pickle_integer(2)}});
  EXPECT_ERROR(convert(path()), "\"tensor_model_parallel_size\" is 2; only 1 is supported");
  save(3, true, {{"position_embedding_type", pickle_text("rope")}});
  EXPECT_ERROR(convert(path()), "\"position_embedding_type\" is \"rope\"; only \"learned_absolute\" is supported");
}

}  // namespace
}  // namespace sotto
