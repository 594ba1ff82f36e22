// Compares searches over the int8 transformer with searches over plain streams of the same tokens.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/search/search_fixture.h"
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

// Evaluates each sequence as a plain stream from its start.
std::vector<float> plain_logits(const Tokens& tokens) {
  static TestSequence plain(model(), {.context_tokens = 64, .batch_tokens = 16});
  static const Cancellation running;
  plain.sequence.clear();
  Tokens text = kPrompt;
  text.insert(text.end(), tokens.begin(), tokens.end());
  EXPECT_EQ(plain.sequence.append(text, running), Status::kOk);
  return {plain.sequence.logits().begin(), plain.sequence.logits().end()};
}

float plain_similarity(const Tokens& tokens) {
  plain_logits(tokens);
  static TestSequence plain(model(), {.context_tokens = 64, .batch_tokens = 64});
  static const Cancellation running;
  plain.sequence.clear();
  Tokens text = kPrompt;
  text.insert(text.end(), tokens.begin(), tokens.end());
  EXPECT_EQ(plain.sequence.append(text, running), Status::kOk);
  const std::span<const float> states = plain.sequence.forward().final_states(0, text.size());
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
    EXPECT_EQ(memory.sequence.append(kPrompt, running), Status::kOk);
    bench.set_end_token(0);
    bench.input().token_count = kPrompt.size();
    bench.input().history = TokenHistory(kPrompt, {});
    SamplerParams sampler = plain_sampler();
    sampler.temperature = 1.2f;
    sampler.seed = 5;
    sampler.repetition_penalty = 1.2f;
    bench.set_sampler(sampler);
  }

  const Cancellation running;
  TestSequence memory;
  SearchFixture bench;
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
  KvSequence& sequence = subject.memory.sequence;
  FunctionModel plain(plain_logits);
  plain.set_similarity(plain_similarity);
  SearchParams params;
  params.mode = GetParam();
  const std::vector<float> before(sequence.logits().begin(), sequence.logits().end());
  std::vector<std::vector<SearchSequence>> results;
  std::vector<std::vector<Tokens>> texts;
  for (const SequenceModel& view : {SequenceModel(&subject.memory.beams, true), plain.view()}) {
    results.push_back(subject.bench.run(view, params));
    texts.emplace_back();
    for (const SearchSequence& s : results.back()) texts.back().push_back(tokens_of(s));
  }
  EXPECT_EQ(texts[0], texts[1]);
  for (size_t i = 0; i < results[0].size(); ++i) {
    EXPECT_EQ(results[0][i].score, results[1][i].score);
    EXPECT_EQ(results[0][i].log_probability, results[1][i].log_probability);
  }
  // The stream is unchanged.
  ASSERT_EQ(sequence.ensure_logits(subject.running), Status::kOk);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), sequence.logits().begin()));
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
