// Grammars to measure with their texts: some made here, others from a directory.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "capi/include/sotto_grammar.h"

namespace sotto::bench {

struct GrammarSource {
  sotto_grammar_language language;
  std::string text;
  std::vector<std::string> samples;  // texts to follow as far as they fit
};

struct GrammarSet {
  std::string name;
  std::vector<GrammarSource> sources;
};

std::vector<GrammarSet> made_grammars();

// Returns a set of the directory's .gbnf files, and one of its .json files with "schema" and "tests" (a list of
// {"valid", "data"}, as in JSONSchemaBench). Throws std::runtime_error if there are none.
std::vector<GrammarSet> read_grammars(const std::filesystem::path& directory);

}  // namespace sotto::bench
