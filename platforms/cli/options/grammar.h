// The options that define the grammar of a text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platforms/cli/grammar/matching.h"
#include "platforms/cli/options/parameters.h"

namespace sotto::cli {

constexpr char kGrammarGroup[] = "Grammar";

struct GrammarOptions {
  std::optional<sotto_grammar_language> language;  // absent if no language was named
  std::string source;                              // a path or the text, depending on the language
  bool whole_numbers = false;                      // --integer
  GrammarParams params;
  std::vector<std::string> trigger_tokens;  // as given on the command line
  MatcherParams matcher;
  double memory_mebibytes = 0.0;  // memory of a session's matcher; 0 for the library's defaults
  std::string compile_option;     // an option that was given and that only compiling uses, or an empty string

  bool is_on() const { return language.has_value(); }
};

// Returns whether a grammar in this language has a text. Those of --any-json and --json-object have none.
bool needs_source(sotto_grammar_language language);

// Adds an option per language: --json-schema, --regex and so on. With Values::kOptional the grammar may also be an
// argument of the command, and GBNF, the language of an argument without these options, needs no option.
void add_languages(Command& command, GrammarOptions& options, Values values);

// Adds the options that apply to several languages. `options` must outlive `command`.
void add_grammar_settings(Command& command, GrammarOptions& options);
void validate_grammar_settings(const Command& command, GrammarOptions& options);

// Adds the options of `sotto generate`: the languages, the same settings, and the memory of the matcher.
void add_grammar_options(Command& command, GrammarOptions& options);
void validate_grammar_options(const Command& command, GrammarOptions& options);

// Returns the text to compile, or an image. Throws a Failure if it cannot be read.
GrammarText read_grammar(const GrammarOptions& options);

// Returns whether read_grammar() reads standard input.
bool reads_standard_input(const GrammarOptions& options);

void read_trigger_tokens(GrammarOptions& options, const LoadedModel& model);

// A grammar and a matcher for a session.
struct SessionGrammar {
  LoadedGrammar compiled;
  Matcher matcher;
};
SessionGrammar compile_for_session(const GrammarOptions& options, const LoadedModel& model, uint32_t sequence_count,
                                   uint32_t rollback_count);

Json grammar_json(const GrammarOptions& options);

}  // namespace sotto::cli
