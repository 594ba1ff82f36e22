// What the commands of `sotto grammar` share: a grammar named on the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "platforms/cli/commands.h"
#include "platforms/cli/options/grammar_options.h"

namespace sotto::cli {

struct GrammarInput {
  GrammarOptions grammar;
  ModelOptions model;  // for its vocabulary; an empty path: none
  std::string source;  // GRAMMAR, as opposed to the value of an option
};

// GRAMMAR, the options that say what it is, and -m. `input` must live as long as `command`.
void add_grammar_input(CLI::App& command, GrammarInput& input, const std::string& model_help);
void settle_grammar_input(const CLI::App& command, GrammarInput& input);

// The input's model, or null.
std::unique_ptr<Model> open_model(const GrammarInput& input);

void print_warnings(const Grammar& grammar);

// "gbnf, 1.2 KiB, compiled in 0.3 ms"
std::string described(const Grammar& grammar, const GrammarSource& source);
Json described_json(const Grammar& grammar, const GrammarSource& source);

void add_grammar_check(CLI::App& parent, Run& run);
void add_grammar_mask(CLI::App& parent, Run& run);
void add_grammar_compile(CLI::App& parent, Run& run);

}  // namespace sotto::cli
