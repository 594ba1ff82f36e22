// ROUGE, the overlap of texts with references (Lin, 2004), as Google's rouge-score computes it.
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

// Returns the overlap with the reference that gives the largest f. `references` are not empty. With `stems`, words of
// more than 3 letters are replaced by their stems.
Rouge rouge_of(const std::string& hypothesis, const std::vector<std::string>& references, bool stems);

}  // namespace sotto::cli
