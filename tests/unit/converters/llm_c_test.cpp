// Tests the reader of llm.c's checkpoints.
#include <algorithm>
#include <cstring>

#include "tests/unit/converters/checkpoint_support.h"

namespace sotto {
namespace {

// Returns the file that write_model() of llm.c's train_gpt2.py would write. The header has the positions, the
// vocabulary, the layers, the heads, the width and the padded vocabulary from number 2 on.
std::string llm_c_bytes(const TinyCheckpoint& tiny, int32_t version, uint32_t padding) {
  std::vector<int32_t> header(256);
  header[0] = 20240326;
  header[1] = version;
  std::copy_n(std::vector<int32_t>{6, 11, 2, 2, 8, static_cast<int32_t>(11 + padding)}.begin(), 6, header.begin() + 2);
  std::string bytes(reinterpret_cast<const char*>(header.data()), header.size() * sizeof header[0]);
  const auto raw = [&](const std::string& name) { return tiny.tensors.at("transformer." + name); };
  RawTensor embedding = raw("wte.weight");
  embedding.bytes.resize(embedding.bytes.size() / 11 * (11 + padding));
  bytes += embedding.bytes + raw("wpe.weight").bytes;
  for (const char* part : {"ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", "mlp.c_proj"}) {
    for (const char* kind : {".weight", ".bias"}) {
      for (const char* layer : {"h.0.", "h.1."}) {
        const RawTensor tensor = raw(std::string(layer) + part + kind);
        bytes += tensor.shape.size() == 2 ? transpose(tensor).bytes : tensor.bytes;
      }
    }
  }
  return bytes + raw("ln_f.weight").bytes + raw("ln_f.bias").bytes;
}

// llm.c has no models whose feed-forward part is not 4 times as wide as the embedding, or with an end-of-text token
// other than GPT-2's.
TinyCheckpoint make_wide_checkpoint(const std::string& type = "F32") {
  TinyCheckpoint tiny = make_tiny_checkpoint(type, "transformer.", 32);
  tiny.config["eos_token_id"] = nullptr;
  return tiny;
}

class LlmCTest : public testing::Test {
 protected:
  LlmCTest() { make_wide_checkpoint().save(directory_.path()); }

  std::unique_ptr<Checkpoint> open(const std::string& bytes) const {
    write_bytes(path_, bytes);
    return open_checkpoint(path_);
  }

  TemporaryDirectory directory_;
  std::filesystem::path path_ = directory_ / "gpt2_tiny.bin";
};

TEST_F(LlmCTest, GivesTheSameModelAsSafetensors) {
  const std::vector<uint8_t> expected = convert_unlabelled(*open_checkpoint(directory_.path()));
  EXPECT_EQ(convert_unlabelled(*open(llm_c_bytes(make_wide_checkpoint(), 1, 0))), expected);
  EXPECT_EQ(convert_unlabelled(*open(llm_c_bytes(make_wide_checkpoint(), 3, 0))), expected);
  EXPECT_EQ(convert_unlabelled(*open(llm_c_bytes(make_wide_checkpoint(), 3, 5))), expected);
  EXPECT_EQ(convert_unlabelled(*open(llm_c_bytes(make_wide_checkpoint("BF16"), 5, 5))), expected);
  const auto checkpoint = open(llm_c_bytes(make_wide_checkpoint(), 3, 5));
  EXPECT_EQ(checkpoint->info().name, "gpt2_tiny");
  EXPECT_EQ(checkpoint->info().source, "llm.c checkpoint gpt2_tiny.bin");
  EXPECT_TRUE(checkpoint->notes().empty());
}

TEST_F(LlmCTest, ChecksTheHeaderAgainstTheSize) {
  const std::string whole = llm_c_bytes(make_wide_checkpoint(), 3, 5);
  const auto error = [&](size_t index, int32_t value) {
    std::string bytes = whole;
    std::memcpy(&bytes[index * sizeof value], &value, sizeof value);
    return error_of([&] { open(bytes); });
  };
  EXPECT_ERROR(open(whole.substr(0, whole.size() - 4)), "the header describes a file of");
  EXPECT_ERROR(open(whole + "x"), "the header describes a file of");
  EXPECT_ERROR(open(whole.substr(0, 1000)), "too short for a model of llm.c");
  EXPECT_PRED2(contains, error(1, 5), "the header describes a file of");
  EXPECT_PRED2(contains, error(1, 2), "version 2 of the format of llm.c; 1, 3 and 5 are supported");
  EXPECT_PRED2(contains, error(2, 0), "the number of positions is 0");
  EXPECT_PRED2(contains, error(3, -1), "the vocabulary size is 0");
  EXPECT_PRED2(contains, error(4, 1024), "the header describes a file of");
  EXPECT_PRED2(contains, error(6, 0x7FFFFFFF), "the embedding size is 2147483647");
  EXPECT_PRED2(contains, error(7, 10), "the padded vocabulary has 10 tokens, the vocabulary itself 11");
}

TEST_F(LlmCTest, NamesOtherFilesOfLlmC) {
  std::string bytes(1024, '\0');
  const auto error = [&](int32_t magic) {
    std::memcpy(bytes.data(), &magic, sizeof magic);
    return error_of([&] { open(bytes); });
  };
  EXPECT_PRED2(contains, error(20240327), "holds activations for tests of llm.c, not a GPT-2 model");
  EXPECT_PRED2(contains, error(20240328), "holds a tokenizer of llm.c");
  EXPECT_PRED2(contains, error(20240520), "holds tokens for training of llm.c");
  EXPECT_PRED2(contains, error(20240803), "holds a Llama 3 model of llm.c");
}

}  // namespace
}  // namespace sotto
