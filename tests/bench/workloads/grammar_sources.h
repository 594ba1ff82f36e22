// Grammars to measure, with their texts: built-in ones, and those of a directory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "capi/include/sotto_grammar.h"

namespace sotto::bench {

struct GrammarSource {
  sotto_grammar_language language;
  std::string text;
  std::vector<std::string> samples;  // texts to match, as far as they fit the grammar
};

struct GrammarSet {
  std::string name;
  std::vector<GrammarSource> sources;
};

std::vector<GrammarSet> made_grammars();

// Returns two sets: the .gbnf files of a directory, and its .json files with "schema" and "tests" (a list of {"valid",
// "data"}, as in JSONSchemaBench). Throws std::runtime_error if there are none.
std::vector<GrammarSet> read_grammars(const std::filesystem::path& directory);

}  // namespace sotto::bench
