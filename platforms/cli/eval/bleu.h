// BLEU, the similarity of texts to references (Papineni et al., 2002), as sacrebleu computes it by default.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sotto::cli {

constexpr size_t kBleuOrder = 4;  // length of the longest n-grams

// Counts that add up over the texts of a corpus.
struct BleuCounts {
  std::array<uint64_t, kBleuOrder> correct = {};  // n-grams that are in a reference
  std::array<uint64_t, kBleuOrder> total = {};    // n-grams
  uint64_t size = 0;                              // of the text, in tokens
  uint64_t reference_size = 0;                    // of the reference whose size is closest

  void add(const BleuCounts& other);
};

struct Bleu {
  double score = 0.0;                              // from 0 to 100
  std::array<double, kBleuOrder> precisions = {};  // from 0 to 100, smoothed
  double brevity_penalty = 1.0;
};

// `references` are not empty. All texts are UTF-8.
BleuCounts count_bleu(const std::string& hypothesis, const std::vector<std::string>& references);

// Returns the score of a corpus, or of a single sentence. A sentence may be shorter than the longest n-grams. An order
// without a match counts as half as many matches as the order before that had none: 1/2, 1/4, ... (NIST smoothing).
Bleu bleu_of(const BleuCounts& counts, bool is_sentence);

// Splits a text as the script mteval-v13a does.
std::vector<std::string> bleu_tokens(const std::string& text);

}  // namespace sotto::cli
