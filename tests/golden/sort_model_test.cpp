// Tests gpt-nano-sort of llm-viz (MIT), a trained network small enough to check completely: its published activations
// with the float path, and the sorted result of every input with int8.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "converters/quantize/float_forward.h"
#include "tests/golden/quantized_model.h"

namespace sotto {
namespace {

constexpr char kDirectory[] = "weights/llm-viz-gpt-nano-sort";
constexpr size_t kTokens = 11;
constexpr size_t kLength = 6;  // length of the lists that it sorts

// Each character holds six bits. Padding and unknown characters end the data.
std::vector<uint8_t> decode_base64(const std::string& text) {
  static constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<uint8_t> bytes;
  uint32_t bits = 0;
  int bit_count = 0;
  for (const char c : text) {
    const size_t digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) break;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    bit_count += 6;
    if (bit_count < 8) continue;
    bit_count -= 8;
    bytes.push_back(static_cast<uint8_t>(bits >> bit_count));
  }
  return bytes;
}

class SortModelTest : public testing::Test {
 protected:
  void SetUp() override { SOTTO_REQUIRE_DATA(kDirectory); }

  static nlohmann::json published() {
    std::ifstream file(shared_data() / kDirectory / "gpt-nano-sort-t0-partials.json");
    return nlohmann::json::parse(file);
  }

  // Returns one of the published tensors: (input, token, ...).
  static std::vector<float> tensor(const nlohmann::json& json, const char* name) {
    const std::vector<uint8_t> bytes = decode_base64(json.at(name).at("data"));
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
  }

  static std::vector<int32_t> input(const nlohmann::json& json, size_t index) {
    const std::vector<float> ids = tensor(json, "idx");
    const auto first = ids.begin() + static_cast<ptrdiff_t>(index * kTokens);
    return {first, first + kTokens};
  }

  static std::vector<sotto_token> sort(Session& session, std::span<const sotto_token> prompt) {
    session.reset();
    prefill(session, prompt);
    std::vector<sotto_token> sorted;
    for (size_t i = 0; i < kLength; ++i) {
      Piece piece;
      EXPECT_EQ(session.next(piece), Status::ok);
      sorted.push_back(piece.token());
    }
    return sorted;
  }
};

TEST_F(SortModelTest, FloatPathHasThePublishedActivations) {
  const nlohmann::json json = published();
  const FloatModel model = load_checkpoint(shared_data() / kDirectory);
  const size_t input_count = json.at("config").at("B");
  ASSERT_EQ(input_count, 3u);
  for (size_t k = 0; k < input_count; ++k) {
    FloatActivations a;
    const std::vector<float> logits = float_forward(model, input(json, k), 1, &a);
    const auto expect_equal = [&](const char* name, const std::vector<float>& actual) {
      const std::vector<float> all = tensor(json, name);
      ASSERT_EQ(all.size(), input_count * actual.size()) << name;
      for (size_t i = 0; i < actual.size(); ++i) {
        ASSERT_NEAR(actual[i], all[k * actual.size() + i], 5e-6) << name << " " << k << " " << i;
      }
    };
    expect_equal("x", a.embedding);
    expect_equal("ln1", a.blocks[0].attention_input);
    expect_equal("qkv", a.blocks[0].queries_keys_values);
    expect_equal("y", a.blocks[0].attention);
    expect_equal("yProj", a.blocks[0].attention_projected);
    expect_equal("attnResid", a.blocks[0].attention_sum);
    expect_equal("ln2", a.blocks[0].feed_forward_input);
    expect_equal("fc", a.blocks[0].feed_forward_up);
    expect_equal("gelu", a.blocks[0].feed_forward_hidden);
    expect_equal("mlp", a.blocks[0].feed_forward_down);
    expect_equal("block0", a.blocks[0].output);
    expect_equal("block1", a.blocks[1].output);
    expect_equal("block2", a.blocks[2].output);
    expect_equal("ln_f", a.final_norm);
    expect_equal("lm_head", logits);
  }
}

TEST_F(SortModelTest, Int8LogitsStayWithinTheirError) {
  const nlohmann::json json = published();
  const Model model = convert_model(shared_data() / kDirectory);
  const std::vector<float> expected = tensor(json, "lm_head");
  std::vector<float> actual;
  for (size_t k = 0; k < 3; ++k) {
    const std::vector<float> logits = quantized_logits(model, input(json, k));
    actual.insert(actual.end(), logits.begin(), logits.end());
  }
  const LogitError error = compare_logits(expected, actual, 3);
  std::printf("relative rms %.5f, max %.4f\n", error.relative_rms, error.max);
  EXPECT_LT(error.relative_rms, 0.0035);
  EXPECT_EQ(error.top1_agreement, 1);
}

TEST_F(SortModelTest, Int8SortsEveryInput) {
  const Model model = convert_model(shared_data() / kDirectory);
  Session session = Session::create(model);
  SamplerParams greedy;
  greedy.temperature = 0;
  session.set_sampler(greedy);

  size_t right_count = 0;
  for (int32_t code = 0; code < 729; ++code) {
    std::array<sotto_token, kLength> list;
    for (int32_t rest = code; sotto_token & id : list) {
      id = rest % 3;
      rest /= 3;
    }
    const std::vector<sotto_token> sorted = sort(session, list);
    right_count +=
        std::is_permutation(sorted.begin(), sorted.end(), list.begin()) && std::is_sorted(sorted.begin(), sorted.end());
  }
  EXPECT_EQ(right_count, 729u);
}

}  // namespace
}  // namespace sotto
