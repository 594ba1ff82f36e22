// Compares beam search with exhaustive enumeration on tiny vocabularies, with and without a grammar.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/unit/search/exhaustive_search.h"

namespace sotto {
namespace {

// The beams are wide enough to lose nothing, and the search continues until no better text is possible.
TEST(BeamSearch, WideBeamsFindTheBestTexts) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const size_t vocabulary = 3 + seed % 3;
    const uint32_t limit = 4;
    SearchFixture bench(static_cast<uint32_t>(vocabulary), {700, limit});
    bench.set_end_token(kEnd);
    const auto logits = scrambled(vocabulary, seed);
    FunctionModel model(logits);
    for (const float penalty : {0.0f, 0.5f, 1.0f, 1.7f, -0.5f}) {
      for (const LengthNorm norm : {LengthNorm::kPower, LengthNorm::kGnmt}) {
        SearchParams params;
        params.length_penalty = penalty;
        params.length_norm = norm;
        params.early_stopping = EarlyStopping::kNever;
        const auto expected = all_texts(logits, params, {limit});
        const auto found = bench.run(model.view(), params);
        ASSERT_EQ(found.size(), std::min<size_t>(expected.size(), 700));
        expect_texts(found, expected);
      }
    }
  }
}

TEST(BeamSearch, WideBeamsFindTheBestTextsOfAGrammar) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    const uint32_t limit = 5, count = 300;
    SearchFixture bench(5, {count, limit});
    bench.set_end_token(kEnd);
    const auto logits = scrambled(5, seed);
    FunctionModel model(logits);
    ToyGrammar grammar = toy_grammar(constraint_sequence_count(count));
    bench.input().constraint = TokenConstraint(&grammar);
    for (const float penalty : {0.0f, 1.0f}) {
      SearchParams params;
      params.length_penalty = penalty;
      params.early_stopping = EarlyStopping::kNever;
      const auto expected = all_texts(logits, params, {limit, &grammar, {}});
      const auto found = bench.run(model.view(), params);
      ASSERT_EQ(found.size(), expected.size());
      expect_texts(found, expected);
    }
  }
}

TEST(BeamSearch, NarrowBeamsStayWithinTheGrammar) {
  const Tokens phrase_tokens = {2, 1};
  const TokenList phrase = {phrase_tokens.data(), phrase_tokens.size()};
  SearchParams beams, drawn, groups, phrases;
  drawn.mode = SearchMode::kBeamSample;
  groups.group_count = 2;
  groups.diversity_penalty = 1.5f;
  phrases.phrases = {&phrase, 1};
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SearchFixture bench(5, {4, 8});
    bench.set_end_token(kEnd);
    FunctionModel model(scrambled(5, seed));
    ToyGrammar grammar = toy_grammar(constraint_sequence_count(4));
    bench.input().constraint = TokenConstraint(&grammar);
    for (const SearchParams& params : {beams, drawn, groups, phrases}) {
      const auto found = bench.run(model.view(), params);
      ASSERT_FALSE(found.empty());
      for (const SearchSequence& sequence : found) {
        int state = 0;
        for (const int32_t token : tokens_of(sequence)) {
          ASSERT_TRUE(grammar.allows(state, token));
          state = grammar.next(state, token);
        }
        if (sequence.stop == Status::kStopEndOfText) {
          EXPECT_TRUE(grammar.allows(state, kEnd));
        }
        EXPECT_EQ(sequence.stop == Status::kStopGrammar, grammar.complete(state));
      }
    }
  }
}

TEST(BeamSearch, ContinuesWhenManyEndTokensRankFirst) {
  SearchFixture bench(12, {1, 3});
  const Tokens ends = {0, 1, 2, 3, 4, 5};
  bench.input().end_tokens = ends;
  FunctionModel model([](const Tokens&) {
    std::vector<float> logits(12, 0.0f);
    std::fill_n(logits.begin(), 6, 0.5f);
    logits[7] = 0.25f;
    return logits;
  });
  SearchParams params;
  params.sequence_count = 1;
  params.length_penalty = 3;  // prefers the longest text
  params.early_stopping = EarlyStopping::kNever;
  const auto found = bench.run(model.view(), params);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(tokens_of(found[0]), Tokens({7, 7}));
  EXPECT_EQ(found[0].stop, Status::kStopEndOfText);
}

