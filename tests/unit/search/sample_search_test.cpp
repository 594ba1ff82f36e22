// Tests parallel continuations, the choice among them, and contrastive search.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "runtime/search/sample_search.h"
#include "tests/unit/search/search_fixture.h"

namespace sotto {
namespace {

constexpr int32_t kEnd = 0;

double log_probability(const std::vector<float>& logits, int32_t token) {
  double max = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (const float l : logits) sum += std::exp(l - max);
  return logits[static_cast<size_t>(token)] - max - std::log(sum);
}

SearchParams sample_params(Rerank rerank = Rerank::kOrder) {
  SearchParams params;
  params.mode = SearchMode::kSample;
  params.rerank = rerank;
  return params;
}

// Generates one continuation after the other, only with the sampler.
struct Alone {
  Tokens tokens;
  double log_probability = 0;
  uint32_t length = 0;
};
Alone sample_alone(SearchFixture& bench, const FunctionModel::Logits& model, uint32_t sequence, uint32_t limit) {
  Alone text;
  SamplerState state = bench.sampler().initial_state();
  while (text.tokens.size() < limit) {
    const auto logits = model(text.tokens);
    SampleInput input;
    input.history = TokenHistory({}, {}, text.tokens);
    input.place = 1 + text.tokens.size();
    input.sequence = sequence;
    input.generated_count = text.tokens.size();
    input.token_limit = limit;
    const int32_t token = bench.sampler().sample(logits, TokenMask(), input, &state).token;
    text.log_probability += log_probability(logits, token);
    ++text.length;
    if (token == kEnd) break;
    text.tokens.push_back(token);
  }
  return text;
}

TEST(SampleSearch, EqualsSeparateRuns) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SearchFixture bench(11, {7, 9});
    bench.set_end_token(kEnd);
    SamplerParams sampler = plain_sampler();
    sampler.seed = seed;
    sampler.temperature = 0.9f;
    sampler.repetition_penalty = 1.3f;
    if (seed % 2 == 0) sampler.selection = Selection::kMirostatV2;
    bench.set_sampler(sampler);
    const auto logits = scrambled(11, seed);
    FunctionModel model(logits);
    const auto found = bench.run(model.view(), sample_params());
    ASSERT_EQ(found.size(), 7u);
    for (uint32_t i = 0; i < 7; ++i) {
      const Alone alone = sample_alone(bench, logits, i, 9);
      EXPECT_EQ(found[i].index, i);
      EXPECT_EQ(tokens_of(found[i]), alone.tokens);
      EXPECT_NEAR(found[i].log_probability, alone.log_probability, 1e-5);
      EXPECT_EQ(found[i].stop, alone.length > alone.tokens.size() ? Status::kStopEndOfText : Status::kStopMaxTokens);
    }
    EXPECT_LE(model.most_rows(), 7u);
    EXPECT_LE(model.grow_count(), 8u);
  }
}

