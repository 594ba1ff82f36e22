// ROUGE, the overlap of texts with references (Lin, 2004), as Google's rouge-score computes it without its stemmer.
#pragma once

#include <string>
#include <vector>

namespace sotto::cli {

struct Overlap {
  double precision = 0.0;
  double recall = 0.0;
  double f = 0.0;  // their harmonic mean
};

struct Rouge {
  Overlap rouge_1;  // common words
  Overlap rouge_2;  // common pairs of neighbours
  Overlap rouge_l;  // the longest common subsequence of words
};

// Returns the overlap with the reference for which f is largest. `references` are not empty.
Rouge rouge_of(const std::string& hypothesis, const std::vector<std::string>& references);

// Returns the words of letters a to z and digits, in lower case.
std::vector<std::string> rouge_tokens(const std::string& text);

}  // namespace sotto::cli
