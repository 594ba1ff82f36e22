// The options that say which grammar a text must fit.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "platforms/cli/grammar/matching.h"
#include "platforms/cli/options/parameters.h"

namespace sotto::cli {

constexpr char kGrammarGroup[] = "Grammar";

struct GrammarOptions {
  std::optional<sotto_grammar_language> language;  // absent: none was named
  std::string source;                              // a path, or the text, by language
  bool whole_numbers = false;                      // --integer
  GrammarParams params;
  std::vector<std::string> trigger_tokens;  // as given
  double memory_mebibytes = 0.0;            // of a session's matcher; 0: the library's defaults
  std::string compile_option;               // a given option that only compiling uses; "": none

  bool is_on() const { return language.has_value(); }
};

// An option that names a language. Its value is the grammar in that language, or a file with one.
struct LanguageOption {
  const char* spellings;
  sotto_grammar_language language;
  const char* metavar;  // nullptr: the language needs no grammar
  const char* help;
};

// How a grammar is read and where it begins, in any language. `options` must outlive `command`.
void add_grammar_settings(CLI::App& command, GrammarOptions& options);
void validate_grammar_settings(const CLI::App& command, GrammarOptions& options);

// The same, and the grammar itself: --grammar, --json-schema, --regex ... of `sotto generate`.
void add_grammar_options(CLI::App& command, GrammarOptions& options);
void validate_grammar_options(const CLI::App& command, GrammarOptions& options);

// The text to compile, or an image. Throws a Failure if it cannot be read.
GrammarText read_grammar(const GrammarOptions& options);

// Whether read_grammar reads standard input.
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
