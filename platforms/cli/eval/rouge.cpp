#include "platforms/cli/eval/rouge.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "platforms/cli/eval/porter.h"

namespace sotto::cli {
namespace {

using Words = std::vector<std::string>;

Overlap overlap(size_t common, size_t size, size_t reference_size) {
  Overlap result;
  result.precision = static_cast<double>(common) / static_cast<double>(std::max<size_t>(size, 1));
  result.recall = static_cast<double>(common) / static_cast<double>(std::max<size_t>(reference_size, 1));
  const double sum = result.precision + result.recall;
  if (sum > 0.0) result.f = 2.0 * result.precision * result.recall / sum;
  return result;
}

std::map<std::string, size_t> ngrams_of(const Words& words, size_t n) {
  std::map<std::string, size_t> ngrams;
  for (size_t begin = 0; begin + n <= words.size(); ++begin) {
    std::string ngram;
    for (size_t i = begin; i < begin + n; ++i) ngram += words[i] + ' ';
    ++ngrams[ngram];
  }
  return ngrams;
}

Overlap ngram_overlap(const Words& words, const Words& reference, size_t n) {
  size_t common = 0;
  const auto ngrams = ngrams_of(words, n);
  for (const auto& [ngram, count] : ngrams_of(reference, n)) {
    const auto found = ngrams.find(ngram);
    if (found != ngrams.end()) common += std::min(count, found->second);
  }
  const auto count_of = [n](const Words& list) { return list.size() < n ? 0 : list.size() - n + 1; };
  return overlap(common, count_of(words), count_of(reference));
}

Overlap sequence_overlap(const Words& words, const Words& reference) {
  std::vector<size_t> longest(words.size() + 1);  // common subsequence of the reference so far and the first words
  for (const std::string& word : reference) {
    size_t diagonal = 0;
    for (size_t i = 0; i < words.size(); ++i) {
      const size_t above = longest[i + 1];
      longest[i + 1] = words[i] == word ? diagonal + 1 : std::max(above, longest[i]);
      diagonal = above;
    }
  }
  return overlap(longest.back(), words.size(), reference.size());
}

void keep_better(const Overlap& other, bool is_first, Overlap& best) {
  if (is_first || other.f > best.f) best = other;
}

// Returns the words of letters a to z and digits, in lower case.
Words words_of(const std::string& text, bool stems) {
  Words words;
  std::string word;
  for (size_t i = 0; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : ' ';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    // Lower case in Unicode makes these into letters of ASCII: the Kelvin sign, and I with a dot, before a separate
    // dot.
    const std::string_view rest = std::string_view(text).substr(std::min(i, text.size()));
    if (rest.starts_with("\u212a")) {
      c = 'k';
      i += 2;
    } else if (rest.starts_with("\u0130")) {
      word += 'i';
      i += 1;
      c = ' ';
    }
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      word += c;
    } else if (!word.empty()) {
      words.push_back(stems && word.size() > 3 ? stem_of(word) : word);
      word.clear();
    }
  }
  return words;
}

}  // namespace

Rouge rouge_of(const std::string& hypothesis, const std::vector<std::string>& references, bool stems) {
  const Words words = words_of(hypothesis, stems);
  Rouge best;
  bool is_first = true;
  for (const std::string& text : references) {
    const Words reference = words_of(text, stems);
    keep_better(ngram_overlap(words, reference, 1), is_first, best.rouge_1);
    keep_better(ngram_overlap(words, reference, 2), is_first, best.rouge_2);
    keep_better(sequence_overlap(words, reference), is_first, best.rouge_l);
    is_first = false;
  }
  return best;
}

}  // namespace sotto::cli
