// The options that say which grammar a text must fit.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "platforms/cli/grammar/grammar.h"
#include "platforms/cli/support/json_values.h"

namespace sotto::cli {

constexpr char kGrammarGroup[] = "Grammar";

struct GrammarOptions {
  std::optional<sotto_grammar_language> language;  // absent: none was named
  std::string source;                              // a path, or the text, by language
  bool whole_numbers = false;                      // --integer
  GrammarSettings settings;
  std::vector<std::string> trigger_words;  // tokens, as given
  double memory_mebibytes = 0.0;           // of a session's matcher; 0: the library's defaults
  std::string first_setting;               // that only compiling can heed; "": none was given

  bool is_on() const { return language.has_value(); }
};

// What is asked for often: numbers between two others ("1,10", either may be missing), one of
// several texts ("a,b,c", or a JSON array of them). Both throw usage errors.
std::string number_range_source(const std::string& text, bool whole_numbers);
std::string choices_source(const std::string& text);

// How a grammar is read and begun, whatever it is. `options` must live as long as `command`.
void add_grammar_settings(CLI::App& command, GrammarOptions& options);
void settle_grammar_settings(const CLI::App& command, GrammarOptions& options);

// The same, and the grammar itself: --grammar, --json-schema, --regex ... of `sotto generate`.
void add_grammar_options(CLI::App& command, GrammarOptions& options);
void settle_grammar_options(const CLI::App& command, GrammarOptions& options);

// The text that is to be compiled, or an image. Throws a Failure if it cannot be read.
GrammarSource read_grammar(const GrammarOptions& options);

// Whether read_grammar reads standard input.
bool reads_standard_input(const GrammarOptions& options);

void read_trigger_tokens(GrammarOptions& options, const Model& model);

// A grammar with a matcher, for a session. It must outlive the session.
class GrammarGuard {
 public:
  GrammarGuard(const GrammarOptions& options, const Model& model, uint32_t sequence_count, uint32_t rollback_count);

  // From here on the session's text continues the grammar's.
  void lead(sotto_session* session) const;

  const Grammar& grammar() const { return grammar_; }
  size_t matcher_size() const { return matcher_.memory_size(); }

 private:
  Vocabulary vocabulary_;
  Grammar grammar_;
  Matcher matcher_;
};

Json grammar_json(const GrammarOptions& options);

}  // namespace sotto::cli
