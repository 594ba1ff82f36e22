// Code that the commands of `sotto grammar` share: a grammar that is named on the command line.
#pragma once

#include <optional>
#include <string>

#include "platforms/cli/commands.h"
#include "platforms/cli/options/grammar.h"

namespace sotto::cli {

struct GrammarInput {
  GrammarOptions grammar;
  ModelOptions model;  // model with the vocabulary; an empty path for none
  std::string source;  // the argument GRAMMAR, as opposed to the value of an option
};

// Adds GRAMMAR, the options that define its language, and -m. `input` must outlive `command`.
void add_grammar_input(Command& command, GrammarInput& input, const std::string& model_help);
void validate_grammar_input(const Command& command, GrammarInput& input);

// The data that a command reads before it compiles. Trigger tokens are read if there is a model.
struct LoadedInput {
  explicit LoadedInput(GrammarInput& input);

  GrammarText source;
  std::optional<LoadedModel> model;
  std::optional<Vocabulary> vocabulary;  // the model's
};

LoadedGrammar compile_input(const GrammarInput& input, const LoadedInput& loaded);

// Returns a description such as "gbnf, 1.2 KiB, compiled in 0.3 ms".
std::string described(const LoadedGrammar& compiled, const GrammarText& source);
Json described_json(const LoadedGrammar& compiled, const GrammarText& source);

void add_grammar_check(Command& parent, Run& run);
void add_grammar_mask(Command& parent, Run& run);
void add_grammar_compile(Command& parent, Run& run);

}  // namespace sotto::cli
