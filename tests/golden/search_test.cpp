// Compares searches with transformers' generate() and with published ids of beam search: token for token with the float
// reference path, and within a stated error with the int8 runtime.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "converters/quantize/float_forward.h"
#include "tests/golden/golden_support.h"
#include "tests/unit/search/search_fixture.h"
#include "tests/unit/transformer/test_model.h"

namespace sotto {
namespace {

nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

// The float32 model of a checkpoint after a prompt.
class FloatText {
 public:
  FloatText(const FloatModel& model, Tokens prompt) : model_(model), prompt_(std::move(prompt)) {}

  const std::vector<float>& logits(const Tokens& tokens) {
    compute(tokens);
    return logits_[tokens];
  }
  // Returns the largest cosine between the last hidden state and those before it.
  float similarity(const Tokens& tokens) {
    compute(tokens);
    return similarities_[tokens];
  }
  double log_probability(const Tokens& tokens, int32_t token) {
    const std::vector<float>& row = logits(tokens);
    const double max = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (const float l : row) sum += std::exp(l - max);
    return row[static_cast<size_t>(token)] - max - std::log(sum);
  }

 private:
  void compute(const Tokens& tokens) {
    if (logits_.count(tokens) > 0) return;
    Tokens text = prompt_;
    text.insert(text.end(), tokens.begin(), tokens.end());
    FloatActivations activations;
    const std::vector<float> all = float_forward(model_, text, 1, &activations);
    const size_t vocabulary = model_.shape.vocabulary_size, width = model_.shape.embedding_size;
    logits_[tokens] = {all.end() - static_cast<ptrdiff_t>(vocabulary), all.end()};
    const float* states = activations.final_norm.data();
    const float* last = states + (text.size() - 1) * width;
    double largest = -1;
    for (size_t i = 0; i + 1 < text.size(); ++i) {
      double dot = 0, a = 0, b = 0;
      for (size_t d = 0; d < width; ++d) {
        const double x = states[i * width + d], y = last[d];
        dot += x * y, a += x * x, b += y * y;
      }
      largest = std::max(largest, dot / std::sqrt(a * b));
    }
    similarities_[tokens] = static_cast<float>(largest);
  }

  const FloatModel& model_;
  Tokens prompt_;
  std::map<Tokens, std::vector<float>> logits_;
  std::map<Tokens, float> similarities_;
};

SearchParams search_params(const nlohmann::json& settings) {
  SearchParams params;
  params.sequence_count = settings.value("num_beams", 1u);
  params.length_penalty = settings.value("length_penalty", 1.0f);
  if (settings.contains("early_stopping")) {
    params.early_stopping = settings["early_stopping"].is_boolean() ? EarlyStopping::kAtOnce : EarlyStopping::kNever;
  }
  params.group_count = settings.value("num_beam_groups", 1u);
  params.diversity_penalty = settings.value("diversity_penalty", 0.0f);
  if (settings.contains("penalty_alpha")) {
    params.mode = SearchMode::kContrastive;
    params.sequence_count = 0;
    params.contrastive_k = settings.at("top_k");
    params.contrastive_alpha = settings.at("penalty_alpha");
  }
  return params;
}

SamplerParams sampler_params(const nlohmann::json& settings) {
  SamplerParams params = plain_sampler();
  params.order = ChainOrder::kTransformers;
  params.repetition_window = kWholeWindow;
  params.repetition_penalty = settings.value("repetition_penalty", 1.0f);
  params.no_repeat_ngram = settings.value("no_repeat_ngram_size", 0u);
  params.min_new_tokens = settings.value("min_new_tokens", 0u);
  return params;
}

TEST(SearchGoldens, FloatPathFindsWhatTransformersFinds) {
  const nlohmann::json cases = read_json(golden_data() / "searches.json").at("cases");
  ASSERT_EQ(cases.size(), 120u);
  std::map<std::string, FloatModel> models;
  std::map<std::pair<std::string, int32_t>, std::unique_ptr<FloatText>> texts;
  double largest_error = 0;
  size_t sequence_count = 0, ended_count = 0;
  for (const nlohmann::json& item : cases) {
    const std::string name = item.at("model");
    const Tokens prompt = item.at("prompt");
    const uint32_t max_tokens = item.at("max_tokens");
    const int32_t end_token = item.at("end_token");
    const nlohmann::json& settings = item.at("settings");
    SCOPED_TRACE(item.at("model").dump() + settings.dump() + " end " + std::to_string(end_token));
    if (models.count(name) == 0) models.emplace(name, load_checkpoint(golden_data() / name));
    const FloatModel& model = models.at(name);
    auto& text = texts[{name, 0}];
    if (text == nullptr) text = std::make_unique<FloatText>(model, prompt);
    FunctionModel function([&](const Tokens& tokens) { return text->logits(tokens); });
    function.set_similarity([&](const Tokens& tokens) { return text->similarity(tokens); });

    SearchFixture bench(model.shape.vocabulary_size, {12, max_tokens}, end_token);
    bench.set_sampler(sampler_params(settings));
    bench.input().history = TokenHistory(prompt, {});
    bench.input().token_count = prompt.size();
    const auto found = bench.run(function.view(), search_params(settings));
    const nlohmann::json& expected = item.at("sequences");
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(tokens_of(found[i]), expected[i].at("tokens").get<Tokens>()) << "rank " << i;
      EXPECT_EQ(found[i].stop == Status::kStopEndOfText, expected[i].at("ended").get<bool>());
      if (!expected[i].at("score").is_null()) {
        const double score = expected[i].at("score");
        const double error = std::fabs(found[i].score - score) / (1 + std::fabs(score));
        largest_error = std::max(largest_error, error);
        EXPECT_LT(error, 2e-5);
      }
      ++sequence_count;
      ended_count += expected[i].at("ended").get<bool>() ? 1 : 0;
    }
  }
  std::printf("%zu sequences, %zu of them ended, largest relative error of a score %.2g\n", sequence_count, ended_count,
              largest_error);
  EXPECT_GT(ended_count, 50u);
}

class TinyRandomSearch : public testing::Test {
 protected:
  static constexpr char kDirectory[] = "weights/tiny-random-gpt2";
  static constexpr int32_t kEnd = 98;
  void SetUp() override { SOTTO_REQUIRE_DATA(kDirectory); }

