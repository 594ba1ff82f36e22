// Tests trained and random checkpoints with published outputs: the order of the top 8 of gpt2-basic (MIT), greedy ids
// of tiny-random-gpt2 (MIT), and the demo model's reference figures.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "converters/quantize/evaluate.h"
#include "converters/quantize/float_forward.h"
#include "tests/emulated/work.h"
#include "tests/golden/quantized_model.h"

namespace sotto {
namespace {

using TokenLogit = std::pair<int32_t, double>;

nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream file(shared_data() / path);
  return nlohmann::json::parse(file);
}

std::vector<float> last_row(const std::vector<float>& logits, size_t vocabulary) {
  return {logits.end() - static_cast<ptrdiff_t>(vocabulary), logits.end()};
}

std::vector<int32_t> ids_of(const std::vector<TokenLogit>& pairs) {
  std::vector<int32_t> ids;
  for (const TokenLogit& pair : pairs) ids.push_back(pair.first);
  return ids;
}

void expect_logits(const std::vector<TokenLogit>& expected, const std::vector<float>& logits, double tolerance) {
  for (const auto& [token, logit] : expected) {
    EXPECT_NEAR(logits[static_cast<size_t>(token)], logit, tolerance) << token;
  }
}

std::vector<int32_t> float_greedy(const FloatModel& model, std::vector<int32_t> ids, size_t length) {
  while (ids.size() < length) {
    const std::vector<float> logits = float_forward(model, ids, 2);
    ids.push_back(top_tokens(last_row(logits, model.shape.vocabulary_size), 1)[0]);
  }
  return ids;
}

std::vector<int32_t> int8_greedy(const Model& model, std::vector<int32_t> ids, size_t length) {
  Session session = Session::create(model);
  prefill(session, ids);
  while (ids.size() < length) {
    ids.push_back(top_tokens(logits_of(session), 1)[0]);
    prefill(session, std::span(ids).last(1));
  }
  return ids;
}

// The exact checkpoint (head bias, erf GELU) and an equivalent plain GPT-2.
constexpr char kExactForm[] = "weights/gpt2-basic";
constexpr char kPlainForm[] = "weights/gpt2-basic/plain_gpt2";

class Gpt2BasicTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { SOTTO_REQUIRE_DATA(GetParam()); }

  static nlohmann::json cases() { return read_json("weights/gpt2-basic/expected.json").at("cases"); }
};

TEST_P(Gpt2BasicTest, FloatPathHasThePublishedTop8) {
  const FloatModel model = load_checkpoint(shared_data() / GetParam());
  for (const nlohmann::json& expected : cases()) {
    const std::vector<int32_t> prompt = expected.at("prompt_ids");
    const std::vector<float> logits = last_row(float_forward(model, prompt), model.shape.vocabulary_size);
    const std::vector<TokenLogit> published = expected.at("published_top8");
    EXPECT_EQ(top_tokens(logits, 8), ids_of(published));
    expect_logits(published, logits, 0.06);                 // published in fixed-point notation
    expect_logits(expected.at("top8_here"), logits, 2e-3);  // of the plain form
  }
}

// The result must be the same eight tokens, in the same order wherever published logits differ by at least a tenth.
TEST_P(Gpt2BasicTest, Int8HasThePublishedTop8) {
  const Model model = convert_model(shared_data() / GetParam());
  for (const nlohmann::json& expected : cases()) {
    const std::vector<int32_t> prompt = expected.at("prompt_ids");
    const std::vector<float> logits = last_row(quantized_logits(model, prompt), model.info().vocabulary_size);
    const std::vector<TokenLogit> published = expected.at("published_top8");
    const std::vector<int32_t> ids = ids_of(published);
    const std::vector<int32_t> top = top_tokens(logits, 8);
    EXPECT_TRUE(std::is_permutation(top.begin(), top.end(), ids.begin()));
    for (size_t i = 0; i + 1 < published.size(); ++i) {
      if (published[i].second - published[i + 1].second < 0.1) continue;
      EXPECT_GT(logits[static_cast<size_t>(ids[i])], logits[static_cast<size_t>(ids[i + 1])]);
    }
    if (std::string(GetParam()) == kExactForm) {
      EXPECT_EQ(top, ids);
    }
    expect_logits(published, logits, 0.3);
  }
}

