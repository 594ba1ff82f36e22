#include "platforms/cli/eval/bleu.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

namespace sotto::cli {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// Returns the number of bytes of the white space character (of Unicode, as Python defines it) at `at`, or 0.
size_t space_size(std::string_view text, size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte == ' ' || (byte >= 0x09 && byte <= 0x0d) || (byte >= 0x1c && byte <= 0x1f)) return 1;
  const std::string_view two = text.substr(at, 2), three = text.substr(at, 3);
  if (two == "\u0085" || two == "\u00a0") return 2;
  constexpr std::string_view kSpaces[] = {"\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004",
                                          "\u2005", "\u2006", "\u2007", "\u2008", "\u2009", "\u200a",
                                          "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"};
  return std::find(std::begin(kSpaces), std::end(kSpaces), three) != std::end(kSpaces) ? 3 : 0;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  for (size_t i = 0; i < text.size();) {
    const size_t space = space_size(text, i);
    if (space == 0) {
      word += text[i++];
      continue;
    }
    i += space;
    if (!word.empty()) words.push_back(std::move(word));
    word.clear();
  }
  if (!word.empty()) words.push_back(std::move(word));
  return words;
}

void remove_last_spaces(std::string& text) {
  for (size_t end = text.size(); end > 0;) {
    size_t begin = end - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) --begin;
    if (space_size(text, begin) == 0) return;
    text.resize(end = begin);
  }
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_stop(char c) { return c == '.' || c == ','; }
bool is_symbol(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') || (c >= '(' && c <= '+') ||
         (c >= ':' && c <= '@') || c == '/';
}

// Replaces each pair of neighbours that `fits`, from the left and without overlaps, by `before`, the first, a space,
// the second, and `after`.
template <typename Fits>
std::string with_spaces(const std::string& text, const char* before, const char* after, const Fits& fits) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i + 1 == text.size() || !fits(text[i], text[i + 1])) {
      result += text[i];
      continue;
    }
    result.append(before).append({text[i], ' ', text[i + 1]}).append(after);
    ++i;
  }
  return result;
}

using Ngrams = std::map<std::string, uint64_t>;

// Returns the n-grams of each order with their numbers. Tokens do not contain spaces.
std::array<Ngrams, kBleuOrder> ngrams_of(const std::vector<std::string>& tokens) {
  std::array<Ngrams, kBleuOrder> ngrams;
  for (size_t begin = 0; begin < tokens.size(); ++begin) {
    std::string ngram;
    for (size_t n = 0; n < kBleuOrder && begin + n < tokens.size(); ++n) {
      ngram += tokens[begin + n] + ' ';
      ++ngrams[n][ngram];
    }
  }
  return ngrams;
}

}  // namespace

void BleuCounts::add(const BleuCounts& other) {
  for (size_t n = 0; n < kBleuOrder; ++n) {
    correct[n] += other.correct[n];
    total[n] += other.total[n];
  }
  size += other.size;
  reference_size += other.reference_size;
}

std::vector<std::string> bleu_tokens(const std::string& text) {
  std::string line = text;
  remove_last_spaces(line);
  replace_all(line, "<skipped>", "");
  replace_all(line, "-\n", "");
  replace_all(line, "\n", " ");
  replace_all(line, "&quot;", "\"");
  replace_all(line, "&amp;", "&");
  replace_all(line, "&lt;", "<");
  replace_all(line, "&gt;", ">");
  std::string spaced = " ";
  for (const char c : line) {
    if (is_symbol(c)) {
      spaced.append({' ', c, ' '});
    } else {
      spaced += c;
    }
  }
  spaced += ' ';
  spaced = with_spaces(spaced, "", " ", [](char a, char b) { return !is_digit(a) && is_stop(b); });
  spaced = with_spaces(spaced, " ", "", [](char a, char b) { return is_stop(a) && !is_digit(b); });
  spaced = with_spaces(spaced, "", " ", [](char a, char b) { return is_digit(a) && b == '-'; });
  return words_of(spaced);
}

BleuCounts count_bleu(const std::string& hypothesis, const std::vector<std::string>& references) {
  const std::vector<std::string> tokens = bleu_tokens(hypothesis);
  BleuCounts counts;
  counts.size = tokens.size();
  std::array<Ngrams, kBleuOrder> most;  // the largest number of each n-gram in one reference
  uint64_t smallest_distance = UINT64_MAX;
  for (const std::string& reference : references) {
    const std::vector<std::string> words = bleu_tokens(reference);
    const uint64_t size = words.size();
    const uint64_t distance = std::max(size, counts.size) - std::min(size, counts.size);
    if (distance < smallest_distance || (distance == smallest_distance && size < counts.reference_size)) {
      counts.reference_size = size;
      smallest_distance = distance;
    }
    const auto ngrams = ngrams_of(words);
    for (size_t n = 0; n < kBleuOrder; ++n) {
      for (const auto& [ngram, count] : ngrams[n]) most[n][ngram] = std::max(most[n][ngram], count);
    }
  }
  const auto ngrams = ngrams_of(tokens);
  for (size_t n = 0; n < kBleuOrder; ++n) {
    for (const auto& [ngram, count] : ngrams[n]) {
      counts.total[n] += count;
      const auto found = most[n].find(ngram);
      if (found != most[n].end()) counts.correct[n] += std::min(count, found->second);
    }
  }
  return counts;
}

Bleu bleu_of(const BleuCounts& counts, bool is_sentence) {
  Bleu bleu;
  if (counts.size < counts.reference_size) {
    const double ratio = static_cast<double>(counts.reference_size) / static_cast<double>(counts.size);
    bleu.brevity_penalty = counts.size > 0 ? std::exp(1.0 - ratio) : 0.0;
  }
  if (std::all_of(counts.correct.begin(), counts.correct.end(), [](uint64_t count) { return count == 0; })) return bleu;
  double smoothing = 1.0;
  double sum = 0.0;
  size_t order = 0;
  while (order < kBleuOrder && counts.total[order] > 0) {
    const auto total = static_cast<double>(counts.total[order]);
    if (counts.correct[order] == 0) smoothing *= 2.0;
    bleu.precisions[order] = counts.correct[order] == 0 ? 100.0 / (smoothing * total)
                                                        : 100.0 * static_cast<double>(counts.correct[order]) / total;
    sum += std::log(bleu.precisions[order]);
    ++order;
  }
  if (order < kBleuOrder && !is_sentence) return bleu;  // an order without n-grams has the precision 0
  bleu.score = bleu.brevity_penalty * std::exp(sum / static_cast<double>(order));
  return bleu;
}

}  // namespace sotto::cli