  static Tokens joined(const Tokens& prompt, const Tokens& text) {
    return {text.begin() + static_cast<ptrdiff_t>(prompt.size()), text.end()};
  }
};

TEST_F(TinyRandomSearch, FloatPathFindsThePublishedIds) {
  const FloatModel model = load_checkpoint(shared_data() / kDirectory);
  const nlohmann::json published = read_json(shared_data() / kDirectory / "expected.json");
  int count = 0;
  for (const char* kind : {"greedy", "beam"}) {
    for (const nlohmann::json& item : published.at(kind)) {
      const Tokens prompt = item.at("prompt");
      const Tokens expected = joined(prompt, item.at("expected"));
      FloatText text(model, prompt);
      FunctionModel function([&](const Tokens& tokens) { return text.logits(tokens); });
      SearchFixture bench(model.shape.vocabulary_size,
                          {item.value("num_beams", 1u), static_cast<uint32_t>(expected.size())}, kEnd);
      SearchParams params;
      params.length_penalty = item.value("length_penalty", 1.0f);
      EXPECT_EQ(tokens_of(bench.run(function.view(), params).at(0)), expected);
      ++count;
    }
  }
  EXPECT_EQ(count, 5);
}

// Two properties must hold within 0.005 of ln p per token. Under the float path, the best text of the int8 runtime is
// as good as the best text of the float path. Its score there equals its score in the runtime.
TEST_F(TinyRandomSearch, Int8ScoresStayWithinTheirError) {
  constexpr double kTolerance = 0.005;
  const FloatModel float_model = load_checkpoint(shared_data() / kDirectory);
  const TestModel int8_model(convert_checkpoint(shared_data() / kDirectory));
  const nlohmann::json published = read_json(shared_data() / kDirectory / "expected.json");
  const Cancellation running;
  for (const nlohmann::json& item : published.at("beam")) {
    const Tokens prompt = item.at("prompt");
    const Tokens expected = joined(prompt, item.at("expected"));
    const auto max_tokens = static_cast<uint32_t>(expected.size());
    TestSequence memory(int8_model.get(),
                        {.context_tokens = 64, .batch_tokens = 16, .sequence_count = 4, .sequence_tokens = max_tokens});
    ASSERT_EQ(memory.sequence.append(prompt, running), Status::kOk);
    SearchFixture bench(float_model.shape.vocabulary_size, {4, max_tokens}, kEnd);
    const SearchSequence best = bench.run(SequenceModel(&memory.beams, false), {}).at(0);

    FloatText text(float_model, prompt);
    const auto score_of = [&](const Tokens& tokens) {
      double sum = 0;
      Tokens before;
      for (const int32_t token : tokens) {
        sum += text.log_probability(before, token);
        before.push_back(token);
      }
      return sum / static_cast<double>(tokens.size());
    };
    const double by_float = score_of(tokens_of(best)), float_best = score_of(expected);
    std::printf("int8 %.4f, float for the same %.4f, float's best %.4f, ids %s\n", best.score, by_float, float_best,
                tokens_of(best) == expected ? "equal" : "differ");
    EXPECT_EQ(best.token_count, expected.size());
    EXPECT_NEAR(best.score, by_float, kTolerance);
    EXPECT_GT(by_float, float_best - kTolerance);
  }
}

}  // namespace
}  // namespace sotto