TEST(BeamSearch, OneBeamIsGreedy) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const size_t vocabulary = 200;
    SearchFixture bench(vocabulary, {4, 12});
    bench.set_end_token(kEnd);
    const auto logits = scrambled(vocabulary, seed);
    FunctionModel model(logits);
    SearchParams params;
    params.sequence_count = 1;
    params.early_stopping = EarlyStopping::kAtOnce;
    const auto found = bench.run(model.view(), params);
    Tokens expected;
    while (expected.size() < 12) {
      const auto row = logits(expected);
      const auto token = static_cast<int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
      if (token == kEnd) break;
      expected.push_back(token);
    }
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(tokens_of(found[0]), expected);
  }
}

TEST(BeamSearch, TiesGoToTheLowestTokenThenBeam) {
  SearchFixture bench(6, {3, 2});
  FunctionModel model([](const Tokens&) { return std::vector<float>(6, 1.5f); });
  const auto found = bench.run(model.view(), {});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(tokens_of(found[0]), (Tokens{0, 0}));
  EXPECT_EQ(tokens_of(found[1]), (Tokens{1, 0}));
  EXPECT_EQ(tokens_of(found[2]), (Tokens{2, 0}));
}

// Groups choose in turn, and a token that earlier groups chose loses the penalty. With one beam per group and no end,
// the rule can be computed by hand.
TEST(BeamSearch, GroupsAvoidEachOther) {
  const float penalty = 0.7f;
  const auto logits = scrambled(9, 5);
  SearchFixture bench(9, {3, 6});
  FunctionModel model(logits);
  SearchParams params;
  params.group_count = 3;
  params.diversity_penalty = penalty;
  params.length_penalty = 0;
  const auto found = bench.run(model.view(), params);
  std::vector<Tokens> groups(3);
  std::vector<double> scores(3), sums(3);
  for (int step = 0; step < 6; ++step) {
    std::vector<int> chosen(9);
    for (size_t g = 0; g < 3; ++g) {
      const std::vector<double> lp = log_probabilities(logits(groups[g]));
      size_t best = 0;
      for (size_t t = 1; t < 9; ++t) {
        if (lp[t] - penalty * chosen[t] > lp[best] - penalty * chosen[best]) best = t;
      }
      scores[g] += lp[best] - penalty * chosen[best];
      sums[g] += lp[best];
      ++chosen[best];
      groups[g].push_back(static_cast<int32_t>(best));
    }
  }
  ASSERT_EQ(found.size(), 3u);
  for (const SearchSequence& sequence : found) {
    EXPECT_EQ(tokens_of(sequence), groups[sequence.index]);
    EXPECT_NEAR(sequence.score, scores[sequence.index], 1e-5);
    EXPECT_NEAR(sequence.log_probability, sums[sequence.index], 1e-5);
  }
}

bool contains(const Tokens& tokens, const Tokens& phrase) {
  return std::search(tokens.begin(), tokens.end(), phrase.begin(), phrase.end()) != tokens.end();
}

TEST(BeamSearch, PhrasesAppearAndTheBestTextIsFound) {
  const std::vector<std::vector<Tokens>> cases = {{{2, 1}}, {{3}, {1, 1}}, {{1, 2, 1}, {2, 1, 3}}, {{2, 2}, {2, 3}}};
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    for (const auto& phrases : cases) {
      for (const bool alternatives : {false, true}) {
        std::vector<TokenList> lists;
        for (const Tokens& phrase : phrases) lists.push_back({phrase.data(), phrase.size()});
        const std::vector<uint32_t> groups(phrases.size(), 7);
        const uint32_t limit = 5;
        SearchFixture bench(4, {800, limit});
        bench.set_end_token(kEnd);
        const auto logits = scrambled(4, seed);
        FunctionModel model(logits);
        SearchParams params;
        params.phrases = lists;
        if (alternatives) params.phrase_groups = groups.data();
        params.early_stopping = EarlyStopping::kNever;
        auto expected = all_texts(logits, params, {limit});
        std::erase_if(expected, [&](const Text& text) {
          const auto has = [&](const Tokens& phrase) { return contains(text.tokens, phrase); };
          return alternatives ? std::none_of(phrases.begin(), phrases.end(), has)
                              : !std::all_of(phrases.begin(), phrases.end(), has);
        });
        ASSERT_FALSE(expected.empty());
        const auto all = bench.run(model.view(), params);
        ASSERT_EQ(all.size(), expected.size());
        expect_texts(all, expected);

        // A few beams find some text with the phrases.
        params.sequence_count = 4;
        const auto found = bench.run(model.view(), params);
        ASSERT_FALSE(found.empty());
        for (const SearchSequence& sequence : found) {
          const auto has = [&](const Tokens& phrase) { return contains(tokens_of(sequence), phrase); };
          EXPECT_TRUE(alternatives ? std::any_of(phrases.begin(), phrases.end(), has)
                                   : std::all_of(phrases.begin(), phrases.end(), has));
        }
      }
    }
  }
}

