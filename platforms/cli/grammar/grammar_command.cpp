// `sotto grammar`: what its commands share.
#include "platforms/cli/grammar/grammar_commands.h"
#include "platforms/cli/options/option_tools.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

struct InputOption {
  const char* names;
  sotto_grammar_language language;
  const char* type;  // nullptr: without a source
  const char* description;
};

constexpr InputOption kInputOptions[] = {
    {"--schema,--json-schema", SOTTO_GRAMMAR_JSON_SCHEMA, "[FILE]", "It is a JSON Schema"},
    {"--regex", SOTTO_GRAMMAR_REGEX, "[RE]", "It is a regular expression, not a file with one"},
    {"--choices", SOTTO_GRAMMAR_CHOICES, "[A,B,C]", "It is a list of texts, between commas or as a JSON list"},
    {"--any-json", SOTTO_GRAMMAR_JSON, nullptr, "Any JSON; there is no GRAMMAR"},
    {"--json-object", SOTTO_GRAMMAR_JSON_OBJECT, nullptr, "Any JSON object; there is no GRAMMAR"},
    {"--tools", SOTTO_GRAMMAR_TOOLS, "[FILE]", "It is a JSON list of functions that can be called"},
    {"--number-range", SOTTO_GRAMMAR_NUMBER, "[MIN,MAX]", "It is a range of numbers; either end may be left out"}};

void name_language(GrammarOptions& options, const InputOption& option, const std::string& source) {
  if (options.language && *options.language != option.language) {
    throw CLI::ValidationError(std::string("--") + name_of(grammar_names(), *options.language),
                               "a grammar is of one kind");
  }
  options.language = option.language;
  options.source = source;
}

}  // namespace

void add_grammar_input(CLI::App& command, GrammarInput& input, const std::string& model_help) {
  command
      .add_option("GRAMMAR", input.source,
                  "A file: GBNF, an image made by sotto grammar compile, or what the options below "
                  "say; -: standard input")
      ->type_name("");
  GrammarOptions& options = input.grammar;
  for (const InputOption& option : kInputOptions) {
    if (option.type == nullptr) {
      command.add_flag_callback(
          spellings(option.names), [&options, &option] { name_language(options, option, ""); }, option.description);
      continue;
    }
    command
        .add_option_function<std::string>(
            spellings(option.names),
            [&options, &option](const std::string& source) { name_language(options, option, source); },
            option.description)
        ->expected(0, 1)
        ->type_name(option.type);
  }
  command.add_option("-m,--model", input.model.path, model_help)->type_name("FILE")->check(file_name());
  add_grammar_settings(command, options);
}

void settle_grammar_input(const CLI::App& command, GrammarInput& input) {
  GrammarOptions& options = input.grammar;
  const bool has_source = is_given(command, "GRAMMAR");
  if (has_source && !options.source.empty()) {
    throw CLI::ValidationError("GRAMMAR", in_quotes(input.source) + " is one too many");
  }
  if (has_source) options.source = input.source;
  if (!options.language) options.language = SOTTO_GRAMMAR_GBNF;
  const bool needs_source = *options.language != SOTTO_GRAMMAR_JSON && *options.language != SOTTO_GRAMMAR_JSON_OBJECT;
  const bool may_be_empty = *options.language == SOTTO_GRAMMAR_REGEX;
  if (needs_source && options.source.empty() && !may_be_empty) {
    throw CLI::ValidationError("Give a GRAMMAR");
  }
  if (!needs_source && has_source) {
    throw CLI::ValidationError("GRAMMAR", "does not go with --any-json and --json-object");
  }
  settle_grammar_settings(command, options);
  require_with(command, "--trigger-token", {"--model"});
}

std::unique_ptr<Model> open_model(const GrammarInput& input) {
  return input.model.path.empty() ? nullptr : std::make_unique<Model>(input.model);
}

void print_warnings(const Grammar& grammar) {
  for (const std::string& warning : grammar.warnings()) {
    std::fprintf(stderr, "sotto: warning: %s\n", to_utf8(warning).c_str());
  }
}

std::string described(const Grammar& grammar, const GrammarSource& source) {
  if (grammar.was_loaded()) {
    return "image, " + byte_size(grammar.size()) + ", verified in " + duration(grammar.seconds());
  }
  return std::string(name_of(grammar_names(), source.language)) + ", " + byte_size(grammar.size()) + " compiled in " +
         duration(grammar.seconds()) + ", working in " + byte_size(grammar.working_size());
}

Json described_json(const Grammar& grammar, const GrammarSource& source) {
  const bool was_loaded = grammar.was_loaded();
  Json warnings = Json::array();
  for (const std::string& warning : grammar.warnings()) warnings.push_back(to_utf8(warning));
  return {{"language", was_loaded ? "image" : name_of(grammar_names(), source.language)},
          {"grammar_bytes", grammar.size()},
          {"working_bytes", grammar.working_size()},
          {"seconds", grammar.seconds()},
          {"warnings", std::move(warnings)}};
}

void add_grammar(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("grammar", "Check, look into and compile grammars that texts must fit");
  command->require_subcommand(1);
  add_grammar_check(*command, run);
  add_grammar_mask(*command, run);
  add_grammar_compile(*command, run);
  command->footer(
      "Examples:\n"
      "  sotto grammar check answer.gbnf --test yes\n"
      "  sotto grammar mask --regex '[0-9]{4}' --prefix 19 -m demo.sotto\n"
      "  sotto grammar compile --schema person.json -o person.sottog");
}

}  // namespace sotto::cli
