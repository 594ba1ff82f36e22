// Tests the stops of a search's sequences except the end-of-text token: stop strings, limits of tokens and time, and
// repetition.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/text/token_history.h"
#include "tests/unit/search/exhaustive_search.h"

namespace sotto {
namespace {

constexpr SearchMode kModes[] = {SearchMode::kBeam, SearchMode::kBeamSample, SearchMode::kSample,
                                 SearchMode::kContrastive};

// Greedy samples would all be equal.
void sample_freely(SearchFixture& bench) {
  SamplerParams sampler = plain_sampler();
  sampler.temperature = 1;
  bench.set_sampler(sampler);
}

SearchParams params_of(SearchMode mode) {
  SearchParams params;
  params.mode = mode;
  return params;
}

FunctionModel similar_model(FunctionModel::Logits logits) {
  FunctionModel model(std::move(logits));
  model.set_similarity([](const Tokens&) { return 0.0f; });
  return model;
}

TEST(SearchStops, WideBeamsFindTheBestTextsThatEndAtStopStrings) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const uint32_t limit = 5, count = 300;
    SearchFixture bench(5, {count, limit});
    bench.set_end_token(kEnd);
    bench.set_stops(pair_stops());
    const auto logits = scrambled(5, seed);
    FunctionModel model(logits);
    ToyGrammar grammar = toy_grammar(constraint_sequence_count(count));
    bench.input().constraint = TokenConstraint(&grammar);
    SearchParams params;
    params.early_stopping = EarlyStopping::kNever;
    const auto expected = all_texts(logits, params, {limit, &grammar, kStopPair});
    const auto found = bench.run(model.view(), params);
    ASSERT_EQ(found.size(), expected.size());
    expect_texts(found, expected);
    EXPECT_TRUE(
        std::any_of(found.begin(), found.end(), [](const SearchSequence& s) { return s.stop == Status::kStopString; }));
  }
}

// Each sequence is drawn without stop strings and cut after its first one.
TEST(SearchStops, SamplesEndWhereTheirStopStringIsComplete) {
  size_t stopped = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SearchFixture bench(5, {8, 12});
    bench.set_end_token(kEnd);
    sample_freely(bench);
    FunctionModel model(scrambled(5, seed, 1));
    std::vector<Tokens> whole;
    for (const auto& s : bench.run(model.view(), params_of(SearchMode::kSample))) {
      whole.push_back(tokens_of(s));
    }
    StopParams stop_params = pair_stops();
    stop_params.include_stop_text = seed % 2 == 0;
    bench.set_stops(stop_params);
    const auto found = bench.run(model.view(), params_of(SearchMode::kSample));
    for (size_t i = 0; i < found.size(); ++i) {
      const auto at = std::search(whole[i].begin(), whole[i].end(), kStopPair.begin(), kStopPair.end());
      const bool stops = at != whole[i].end();
      EXPECT_EQ(tokens_of(found[i]), Tokens(whole[i].begin(), stops && stop_params.include_stop_text ? at + 2 : at));
      EXPECT_EQ(found[i].stop == Status::kStopString, stops);
      stopped += stops ? 1 : 0;
    }
  }
  EXPECT_GT(stopped, 10u);
}

TEST(SearchStops, StopStringsMayBeginInTheStream) {
  for (const SearchMode mode : kModes) {
    SearchFixture bench(4, {4, 6});
    sample_freely(bench);
    FunctionModel model = similar_model([](const Tokens&) { return std::vector<float>{0, 0, 50, 0}; });
    bench.set_stops(pair_stops());
    bench.input().text.stop_state = 1;
    const auto found = bench.run(model.view(), params_of(mode));
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(tokens_of(found[0]), Tokens());  // the shown text ends in the stream
    EXPECT_EQ(found[0].stop, Status::kStopString);
  }
}

TEST(SearchStops, TokensOfTheAnswerCountTowardsTheLimit) {
  for (const SearchMode mode : kModes) {
    SearchFixture bench(9, {4, 8});
    FunctionModel model = similar_model(scrambled(9, 2));
    StopParams stops;
    stops.max_tokens = 6;
    bench.set_stops(stops);
    for (const uint64_t generated : {0u, 2u, 5u, 6u, 9u}) {
      bench.input().generated_count = generated;
      const auto found = bench.run(model.view(), params_of(mode));
      ASSERT_FALSE(found.empty());
      for (const SearchSequence& s : found) {
        EXPECT_EQ(s.token_count, 6 - std::min<uint64_t>(generated, 6));
        EXPECT_EQ(s.stop, Status::kStopMaxTokens);
      }
    }
  }
}

TEST(SearchStops, TimeLimitEndsSequences) {
  for (const SearchMode mode : kModes) {
    SearchFixture bench(9, {4, 100000});
    FunctionModel model = similar_model([](const Tokens&) { return std::vector<float>(9, 1.0f); });
    StopParams stops;
    stops.max_time_ns = 2000000;
    bench.set_stops(stops);
    const auto found = bench.run(model.view(), params_of(mode));
    ASSERT_FALSE(found.empty());
    for (const SearchSequence& s : found) {
      EXPECT_EQ(s.stop, Status::kStopTime);
      EXPECT_LT(s.token_count, 100000u);
    }
  }
}

// The time is over before the first token.
TEST(SearchStops, TimeLimitReturnsTheSequencesSoFar) {
  for (const SearchMode mode : kModes) {
    SearchFixture bench(9, {4, 8});
    FunctionModel model = similar_model([](const Tokens&) { return std::vector<float>(9, 1.0f); });
    StopParams stops;
    stops.max_time_ns = 1;
    bench.set_stops(stops);
    const auto found = bench.run(model.view(), params_of(mode));
    ASSERT_FALSE(found.empty());
    for (const SearchSequence& s : found) {
      EXPECT_EQ(s.stop, Status::kStopTime);
      EXPECT_EQ(s.token_count, 0u);
    }
  }
}

TEST(SearchStops, RepetitionEndsASequence) {
  for (const SearchMode mode : kModes) {
    SearchFixture bench(9, {4, 60});
    FunctionModel model = similar_model([](const Tokens& tokens) {
      std::vector<float> logits(9, 0.0f);
      logits[1 + tokens.size() % 3] = 40;
      return logits;
    });
    StopParams stops;
    stops.repetition_limit = 0.6f;
    stops.repetition_window = 32;
    bench.set_stops(stops);
    const auto found = bench.run(model.view(), params_of(mode));
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].stop, Status::kStopRepetition);
    const Tokens tokens = tokens_of(found[0]);
    for (size_t n = 1; n <= tokens.size(); ++n) {
      const TokenHistory history({}, {}, std::span(tokens).first(n));
      EXPECT_EQ(repetitiveness(history.last(32), 32) > 0.6f, n == tokens.size());
    }
  }
}

}  // namespace
}  // namespace sotto
