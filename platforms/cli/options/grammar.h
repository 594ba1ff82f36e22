// The options that define a grammar and its matcher.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platforms/cli/grammar/matching.h"
#include "platforms/cli/options/parameters.h"

namespace sotto::cli {

constexpr char kGrammarGroup[] = "Grammar";

struct GrammarOptions {
  std::optional<sotto_grammar_language> language;  // absent if no option for a language was given
  std::string source;          // the value of that option: a path or a text, depending on the language
  bool whole_numbers = false;  // --integer
  GrammarParams params;
  std::vector<std::string> trigger_tokens;  // as given on the command line
  MatcherParams matcher;
  double memory_mebibytes = 0.0;  // memory of a session's matcher; 0 for the library's defaults
  std::string compile_option;     // a given option that applies only when a grammar is compiled, or empty

  bool is_on() const { return language.has_value(); }
};

// Returns whether this language has a source. --any-json and --json-object have none.
bool needs_source(sotto_grammar_language language);

// Adds an option per language: --json-schema, --regex and so on. With Values::kOptional, the grammar may instead be an
// argument of the command; without one of these options, the argument is GBNF.
void add_languages(Command& command, GrammarOptions& options, Values values);

// Adds the options that do not select a language. `options` must outlive `command`.
void add_grammar_settings(Command& command, GrammarOptions& options);
void validate_grammar_settings(const Command& command, GrammarOptions& options);

// Adds all of these options and the memory of the matcher, for `sotto generate`.
void add_grammar_options(Command& command, GrammarOptions& options);
void validate_grammar_options(const Command& command, GrammarOptions& options);

// Reads the source of the grammar, or its image. Throws a Failure if it cannot be read.
GrammarText read_grammar(const GrammarOptions& options);

bool reads_standard_input(const GrammarOptions& options);

void read_trigger_tokens(GrammarOptions& options, const LoadedModel& model);

// A grammar and a matcher for a session.
struct SessionGrammar {
  LoadedGrammar compiled;
  Matcher matcher;
};
// Compiles the grammar. The matcher can follow all sequences of the session, and roll back what `stops` removes.
SessionGrammar compile_for_session(const GrammarOptions& options, const LoadedModel& model, const Session& session,
                                   const StopParams& stops);
// Compiles `source` instead of the grammar of the options.
SessionGrammar compile_for_session(const GrammarText& source, const GrammarOptions& options, const LoadedModel& model,
                                   const Session& session, const StopParams& stops);

Json grammar_json(const GrammarOptions& options);

}  // namespace sotto::cli
