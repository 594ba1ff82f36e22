#include "platforms/cli/eval/porter.h"

#include <cstddef>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace sotto::cli {
namespace {

// Returns for each letter whether it is a consonant: not a, e, i, o or u, and not y after a consonant.
std::vector<bool> consonants_of(std::string_view word) {
  std::vector<bool> consonants;
  for (size_t i = 0; i < word.size(); ++i) {
    const bool is_vowel = std::string_view("aeiou").find(word[i]) != std::string_view::npos;
    consonants.push_back(word[i] == 'y' ? i == 0 || !consonants[i - 1] : !is_vowel);
  }
  return consonants;
}

// Returns m, the number of times that a consonant follows a vowel.
size_t measure(std::string_view word) {
  const std::vector<bool> consonants = consonants_of(word);
  size_t count = 0;
  for (size_t i = 1; i < word.size(); ++i) count += !consonants[i - 1] && consonants[i] ? 1 : 0;
  return count;
}

bool is_above_0(std::string_view stem) { return measure(stem) > 0; }
bool is_above_1(std::string_view stem) { return measure(stem) > 1; }

bool contains_vowel(std::string_view word) {
  for (const bool is_consonant : consonants_of(word)) {
    if (!is_consonant) return true;
  }
  return false;
}

// Returns whether a word ends with consonant, vowel, consonant, where the last is not w, x or y; or is a vowel and a
// consonant.
bool ends_short(std::string_view word) {
  const std::vector<bool> consonants = consonants_of(word);
  const size_t n = word.size();
  if (n == 2) return !consonants[0] && consonants[1];
  return n > 2 && consonants[n - 3] && !consonants[n - 2] && consonants[n - 1] &&
         std::string_view("wxy").find(word[n - 1]) == std::string_view::npos;
}

bool ends_double(std::string_view word) {
  const size_t n = word.size();
  return n > 1 && word[n - 1] == word[n - 2] && consonants_of(word)[n - 1];
}

std::string without(std::string_view word, size_t count) { return std::string(word.substr(0, word.size() - count)); }

struct Rule {
  std::string_view suffix;
  std::string_view replacement;
};

// Applies the first rule whose suffix fits, if the rest of the word fulfils the condition.
template <typename Condition>
std::string replaced(const std::string& word, std::span<const Rule> rules, const Condition& condition) {
  for (const Rule& rule : rules) {
    if (!word.ends_with(rule.suffix)) continue;
    const std::string stem = without(word, rule.suffix.size());
    return condition(stem, rule) ? stem + std::string(rule.replacement) : word;
  }
  return word;
}

std::string without_plural(const std::string& word) {
  if (word.ends_with("ies")) return without(word, word.size() == 4 ? 1 : 2);
  if (word.ends_with("sses")) return without(word, 2);
  return word.ends_with("s") && !word.ends_with("ss") ? without(word, 1) : word;
}

// Removes -ed and -ing, and restores the end that the word then has.
std::string without_tense(const std::string& word) {
  if (word.ends_with("ied")) return without(word, word.size() == 4 ? 1 : 2);
  if (word.ends_with("eed")) return is_above_0(without(word, 3)) ? without(word, 1) : word;
  std::string stem;
  if (word.ends_with("ed")) stem = without(word, 2);
  if (word.ends_with("ing")) stem = without(word, 3);
  if (!contains_vowel(stem)) return word;
  if (stem.ends_with("at") || stem.ends_with("bl") || stem.ends_with("iz")) return stem + 'e';
  if (ends_double(stem)) {
    return std::string_view("lsz").find(stem.back()) == std::string_view::npos ? without(stem, 1) : stem;
  }
  return measure(stem) == 1 && ends_short(stem) ? stem + 'e' : stem;
}

std::string with_i(const std::string& word) {
  const std::string stem = word.ends_with("y") ? without(word, 1) : "";
  return stem.size() > 1 && consonants_of(stem).back() ? stem + 'i' : word;
}

std::string without_double_suffix(const std::string& word) {
  constexpr Rule kRules[] = {{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"},   {"anci", "ance"},
                             {"izer", "ize"},    {"bli", "ble"},     {"alli", "al"},     {"entli", "ent"},
                             {"eli", "e"},       {"ousli", "ous"},   {"ization", "ize"}, {"ation", "ate"},
                             {"ator", "ate"},    {"alism", "al"},    {"iveness", "ive"}, {"fulness", "ful"},
                             {"ousness", "ous"}, {"aliti", "al"},    {"iviti", "ive"},   {"biliti", "ble"},
                             {"fulli", "ful"},   {"logi", "log"}};
  if (word.ends_with("alli") && is_above_0(without(word, 4))) return without_double_suffix(without(word, 2));
  return replaced(word, kRules, [](const std::string& stem, const Rule& rule) {
    return is_above_0(rule.suffix == "logi" ? stem + 'l' : stem);
  });
}

std::string without_suffix(const std::string& word) {
  constexpr Rule kRules[] = {{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"},
                             {"ical", "ic"},  {"ful", ""},   {"ness", ""}};
  return replaced(word, kRules, [](const std::string& stem, const Rule&) { return is_above_0(stem); });
}

std::string without_last_suffix(const std::string& word) {
  constexpr Rule kRules[] = {{"al", ""},   {"ance", ""}, {"ence", ""}, {"er", ""},    {"ic", ""},
                             {"able", ""}, {"ible", ""}, {"ant", ""},  {"ement", ""}, {"ment", ""},
                             {"ent", ""},  {"ion", ""},  {"ou", ""},   {"ism", ""},   {"ate", ""},
                             {"iti", ""},  {"ous", ""},  {"ive", ""},  {"ize", ""}};
  return replaced(word, kRules, [](const std::string& stem, const Rule& rule) {
    return is_above_1(stem) && (rule.suffix != "ion" || stem.ends_with('s') || stem.ends_with('t'));
  });
}

std::string without_e(const std::string& word) {
  if (!word.ends_with('e')) return word;
  const std::string stem = without(word, 1);
  const size_t m = measure(stem);
  return m > 1 || (m == 1 && !ends_short(stem)) ? stem : word;
}

std::string without_double_l(const std::string& word) {
  return word.ends_with("ll") && is_above_1(without(word, 1)) ? without(word, 1) : word;
}

}  // namespace

std::string stem_of(const std::string& word) {
  constexpr std::pair<std::string_view, std::string_view> kIrregular[] = {
      {"sky", "sky"},        {"skies", "sky"},       {"dying", "die"},        {"lying", "lie"},
      {"tying", "tie"},      {"news", "news"},       {"innings", "inning"},   {"inning", "inning"},
      {"outings", "outing"}, {"outing", "outing"},   {"cannings", "canning"}, {"canning", "canning"},
      {"howe", "howe"},      {"proceed", "proceed"}, {"exceed", "exceed"},    {"succeed", "succeed"}};
  for (const auto& [form, stem] : kIrregular) {
    if (word == form) return std::string(stem);
  }
  std::string stem = with_i(without_tense(without_plural(word)));
  stem = without_last_suffix(without_suffix(without_double_suffix(stem)));
  return without_double_l(without_e(stem));
}

}  // namespace sotto::cli
