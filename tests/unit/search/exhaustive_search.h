// Enumerates every text that a tiny model can generate. A beam search that is wide enough must find the best of them.
#pragma once

#include "tests/unit/search/search_fixture.h"

namespace sotto {

inline constexpr int32_t kEnd = 0;

struct Text {
  Tokens tokens;
  double log_probability;
  uint32_t length;  // includes the end
  Status stop;
  double score;
};

// The tokens that may follow, and the ends of texts.
struct Rules {
  uint32_t limit;
  const ToyGrammar* grammar = nullptr;
  Tokens stop_string = {};
};

// Returns ln softmax(logits).
std::vector<double> log_probabilities(const std::vector<float>& logits);

// Returns all texts that can end by the rules, best first.
std::vector<Text> all_texts(const FunctionModel::Logits& model, const SearchParams& params, const Rules& rules);

// Expects that the search has found the best of them.
void expect_texts(const std::vector<SearchSequence>& found, const std::vector<Text>& expected);

// Letters 1 ... 4: an odd number of 1s, then a 3 or 4, and nothing after a 4.
ToyGrammar toy_grammar(uint32_t sequence_count);

}  // namespace sotto