TEST(SampleSearch, BestOfNHasTheBestLengthScore) {
  SearchFixture bench(11, {20, 9});
  bench.set_end_token(kEnd);
  FunctionModel model(scrambled(11, 4));
  SearchParams params = sample_params();
  const auto drawn = bench.run(model.view(), params);
  std::vector<double> means;
  for (const SearchSequence& s : drawn) {
    const bool ended = s.stop == Status::kStopEndOfText;
    means.push_back(s.log_probability / static_cast<double>(s.token_count + (ended ? 1 : 0)));
  }
  std::sort(means.rbegin(), means.rend());
  params.rerank = Rerank::kBest;
  params.return_count = 5;
  const auto best = bench.run(model.view(), params);
  ASSERT_EQ(best.size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(best[i].score, means[i], 1e-9);
}

TEST(SampleSearch, TheMostFrequentTextWinsTheVote) {
  SearchFixture bench(3, {60, 2});
  FunctionModel model([](const Tokens&) { return std::vector<float>{0.1f, 1.4f, 0.2f}; });
  const auto drawn = bench.run(model.view(), sample_params());
  std::map<Tokens, int> counts;
  for (const SearchSequence& s : drawn) ++counts[tokens_of(s)];
  const auto voted = bench.run(model.view(), sample_params(Rerank::kExact));
  ASSERT_EQ(voted.size(), 60u);
  int most = 0;
  for (const auto& [tokens, count] : counts) most = std::max(most, count);
  EXPECT_EQ(counts[tokens_of(voted[0])], most);
  for (const SearchSequence& s : voted) {
    EXPECT_DOUBLE_EQ(s.score, counts[tokens_of(s)] / 60.0);
  }
  EXPECT_TRUE(
      std::is_sorted(voted.begin(), voted.end(), [](const auto& a, const auto& b) { return a.score > b.score; }));
}

// Computes the F1 score of n-gram counts directly from the definition.
double ngram_f1(const Tokens& a, const Tokens& b) {
  double sum = 0;
  int lengths = 0;
  for (size_t n = 1; n <= 4; ++n) {
    std::map<Tokens, std::pair<int, int>> counts;
    int all = 0, shared = 0;
    for (size_t i = 0; i + n <= a.size(); ++i, ++all) {
      ++counts[Tokens(a.begin() + static_cast<ptrdiff_t>(i), a.begin() + static_cast<ptrdiff_t>(i + n))].first;
    }
    for (size_t i = 0; i + n <= b.size(); ++i, ++all) {
      ++counts[Tokens(b.begin() + static_cast<ptrdiff_t>(i), b.begin() + static_cast<ptrdiff_t>(i + n))].second;
    }
    if (all == 0) continue;
    for (const auto& [ngram, count] : counts) shared += std::min(count.first, count.second);
    sum += 2.0 * shared / all;
    ++lengths;
  }
  return lengths == 0 ? 1 : sum / lengths;
}

TEST(Similarity, OfNgramsIsTheirF1) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Tokens a(random() % 12), b(random() % 12);
    for (int32_t& token : a) token = static_cast<int32_t>(random() % 3);
    for (int32_t& token : b) token = static_cast<int32_t>(random() % 3);
    std::vector<uint32_t> a_order(a.size()), b_order(b.size());
    sort_ngrams(a, a_order);
    sort_ngrams(b, b_order);
    EXPECT_DOUBLE_EQ(ngram_similarity(a, a_order, b, b_order), ngram_f1(a, b));
  }
}

TEST(SampleSearch, MinimumBayesRiskUsesTheSimilarity) {
  SearchFixture bench(4, {9, 6});
  bench.set_end_token(kEnd);
  FunctionModel model(scrambled(4, 2, 1));
  const auto drawn = bench.run(model.view(), sample_params());
  std::vector<Tokens> texts;
  for (const SearchSequence& s : drawn) texts.push_back(tokens_of(s));
  const auto by_ngrams = bench.run(model.view(), sample_params(Rerank::kNgram));
  for (const SearchSequence& s : by_ngrams) {
    double sum = 0;
    for (const Tokens& other : texts) sum += ngram_f1(texts[s.index], other);
    EXPECT_NEAR(s.score, sum / 9, 1e-12);
  }
  // The caller's similarity is the length of the shorter text relative to the longer one, minus a constant.
  SearchParams params = sample_params(Rerank::kCallback);
  params.similarity = [](void* offset, const int32_t*, size_t a, const int32_t*, size_t b) {
    const auto x = static_cast<double>(a), y = static_cast<double>(b);
    return std::min(x, y) / (std::max(x, y) + 1) - *static_cast<double*>(offset);
  };
  double offset = 3;
  params.similarity_user_data = &offset;
  for (const SearchSequence& s : bench.run(model.view(), params)) {
    double sum = 0;
    for (const Tokens& other : texts) {
      const double a = static_cast<double>(texts[s.index].size());
      const double b = static_cast<double>(other.size());
      sum += std::min(a, b) / (std::max(a, b) + 1) - 3;
    }
    EXPECT_NEAR(s.score, sum / 9, 1e-12);
  }
  offset = 1e308;  // the sum of nine such numbers is not finite
  for (const SearchSequence& s : bench.run(model.view(), params)) {
    EXPECT_NEAR(s.score, -1e308, 1e300);
  }
  offset = std::numeric_limits<double>::infinity();
  EXPECT_EQ(bench.refusal(model.view(), params), "similarity returned a value that is not finite");
}

