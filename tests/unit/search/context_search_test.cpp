// Searches over the int8 transformer: what branches compute is what plain streams compute.
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/search/context_model.h"
#include "tests/unit/search/search_bench.h"
#include "tests/unit/transformer/test_model.h"

namespace sotto {
namespace {

constexpr uint32_t kCount = 4, kTokens = 10;
const Tokens kPrompt = {3, 17, 40, 8, 8, 29};

const Model& model() {
  static const TestModel model({.vocabulary_size = 50,
                                .position_count = 64,
                                .embedding_size = 48,
                                .head_count = 3,
                                .feed_forward_size = 100,
                                .layer_count = 2},
                               11, isa_of_environment(), 6, /*end_of_text=*/0);
  return model.get();
}

// The same model through plain streams, each from its beginning.
std::vector<float> plain_logits(const Tokens& tokens) {
  static TestContext plain(model(), {.context_tokens = 64, .batch_tokens = 16});
  static const std::atomic<uint32_t> running = 0;
  plain.context.clear();
  Tokens text = kPrompt;
  text.insert(text.end(), tokens.begin(), tokens.end());
  EXPECT_EQ(plain.context.append(text, running), Status::kOk);
  return {plain.context.logits().begin(), plain.context.logits().end()};
}

float plain_similarity(const Tokens& tokens) {
  plain_logits(tokens);
  static TestContext plain(model(), {.context_tokens = 64, .batch_tokens = 64});
  static const std::atomic<uint32_t> running = 0;
  plain.context.clear();
  Tokens text = kPrompt;
  text.insert(text.end(), tokens.begin(), tokens.end());
  EXPECT_EQ(plain.context.append(text, running), Status::kOk);
  const std::span<const float> states = plain.context.final_states(0, text.size());
  const size_t n = model().config().embedding_size;
  const float* last = states.data() + (text.size() - 1) * n;
  double largest = -1;
  for (size_t i = 0; i + 1 < text.size(); ++i) {
    double dot = 0, a = 0, b = 0;
    for (size_t d = 0; d < n; ++d) {
      const double x = states[i * n + d], y = last[d];
      dot += x * y, a += x * x, b += y * y;
    }
    largest = std::max(largest, dot / std::sqrt(a * b));
  }
  return static_cast<float>(largest);
}

struct Subject {
  Subject()
      : memory(model(), {.context_tokens = 32,
                         .batch_tokens = 3,
                         .sequence_count = kCount,
                         .sequence_tokens = kTokens,
                         .features = kFeatureHiddenHistory}),
        bench(50, {kCount, kTokens}) {
    EXPECT_EQ(memory.context.append(kPrompt, running), Status::kOk);
    bench.input().end_token = 0;
    bench.input().token_count = kPrompt.size();
    bench.input().history = TokenHistory(kPrompt, {});
    SamplerParams sampler = plain_sampler();
    sampler.temperature = 1.2f;
    sampler.seed = 5;
    sampler.repetition_penalty = 1.2f;
    bench.set_sampler(sampler);
  }

  const std::atomic<uint32_t> running = 0;
  TestContext memory;
  SearchBench bench;
};

class ContextSearch : public testing::TestWithParam<SearchMode> {
 protected:
  void SetUp() override {
    if (find_kernels(isa_of_environment()) == nullptr) {
      GTEST_SKIP() << "this CPU or build lacks the instruction set";
    }
  }
};

TEST_P(ContextSearch, EqualsPlainStreams) {
  Subject subject;
  Context& context = subject.memory.context;
  ContextModel model = {&context, &subject.running, true};
  FunctionModel plain(plain_logits);
  plain.set_similarity(plain_similarity);
  SearchParams params;
  params.mode = GetParam();
  const std::vector<float> before(context.logits().begin(), context.logits().end());
  std::vector<std::vector<SearchSequence>> results;
  std::vector<std::vector<Tokens>> texts;
  for (const SequenceModel& view : {model.view(), plain.view()}) {
    results.push_back(subject.bench.run(view, params));
    texts.emplace_back();
    for (const SearchSequence& s : results.back()) texts.back().push_back(tokens_of(s));
  }
  EXPECT_EQ(texts[0], texts[1]);
  for (size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_EQ(results[0][i].score, results[1][i].score);
    EXPECT_EQ(results[0][i].log_probability, results[1][i].log_probability);
  }
  // The stream is what it was.
  ASSERT_EQ(context.ensure_logits(subject.running), Status::kOk);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), context.logits().begin()));
}

std::string mode_name(const testing::TestParamInfo<SearchMode>& info) {
  const char* const names[] = {"Beam", "BeamSample", "Sample", "Contrastive"};
  return names[static_cast<size_t>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Modes, ContextSearch,
                         testing::Values(SearchMode::kBeam, SearchMode::kBeamSample, SearchMode::kSample,
                                         SearchMode::kContrastive),
                         mode_name);

}  // namespace
}  // namespace sotto
