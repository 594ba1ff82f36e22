// Compiles the regular expressions of pre-tokenizers to automata (runtime/text/splitter.h).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace sotto {

// A pattern, and what becomes of the text that it matches and of the gaps between matches (SplitStep).
struct SplitRule {
  std::string_view pattern;
  bool keep_matches = true;
  bool keep_gaps = true;
  bool bare_matches = false;
};

// Compiles the pattern of a rule and appends the resulting step. Example: the pattern \p{N}{1,3} splits "ab12345c" into
// "ab", "123", "45" and "c". The dialect is that of Oniguruma, the engine of the `tokenizers` package: sequences,
// choices, groups, (?i:...) around ASCII letters, classes, properties, greedy, lazy and possessive repetitions, and
// look-ahead at one character. If no automaton finds exactly the matches of that engine in linear time, throws a
// std::runtime_error that names the construct.
void append_split_step(const SplitRule& rule, std::vector<uint32_t>* steps);

}  // namespace sotto