// Any number of 1s, then a 2, which ends the text.
ToyGrammar counting_grammar(uint32_t sequence_count) {
  constexpr int kDead = ToyGrammar::kDead;
  return ToyGrammar({{kDead, 0, 1, kDead}, {kDead, kDead, kDead, kDead}}, {false, true}, kEnd, sequence_count);
}

TEST(SampleSearch, FollowsAGrammar) {
  SearchFixture bench(4, {8, 20});
  bench.set_end_token(kEnd);
  FunctionModel model(scrambled(4, 2, 1));
  ToyGrammar grammar = counting_grammar(constraint_sequence_count(8));
  bench.input().constraint = TokenConstraint(&grammar);
  for (const SearchSequence& s : bench.run(model.view(), sample_params())) {
    const Tokens tokens = tokens_of(s);
    ASSERT_FALSE(tokens.empty());
    EXPECT_EQ(std::count(tokens.begin(), tokens.end() - 1, 1), static_cast<ptrdiff_t>(tokens.size() - 1));
    EXPECT_EQ(s.stop, tokens.back() == 2 ? Status::kStopGrammar : Status::kStopMaxTokens);
  }
}

// A constraint that rejects every token that it is given.
struct RejectingConstraint : AnyToken {
  Status accept_token(uint32_t, int32_t) { return Status::kInvalidArgument; }
};

TEST(Searches, TheFailureOfAConstraintIsNotTakenForOneOfTheSimilarity) {
  SearchFixture bench(4, {9, 6});
  FunctionModel model(scrambled(4, 2, 1));
  RejectingConstraint constraint;
  bench.input().constraint = TokenConstraint(&constraint);
  for (const SearchMode mode : {SearchMode::kBeam, SearchMode::kBeamSample, SearchMode::kSample}) {
    SearchParams params;
    params.mode = mode;
    EXPECT_EQ(bench.refusal(model.view(), params), status_text(Status::kInvalidArgument));
  }
}

TEST(Searches, AddNothingToACompleteText) {
  SearchFixture bench(3, {4, 5});
  FunctionModel model(scrambled(3, 2));
  ToyGrammar grammar({{ToyGrammar::kDead, ToyGrammar::kDead, ToyGrammar::kDead}}, {true}, kEnd,
                     constraint_sequence_count(4));
  bench.input().constraint = TokenConstraint(&grammar);
  for (const SearchMode mode : {SearchMode::kBeam, SearchMode::kSample}) {
    SearchParams params;
    params.mode = mode;
    const auto found = bench.run(model.view(), params);
    ASSERT_EQ(found.size(), mode == SearchMode::kSample ? 4u : 1u);
    EXPECT_EQ(found[0].token_count, 0u);
    EXPECT_EQ(found[0].stop, Status::kStopGrammar);
  }
  EXPECT_EQ(model.grow_count(), 0u);
}

TEST(SampleSearch, CancellingAndStoppingReturnTheSequencesSoFar) {
  SearchFixture bench(7, {3, 10});
  {
    FunctionModel model(scrambled(7, 3));
    model.cancel_at(4, &bench.cancellation());
    const auto found = bench.run(model.view(), sample_params(), Status::kStopCancelled);
    ASSERT_EQ(found.size(), 3u);
    for (const SearchSequence& s : found) {
      EXPECT_EQ(s.token_count, 5u);
      EXPECT_EQ(s.stop, Status::kStopCancelled);
    }
  }
  bench.cancellation().take();
  FunctionModel model(scrambled(7, 3));
  SearchParams params = sample_params();
  std::vector<Tokens> seen(3);
  params.step_user_data = &seen;
  params.on_step = [](void* data, uint32_t sequence, int32_t token) {
    auto& texts = *static_cast<std::vector<Tokens>*>(data);
    texts[sequence].push_back(token);
    return texts[sequence].size() == 4 ? 1 : 0;
  };
  const auto found = bench.run(model.view(), params, Status::kStopCallback);
  for (uint32_t i = 0; i < 3; ++i) EXPECT_EQ(tokens_of(found[i]), seen[i]);
  EXPECT_EQ(found[0].token_count, 4u);
}