TEST_P(Gpt2BasicTest, GreedyIdsEqual) {
  const FloatModel model = load_checkpoint(shared_data() / GetParam());
  const Model int8 = convert_model(shared_data() / GetParam());
  for (const nlohmann::json& expected : cases()) {
    const std::vector<int32_t> prompt = expected.at("prompt_ids");
    std::vector<int32_t> ids = prompt;
    for (const int32_t id : expected.at("greedy_ids")) ids.push_back(id);
    EXPECT_EQ(float_greedy(model, prompt, ids.size()), ids);
    EXPECT_EQ(int8_greedy(int8, prompt, ids.size()), ids);
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, Gpt2BasicTest, testing::Values(kExactForm, kPlainForm),
                         [](const auto& p) { return p.index == 0 ? "Exact" : "Plain"; });

class TinyRandomTest : public testing::Test {
 protected:
  static constexpr char kDirectory[] = "weights/tiny-random-gpt2";
  void SetUp() override { SOTTO_REQUIRE_DATA(kDirectory); }
  static nlohmann::json expected() { return read_json(std::filesystem::path(kDirectory) / "expected.json"); }
};

TEST_F(TinyRandomTest, FloatPathHasTheReferenceLogits) {
  const nlohmann::json reference = expected().at("computed_here");
  const FloatModel model = load_checkpoint(shared_data() / kDirectory);
  const std::vector<int32_t> prompt = reference.at("prompt");
  const std::vector<float> logits = last_row(float_forward(model, prompt), model.shape.vocabulary_size);
  const std::vector<double> known = reference.at("last_position_logits");
  ASSERT_EQ(logits.size(), known.size());
  for (size_t i = 0; i < known.size(); ++i) ASSERT_NEAR(logits[i], known[i], 1e-6) << i;
}

TEST_F(TinyRandomTest, GreedyIdsAreThePublishedOnes) {
  const FloatModel model = load_checkpoint(shared_data() / kDirectory);
  const nlohmann::json published = expected().at("greedy");
  ASSERT_EQ(published.size(), 2u);
  for (const nlohmann::json& item : published) {
    EXPECT_EQ(float_greedy(model, item.at("prompt"), item.at("max_length")),
              item.at("expected").get<std::vector<int32_t>>());
  }
}

TEST_F(TinyRandomTest, Int8LogitsStayWithinTheirError) {
  const FloatModel model = load_checkpoint(shared_data() / kDirectory);
  const Model int8 = convert_model(shared_data() / kDirectory);
  std::vector<int32_t> tokens;
  for (uint32_t i = 0; i < 64; ++i) {
    tokens.push_back(static_cast<int32_t>(i * 2654435761u % model.shape.vocabulary_size));
  }
  const LogitError error =
      compare_logits(float_forward(model, tokens), quantized_logits(int8, tokens), model.shape.vocabulary_size);
  std::printf("relative rms %.4f, max %.4f, top-1 %.3f\n", error.relative_rms, error.max, error.top1_agreement);
  EXPECT_LT(error.relative_rms, 0.015);
  EXPECT_GE(error.top1_agreement, 0.95);
}

// Compares everything that reference.json measures, except in slow builds.
#ifdef NDEBUG
constexpr size_t kWindowLimit = 64;
#else
constexpr size_t kWindowLimit = 2;
#endif

class DemoTest : public testing::Test {
 protected:
  void SetUp() override { SOTTO_REQUIRE_DATA("demo/model.safetensors"); }
};

TEST_F(DemoTest, FloatPathHasTheReferenceLogitsAndText) {
  const nlohmann::json reference = read_json("demo/reference.json").at("once_upon_a_time");
  const FloatModel model = load_checkpoint(shared_data() / "demo");
  std::vector<int32_t> ids = reference.at("ids");
  const std::vector<float> logits = last_row(float_forward(model, ids, 2), model.shape.vocabulary_size);
  const std::vector<TokenLogit> top = reference.at("top8_logits_last_position");
  EXPECT_EQ(top_tokens(logits, 8), ids_of(top));
  expect_logits(top, logits, 2e-5);

  std::vector<int32_t> continuation = reference.at("greedy_48");
  continuation.resize(work<size_t>(48, 4));
  const std::vector<int32_t> greedy = float_greedy(model, ids, ids.size() + continuation.size());
  ids.insert(ids.end(), continuation.begin(), continuation.end());
  EXPECT_EQ(greedy, ids);
}

// Compares the figures of `sotto-convert --evaluate` on the demo model's validation text.
TEST_F(DemoTest, QuantizationKeepsPerplexityAndPredictions) {
  const FloatModel model = load_checkpoint(shared_data() / "demo");
  const QuantizedFile int8 = {"int8", convert_checkpoint(shared_data() / "demo")};
  const QuantizedFile int4 = {"int4", convert_checkpoint(shared_data() / "demo", WeightKind::kInt4)};
  const std::vector<uint8_t> bytes = read_bytes(shared_data() / "demo/validation.txt");
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const nlohmann::json reference = read_json("demo/reference.json");
  EXPECT_EQ(open_model(int8.bytes).tokenize(text).size(), reference.at("tokens_in_validation"));

  const auto measure = [&](const QuantizedFile& quantized, size_t window_limit) {
    const Evaluation result = evaluate(model, {&quantized, 1}, text, {window_limit, 2, {}});
    std::printf("%s", evaluation_table(result).c_str());
    return result;
  };
  const auto expect_close = [](const Evaluation& result, double perplexity, double divergence, double agreement) {
    const QuantizedEvaluation& measured = result.quantized[0];
    EXPECT_NEAR(measured.perplexity() / result.float_perplexity(), 1, perplexity);
    EXPECT_LT(measured.mean_divergence, divergence);
    EXPECT_GT(measured.top1_agreement, agreement);
  };
  const size_t window_limit = work(kWindowLimit, size_t{1});
  expect_close(measure(int4, std::min<size_t>(window_limit, 4)), 0.025, 0.015, 0.87);
  const Evaluation result = measure(int8, window_limit);
  expect_close(result, 0.01, 0.01, 0.95);
  const nlohmann::json& known = reference.at("nll_first_64_windows_of_512");
  if (result.prediction_count == known.at("predictions")) {
    EXPECT_NEAR(result.float_loss, known.at("mean_nll"), 1e-5);
  }
}

}  // namespace
}  // namespace sotto