// Few beams find improbable phrases in a larger vocabulary as well.
TEST(BeamSearch, FewBeamsPlaceImprobablePhrases) {
  const Tokens first = {41, 17, 99}, second = {5, 88};
  const std::vector<TokenList> lists = {{first.data(), first.size()}, {second.data(), second.size()}};
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SearchFixture bench(120, {4, 9});
    bench.set_end_token(kEnd);
    FunctionModel model([=](const Tokens& tokens) {
      std::vector<float> logits = scrambled_logits(tokens, 120, seed, 8);
      for (const int32_t token : {41, 17, 99, 5, 88}) logits[static_cast<size_t>(token)] -= 12;
      return logits;
    });
    SearchParams params;
    params.phrases = lists;
    const auto found = bench.run(model.view(), params);
    ASSERT_FALSE(found.empty());
    for (const SearchSequence& sequence : found) {
      EXPECT_TRUE(contains(tokens_of(sequence), first));
      EXPECT_TRUE(contains(tokens_of(sequence), second));
    }
  }
}

// Of 3 beams drawn from 5 tokens at once, the first is distributed as p, and each set as draws without replacement.
TEST(BeamSearch, DrawnBeamsFollowTheDistribution) {
  const std::vector<float> logits = {1.2f, 0.1f, -0.4f, 0.9f, 2.0f};
  FunctionModel model([&](const Tokens&) { return logits; });
  SearchFixture bench(5, {2, 1});
  SearchParams params;
  params.mode = SearchMode::kBeamSample;
  SamplerParams sampler = plain_sampler();
  sampler.temperature = 0.8f;
  std::vector<double> p;
  double sum = 0;
  for (const float l : logits) sum += std::exp(l / 0.8);
  for (const float l : logits) p.push_back(std::exp(l / 0.8) / sum);
  constexpr int kDraws = 20000;
  double counts[5][5] = {};
  for (int draw = 0; draw < kDraws; ++draw) {
    sampler.seed = static_cast<uint64_t>(draw);
    bench.set_sampler(sampler);
    const auto found = bench.run(model.view(), params);
    const auto a = static_cast<size_t>(found[0].tokens[0]);
    const auto b = static_cast<size_t>(found[1].tokens[0]);
    EXPECT_NEAR(found[0].score, std::log(p[a]), 1e-5);
    counts[std::min(a, b)][std::max(a, b)] += 1;
  }
  double chi_square = 0;
  for (size_t a = 0; a < 5; ++a) {
    for (size_t b = a + 1; b < 5; ++b) {
      const double expected = kDraws * (p[a] * p[b] / (1 - p[a]) + p[b] * p[a] / (1 - p[b]));
      chi_square += (counts[a][b] - expected) * (counts[a][b] - expected) / expected;
    }
  }
  EXPECT_LT(chi_square, 27.9);  // with 9 degrees of freedom, p = 0.001
}

// Only the first token is drawn from more than the most likely one.
TEST(BeamSearch, DrawnBeamsDecayTopP) {
  FunctionModel model(scrambled(6, 5));
  SearchFixture bench(6, {1, 8});
  SearchParams params;
  params.mode = SearchMode::kBeamSample;
  SamplerParams sampler = plain_sampler();
  sampler.temperature = 1;
  sampler.top_p_decay = 1e-6f;
  std::set<Tokens> found;
  for (sampler.seed = 0; sampler.seed < 100; ++sampler.seed) {
    bench.set_sampler(sampler);
    found.insert(tokens_of(bench.run(model.view(), params)[0]));
  }
  EXPECT_GT(found.size(), 2u);
  EXPECT_LE(found.size(), 6u);
}

