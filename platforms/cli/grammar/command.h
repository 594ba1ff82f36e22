// The input of the commands of `sotto grammar`: a grammar on the command line, and the model whose vocabulary it uses.
#pragma once

#include <optional>
#include <string>

#include "platforms/cli/commands.h"
#include "platforms/cli/options/grammar.h"

namespace sotto::cli {

struct GrammarInput {
  GrammarOptions grammar;
  ModelOptions model;  // model with the vocabulary; the path is empty for none
  std::string source;  // the argument GRAMMAR; empty if an option gives the grammar
};

// Adds GRAMMAR, the options that define its language, and -m. `input` must outlive `command`.
void add_grammar_input(Command& command, GrammarInput& input, const std::string& model_help);
void validate_grammar_input(const Command& command, GrammarInput& input);

// The files of a GrammarInput, read before the grammar is compiled. Trigger tokens are looked up if there is a model.
struct LoadedInput {
  explicit LoadedInput(GrammarInput& input);

  GrammarText source;
  std::optional<LoadedModel> model;
  std::optional<Vocabulary> vocabulary;  // the model's
};

LoadedGrammar compile_input(const GrammarInput& input, const LoadedInput& loaded);

// Returns a description of the grammar, such as "gbnf, 1.2 KiB, compiled in 0.3 ms".
std::string described(const LoadedGrammar& compiled, const GrammarText& source);
Json described_json(const LoadedGrammar& compiled, const GrammarText& source);

}  // namespace sotto::cli