TEST(ContrastiveSearch, WeighsProbabilityAgainstSimilarity) {
  const auto similarity = [](const Tokens& tokens) { return scrambled_logits(tokens, 1, 77, 1)[0] * 2 - 1; };
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    for (const float alpha : {0.0f, 0.4f, 1.0f}) {
      const auto logits = scrambled(30, seed);
      FunctionModel model(logits);
      model.set_similarity(similarity);
      SearchFixture bench(30, {5, 12});
      bench.set_end_token(kEnd);
      SearchParams params;
      params.mode = SearchMode::kContrastive;
      params.contrastive_k = 5;
      params.contrastive_alpha = alpha;
      const auto found = bench.run(model.view(), params);
      Tokens expected;
      double sum = 0;
      bool ended = false;
      while (expected.size() < 12 && !ended) {
        const auto row = logits(expected);
        std::vector<int32_t> ids(30);
        for (int32_t i = 0; i < 30; ++i) ids[static_cast<size_t>(i)] = i;
        std::stable_sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) {
          return row[static_cast<size_t>(a)] > row[static_cast<size_t>(b)];
        });
        int32_t best = -1;
        double best_score = 0;
        for (size_t i = 0; i < 5; ++i) {
          Tokens longer = expected;
          longer.push_back(ids[i]);
          const double score = (1 - static_cast<double>(alpha)) * std::exp(log_probability(row, ids[i])) -
                               static_cast<double>(alpha) * static_cast<double>(similarity(longer));
          if (best < 0 || score > best_score) best = ids[i], best_score = score;
        }
        sum += log_probability(row, best);
        ended = best == kEnd;
        if (!ended) expected.push_back(best);
      }
      ASSERT_EQ(found.size(), 1u);
      EXPECT_EQ(tokens_of(found[0]), expected);
      EXPECT_NEAR(found[0].log_probability, sum, 1e-5);
      EXPECT_EQ(found[0].stop, ended ? Status::kStopEndOfText : Status::kStopMaxTokens);
    }
  }
}

TEST(ContrastiveSearch, EndsWithTheModelsPositions) {
  for (const uint32_t capacity : {0u, 3u}) {
    FunctionModel model(scrambled(8, 1), capacity);
    model.set_similarity([](const Tokens&) { return 0.0f; });
    SearchFixture bench(8, {4, 9});
    SearchParams params;
    params.mode = SearchMode::kContrastive;
    const auto found = bench.run(model.view(), params);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].token_count, capacity);
    EXPECT_EQ(found[0].stop, Status::kStopContextFull);
  }
}

TEST(ContrastiveSearch, FollowsAGrammar) {
  SearchFixture bench(4, {4, 9});
  bench.set_end_token(kEnd);
  FunctionModel model(scrambled(4, 6, 1));
  model.set_similarity([](const Tokens&) { return 0.5f; });
  ToyGrammar grammar = counting_grammar(constraint_sequence_count(4));
  bench.input().constraint = TokenConstraint(&grammar);
  SearchParams params;
  params.mode = SearchMode::kContrastive;
  const auto found = bench.run(model.view(), params);
  const Tokens tokens = tokens_of(found[0]);
  for (size_t i = 0; i + 1 < tokens.size(); ++i) EXPECT_EQ(tokens[i], 1);
  EXPECT_EQ(found[0].stop, tokens.back() == 2 ? Status::kStopGrammar : Status::kStopMaxTokens);
}

}  // namespace
}  // namespace sotto