TEST(BeamSearch, GreedyBeamsAreNotDrawn) {
  FunctionModel model(scrambled(6, 5));
  SearchFixture bench(6, {3, 8});
  SearchParams params;
  params.mode = SearchMode::kBeamSample;
  SamplerParams sampler = plain_sampler();
  sampler.temperature = 0;
  std::set<Tokens> found;
  for (sampler.seed = 0; sampler.seed < 20; ++sampler.seed) {
    bench.set_sampler(sampler);
    for (const SearchSequence& s : bench.run(model.view(), params)) found.insert(tokens_of(s));
  }
  EXPECT_EQ(found.size(), 1u);
}

// Many tokens end the text, and all of them are more likely than those that do not.
TEST(BeamSearch, ConsidersEnoughTokensThatDoNotEndTheText) {
  constexpr int32_t kEnds = 60;
  FunctionModel model([](const Tokens& tokens) {
    std::vector<float> logits(64);
    for (size_t i = 0; i < logits.size(); ++i) logits[i] = i < kEnds ? 3 : tokens.empty() ? 0 : 9;
    return logits;
  });
  SearchFixture bench(64, {2, 4});
  Tokens ends(kEnds);
  std::iota(ends.begin(), ends.end(), 0);
  StopParams stops;
  stops.stop_tokens = ends;
  bench.set_stops(stops);
  SearchParams params;
  params.early_stopping = EarlyStopping::kNever;
  params.length_penalty = 10;
  for (const SearchSequence& s : bench.run(model.view(), params)) EXPECT_EQ(s.token_count, 4u);
}

TEST(BeamSearch, CancellingReturnsTheSequencesSoFar) {
  SearchFixture bench(7, {3, 10});
  FunctionModel model(scrambled(7, 3));
  model.cancel_at(4, &bench.cancellation());
  const auto found = bench.run(model.view(), {}, Status::kStopCancelled);
  ASSERT_EQ(found.size(), 3u);
  for (const SearchSequence& sequence : found) {
    EXPECT_EQ(sequence.token_count, 5u);
    EXPECT_EQ(sequence.stop, Status::kStopCancelled);
  }
}

TEST(BeamSearch, CallbackCanStop) {
  SearchFixture bench(7, {3, 10});
  FunctionModel model(scrambled(7, 3));
  struct Seen {
    int count = 0;
    std::vector<Tokens> texts = std::vector<Tokens>(3);
  } seen;
  SearchParams params;
  params.step_user_data = &seen;
  params.on_step = [](void* data, uint32_t sequence, int32_t) {
    auto& s = *static_cast<Seen*>(data);
    EXPECT_LT(sequence, 3u);
    return ++s.count == 6 ? 1 : 0;
  };
  const auto found = bench.run(model.view(), params, Status::kStopCallback);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].token_count, 2u);
  EXPECT_EQ(found[0].stop, Status::kStopCallback);
}

TEST(BeamSearch, EndsWithTheModelsPositions) {
  SearchFixture bench(7, {3, 10});
  FunctionModel model(scrambled(7, 3), 4);
  const auto found = bench.run(model.view(), {});
  for (const SearchSequence& sequence : found) {
    EXPECT_EQ(sequence.token_count, 5u);
    EXPECT_EQ(sequence.stop, Status::kStopContextFull);
  }
}

// Penalties and bans of the sampler apply to each beam's own text.
TEST(BeamSearch, TheSamplerReweighs) {
  SearchFixture bench(6, {4, 5});
  SamplerParams sampler = plain_sampler();
  sampler.no_repeat_ngram = 1;
  const TokenBias ban = {3, -std::numeric_limits<float>::infinity()};
  sampler.logit_bias = {&ban, 1};
  bench.set_sampler(sampler);
  FunctionModel model(scrambled(6, 8));
  const auto found = bench.run(model.view(), {});
  ASSERT_EQ(found.size(), 4u);
  for (const SearchSequence& sequence : found) {
    Tokens tokens = tokens_of(sequence);
    EXPECT_EQ(std::count(tokens.begin(), tokens.end(), 3), 0);
    std::sort(tokens.begin(), tokens.end());
    EXPECT_EQ(std::adjacent_find(tokens.begin(), tokens.end()), tokens.end());
  }
}

}  // namespace
}  // namespace sotto
