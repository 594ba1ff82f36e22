#include "tests/unit/search/exhaustive_search.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace sotto {

std::vector<double> log_probabilities(const std::vector<float>& logits) {
  double max = *std::max_element(logits.begin(), logits.end()), sum = 0;
  for (const float l : logits) sum += std::exp(l - max);
  std::vector<double> result;
  for (const float l : logits) result.push_back(l - max - std::log(sum));
  return result;
}

namespace {

// Enumerates every text that can end by the rules.
void enumerate(const FunctionModel::Logits& model, const SearchParams& params, const Rules& rules, int state,
               const Tokens& tokens, double log_probability, std::vector<Text>* texts) {
  const ToyGrammar* grammar = rules.grammar;
  const auto depth = static_cast<uint32_t>(tokens.size());
  const auto add = [&](const Tokens& t, double lp, uint32_t length, Status stop) {
    const double base = params.length_norm == LengthNorm::kGnmt ? (5.0 + length) / 6 : length;
    texts->push_back({t, lp, length, stop, lp / std::pow(base, params.length_penalty)});
  };
  const std::vector<double> lp = log_probabilities(model(tokens));
  for (int32_t token = 0; token < static_cast<int32_t>(lp.size()); ++token) {
    if (grammar != nullptr && !grammar->allows(state, token)) continue;
    const double sum = log_probability + lp[static_cast<size_t>(token)];
    if (token == kEnd) {
      add(tokens, sum, depth + 1, Status::kStopEndOfText);
      continue;
    }
    Tokens longer = tokens;
    longer.push_back(token);
    const int next = grammar == nullptr ? 0 : grammar->next(state, token);
    if (ends_with(longer, rules.stop_string)) {
      longer.resize(longer.size() - rules.stop_string.size());
      add(longer, sum, depth + 1, Status::kStopString);
    } else if (grammar != nullptr && grammar->complete(next)) {
      add(longer, sum, depth + 1, Status::kStopGrammar);
    } else if (depth + 1 == rules.limit) {
      add(longer, sum, depth + 1, Status::kStopMaxTokens);
    } else {
      enumerate(model, params, rules, next, longer, sum, texts);
    }
  }
}

}  // namespace

std::vector<Text> all_texts(const FunctionModel::Logits& model, const SearchParams& params, const Rules& rules) {
  std::vector<Text> texts;
  enumerate(model, params, rules, 0, {}, 0, &texts);
  std::sort(texts.begin(), texts.end(), [](const Text& a, const Text& b) { return a.score > b.score; });
  return texts;
}

void expect_texts(const std::vector<SearchSequence>& found, const std::vector<Text>& expected) {
  ASSERT_LE(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(tokens_of(found[i]), expected[i].tokens) << "rank " << i;
    EXPECT_NEAR(found[i].score, expected[i].score, 1e-5);
    EXPECT_NEAR(found[i].log_probability, expected[i].log_probability, 1e-5);
    EXPECT_EQ(found[i].stop, expected[i].stop);
  }
}

ToyGrammar toy_grammar(uint32_t sequence_count) {
  constexpr int kDead = ToyGrammar::kDead;
  return ToyGrammar({{kDead, 1, 0, kDead, kDead},
                     {kDead, 0, 1, 2, 3},
                     {kDead, kDead, kDead, 2, kDead},
                     {kDead, kDead, kDead, kDead, kDead}},
                    {false, false, true, true}, kEnd, sequence_count);
}

}  // namespace sotto
