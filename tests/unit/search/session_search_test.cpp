// Tests searches from a session: they continue its stream and leave it unchanged.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/session/session.h"
#include "tests/unit/search/search_fixture.h"
#include "tests/unit/transformer/test_model.h"

namespace sotto {
namespace {

const Model& model() {
  static const TestModel model({.vocabulary_size = 50,
                                .position_count = 64,
                                .embedding_size = 48,
                                .head_count = 3,
                                .feed_forward_size = 100,
                                .layer_count = 2},
                               11, isa_of_environment(), 6);
  return model.get();
}

class SessionSearch : public testing::Test {
 protected:
  void SetUp() override {
    if (find_kernels(isa_of_environment()) == nullptr) {
      GTEST_SKIP() << "this CPU or build lacks the instruction set";
    }
    SessionParams params;
    params.context_tokens = 40;
    params.batch_tokens = 8;
    params.sequence_count = 4;
    params.sequence_tokens = 8;
    Error error;
    size_t size = 0;
    EXPECT_EQ(Session::memory_size(model(), params, &size, &error), Status::kOk);
    memory_ = std::make_unique<TestMemory>(size);
    EXPECT_EQ(Session::init(model(), params, memory_->data(), size, &session_, &error), Status::kOk);
    const Tokens prompt = {3, 17, 40, 8, 8, 29};
    EXPECT_EQ(session_->prefill(prompt, nullptr), Status::kOk);
  }
  void TearDown() override {
    if (session_ != nullptr) session_->deinit();
  }

  void set_sampler(float temperature, float repetition_penalty = 1) {
    SamplerParams params = plain_sampler();
    params.temperature = temperature;
    params.seed = 99;
    params.repetition_penalty = repetition_penalty;
    ASSERT_EQ(session_->set_sampler(params, nullptr), Status::kOk);
  }

  Tokens next(int count) {
    Tokens tokens;
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(session_->next(nullptr), Status::kOk);
      tokens.push_back(session_->piece().token);
    }
    return tokens;
  }

  std::vector<Tokens> search(const SearchParams& params, Status expected = Status::kOk) {
    std::span<const SearchSequence> found;
    Error error;
    EXPECT_EQ(session_->search(params, &found, &error), expected) << error.message;
    std::vector<Tokens> texts;
    for (const SearchSequence& sequence : found) texts.push_back(tokens_of(sequence));
    return texts;
  }

  std::unique_ptr<TestMemory> memory_;
  Session* session_ = nullptr;
};

// The last token drawn has not been evaluated when the search begins.
TEST_F(SessionSearch, FirstSampleEqualsTheSessionsDraw) {
  set_sampler(1.1f, 1.3f);
  next(3);
  SearchParams params;
  params.mode = SearchMode::kSample;
  const auto texts = search(params);
  ASSERT_EQ(texts.size(), 4u);
  EXPECT_NE(texts[0], texts[1]);
  EXPECT_EQ(session_->token_count(), 9u);
  EXPECT_EQ(next(8), texts[0]);
}

TEST_F(SessionSearch, OneBeamEqualsGreedyDecoding) {
  set_sampler(0);
  SearchParams params;
  params.sequence_count = 1;
  for (int round = 0; round < 3; ++round) {
    const auto texts = search(params);
    ASSERT_EQ(texts.size(), 1u);
    EXPECT_EQ(search(params), texts);
    const Tokens greedy = next(4);
    EXPECT_EQ(Tokens(texts[0].begin(), texts[0].begin() + 4), greedy);
  }
}

TEST_F(SessionSearch, CancellationIsConsumedOnce) {
  set_sampler(0);
  const Tokens undisturbed = search({}).at(0);
  session_->cancel();
  EXPECT_TRUE(search({}, Status::kStopCancelled).empty());
  EXPECT_EQ(search({}).at(0), undisturbed);
}

TEST_F(SessionSearch, ARejectedSearchEvaluatesNothing) {
  set_sampler(1);
  next(1);
  SearchParams params;
  params.max_tokens = 9;
  EXPECT_TRUE(search(params, Status::kInvalidArgument).empty());
  EXPECT_EQ(session_->timings().decode_tokens, 0u);  // the token that was drawn is still pending
  session_->reset();
  EXPECT_TRUE(search({}, Status::kInvalidState).empty());
}

TEST_F(SessionSearch, HardBansHoldInEveryMode) {
  const Tokens allowed = {5, 9}, word = {9, 9};
  const TokenList words[] = {{word.data(), 2}};
  for (const SearchMode mode : {SearchMode::kBeam, SearchMode::kBeamSample, SearchMode::kSample}) {
    for (const bool suppress : {false, true}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(mode) << suppress);
      SamplerParams sampler = plain_sampler();
      sampler.allowed_tokens = allowed;
      sampler.bad_words = words;
      sampler.no_repeat_ngram = 1;  // a soft ban
      if (suppress) sampler.suppressed_tokens = allowed;
      ASSERT_EQ(session_->set_sampler(sampler, nullptr), Status::kOk);
      SearchParams params;
      params.mode = mode;
      params.max_tokens = 6;
      std::span<const SearchSequence> found;
      ASSERT_EQ(session_->search(params, &found, nullptr), Status::kOk);
      ASSERT_FALSE(found.empty());
      for (const SearchSequence& sequence : found) {
        EXPECT_EQ(sequence.stop, suppress ? Status::kStopBanned : Status::kStopMaxTokens);
        const Tokens tokens = tokens_of(sequence);
        EXPECT_EQ(tokens.size(), suppress ? 0u : 6u);
        for (const int32_t token : tokens) EXPECT_EQ(std::count(allowed.begin(), allowed.end(), token), 1);
        EXPECT_EQ(std::search(tokens.begin(), tokens.end(), word.begin(), word.end()), tokens.end());
      }
    }
  }
}

}  // namespace
}  // namespace sotto
