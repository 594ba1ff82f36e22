// What the commands of `sotto grammar` share: a grammar that is named on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "platforms/cli/commands.h"
#include "platforms/cli/options/grammar.h"

namespace sotto::cli {

struct GrammarInput {
  GrammarOptions grammar;
  ModelOptions model;  // for its vocabulary; an empty path: none
  std::string source;  // GRAMMAR, as opposed to the value of an option
};

// GRAMMAR, the options that say what it is, and -m. `input` must outlive `command`.
void add_grammar_input(CLI::App& command, GrammarInput& input, const std::string& model_help);
void validate_grammar_input(const CLI::App& command, GrammarInput& input);

// What a command reads before it compiles. Reads the input's trigger tokens if there is a model.
struct LoadedInput {
  explicit LoadedInput(GrammarInput& input);

  GrammarText source;
  std::optional<LoadedModel> model;
  std::optional<Vocabulary> vocabulary;  // of the model
};

LoadedGrammar compile_input(const GrammarInput& input, const LoadedInput& loaded);

// "gbnf, 1.2 KiB, compiled in 0.3 ms"
std::string described(const LoadedGrammar& grammar, const GrammarText& source);
Json described_json(const LoadedGrammar& grammar, const GrammarText& source);

void add_grammar_check(CLI::App& parent, Run& run);
void add_grammar_mask(CLI::App& parent, Run& run);
void add_grammar_compile(CLI::App& parent, Run& run);

}  // namespace sotto::cli
