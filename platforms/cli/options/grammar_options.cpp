// The options that say which grammar a text must fit.
#include "platforms/cli/options/grammar_options.h"

#include <cmath>
#include <cstdint>

#include "platforms/cli/options/option_tools.h"
#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/text.h"
#include "platforms/cli/support/token_text.h"

namespace sotto::cli {
namespace {

constexpr double kMebibyte = 1048576.0;

bool is_json(sotto_grammar_language language) {
  return language == SOTTO_GRAMMAR_JSON_SCHEMA || language == SOTTO_GRAMMAR_JSON ||
         language == SOTTO_GRAMMAR_JSON_OBJECT || language == SOTTO_GRAMMAR_TOOLS;
}

bool has_schemas(sotto_grammar_language language) {
  return language == SOTTO_GRAMMAR_JSON_SCHEMA || language == SOTTO_GRAMMAR_TOOLS;
}

// Settings that only some languages heed.
struct Belonging {
  const char* option;
  bool (*belongs)(sotto_grammar_language language);
  const char* where;
};

constexpr Belonging kBelongings[] = {
    {"--grammar-root", [](sotto_grammar_language l) { return l == SOTTO_GRAMMAR_GBNF; }, "a grammar in GBNF"},
    {"--json-space", is_json, "a grammar of JSON"},
    {"--max-space", is_json, "a grammar of JSON"},
    {"--outer-space", is_json, "a grammar of JSON"},
    {"--closed", has_schemas, "a JSON schema or tools"},
    {"--schema-draft", has_schemas, "a JSON schema or tools"},
    {"--no-formats", has_schemas, "a JSON schema or tools"},
    {"--distinct-names", has_schemas, "a JSON schema or tools"},
    {"--several-tools", [](sotto_grammar_language l) { return l == SOTTO_GRAMMAR_TOOLS; }, "tools"},
    {"--integer", [](sotto_grammar_language l) { return l == SOTTO_GRAMMAR_NUMBER; }, "a range of numbers"}};

void add_json_settings(CLI::App& command, GrammarOptions& options) {
  sotto_grammar_params& params = options.settings.params;
  const auto grouped = [](CLI::Option* option) { return option->group(kGrammarGroup); };
  const auto flag = [&](const char* names, uint32_t& value, uint32_t set, const char* text) {
    grouped(command.add_flag_callback(
        spellings(names), [&value, set] { value = set; }, text));
  };
  grouped(add_choice(command, "--json-space,--json-whitespace", params.json_space,
                     "White space in JSON: free, none, or {\"a\": 1, \"b\": 2}", json_space_names()));
  grouped(add_translated<int64_t>(
      command, "--max-space", [&params](int64_t count) { params.maximum_space = parse_window(count, "--max-space"); },
      "Characters of free white space in one place; -1: any number", "N", std::to_string(params.maximum_space)));
  flag("--outer-space", params.allow_surrounding_whitespace, 1, "Free white space around the document, too");
  flag("--closed,--strict-mode", params.closed, 1,
       "Objects hold no members beside those of \"properties\" unless the schema says so");
  grouped(add_translated<uint32_t>(
      command, "--schema-draft", [&params](uint32_t draft) { params.schema_draft = draft; },
      "What a schema without $schema is: 7 or 2020", "DRAFT", std::to_string(params.schema_draft)));
  flag("--no-formats", params.assert_formats, 0, "\"format\" in a schema is not checked");
  flag("--distinct-names", params.distinct_names, 1,
       "minProperties counts names that the schema does not list, although they might repeat");
  flag("--several-tools,--parallel-tool-calls", params.parallel_tool_calls, 1,
       "A list of one or more calls instead of one");
}

// The languages by the options that name them; in `sotto generate` each has a source.
struct LanguageOption {
  const char* names;
  sotto_grammar_language language;
  const char* type;  // nullptr: no source
  const char* description;
};

constexpr LanguageOption kLanguages[] = {
    {"--grammar,--grammar-file,--guided-grammar", SOTTO_GRAMMAR_GBNF, "FILE",
     "The text fits this grammar: GBNF, or an image made by sotto grammar compile; -: standard "
     "input; a value with ::= in it is the grammar itself"},
    {"--json-schema,--json-schema-file,--guided-json", SOTTO_GRAMMAR_JSON_SCHEMA, "FILE",
     "The text is JSON that this JSON Schema validates; a value that begins with { is the schema "
     "itself"},
    {"--regex,--guided-regex", SOTTO_GRAMMAR_REGEX, "RE", "This regular expression matches the whole text"},
    {"--choices,--guided-choice", SOTTO_GRAMMAR_CHOICES, "A,B,C",
     "The text is one of these; a JSON list of texts is possible, too"},
    {"--any-json", SOTTO_GRAMMAR_JSON, nullptr, "The text is JSON"},
    {"--json-object", SOTTO_GRAMMAR_JSON_OBJECT, nullptr, "The text is a JSON object"},
    {"--tools", SOTTO_GRAMMAR_TOOLS, "FILE",
     "The text calls one of the functions in a JSON list: {\"name\": ..., \"arguments\": ...}"},
    {"--number-range", SOTTO_GRAMMAR_NUMBER, "MIN,MAX",
     "The text is a number between two others, both included; either may be left out"}};

// "--grammar" of "--grammar,--grammar-file".
std::string first_name(const LanguageOption& option) {
  const std::string names = option.names;
  return names.substr(0, names.find(','));
}

std::string source_name(const GrammarOptions& options) {
  for (const LanguageOption& option : kLanguages) {
    if (option.language == *options.language) return first_name(option).substr(2);
  }
  return "grammar";
}

bool is_text_itself(const GrammarOptions& options) {
  const std::string& source = options.source;
  switch (*options.language) {
    case SOTTO_GRAMMAR_GBNF:
      return source.find("::=") != std::string::npos;
    case SOTTO_GRAMMAR_JSON_SCHEMA:
      return source.starts_with('{') || source == "true" || source == "false";
    case SOTTO_GRAMMAR_TOOLS:
      return source.starts_with('[');
    default:
      return true;
  }
}

}  // namespace

void add_grammar_settings(CLI::App& command, GrammarOptions& options) {
  const auto grouped = [](CLI::Option* option) { option->group(kGrammarGroup); };
  grouped(
      add_value(command, "--grammar-root,--root", options.settings.root, "The start rule of a grammar in GBNF", "NAME")
          ->default_str("root"));
  grouped(command.add_flag("--integer", options.whole_numbers, "Only whole numbers, with --number-range"));
  add_json_settings(command, options);
  grouped(add_texts(command, "--trigger,--grammar-trigger", options.settings.triggers,
                    "The text is free until TEXT comes, and the grammar begins behind it"));
  grouped(add_texts(command, "--trigger-token,--trigger-tokens", options.trigger_words,
                    "The same for one of these tokens (ids, or text of one token)", "TOKENS"));
}

void settle_grammar_settings(const CLI::App& command, GrammarOptions& options) {
  for (const Belonging& belonging : kBelongings) {
    if (!is_given(command, belonging.option)) continue;
    options.first_setting = belonging.option;
    if (options.is_on() && belonging.belongs(*options.language)) continue;
    throw CLI::ValidationError(belonging.option, std::string("has no effect without ") + belonging.where);
  }
  for (const char* option : {"--trigger", "--trigger-token"}) {
    if (is_given(command, option)) options.first_setting = option;
  }
  sotto_grammar_params& params = options.settings.params;
  if (is_given(command, "--max-space") && params.json_space != SOTTO_JSON_FLEXIBLE) {
    throw CLI::ValidationError("--max-space", "has no effect without --json-space flexible");
  }
  if (params.schema_draft != 7 && params.schema_draft != 2020) {
    throw CLI::ValidationError("--schema-draft", "must be 7 or 2020");
  }
  for (std::string& text : options.settings.triggers) {
    text = unquoted(text, "--trigger");
    if (text.empty()) throw CLI::ValidationError("--trigger", "the text is empty");
  }
}

void add_grammar_options(CLI::App& command, GrammarOptions& options) {
  for (const LanguageOption& option : kLanguages) {
    if (option.type == nullptr) {
      command
          .add_flag_callback(
              spellings(option.names), [&options, &option] { options.language = option.language; }, option.description)
          ->group(kGrammarGroup);
      continue;
    }
    CLI::Option* added = command.add_option_function<std::string>(
        spellings(option.names),
        [&options, &option](const std::string& source) {
          options.language = option.language;
          options.source = source;
        },
        option.description);
    added->type_name(option.type)->group(kGrammarGroup);
    if (option.type == std::string_view("FILE")) added->check(file_name());
  }
  add_grammar_settings(command, options);
  add_value(command, "--grammar-memory", options.memory_mebibytes, "Memory for following the text through the grammar",
            "MIB")
      ->default_str("2 or so")
      ->group(kGrammarGroup);
}

void settle_grammar_options(const CLI::App& command, GrammarOptions& options) {
  std::string given;
  for (const LanguageOption& option : kLanguages) {
    const std::string name = first_name(option);
    if (!is_given(command, name)) continue;
    if (!given.empty()) throw CLI::ValidationError(given, "does not go with " + name);
    given = name;
  }
  settle_grammar_settings(command, options);
  if (is_given(command, "--grammar-memory") &&
      !(options.memory_mebibytes > 0.0 && options.memory_mebibytes <= 65536.0)) {
    throw CLI::ValidationError("--grammar-memory", "must be more than 0 MiB, at most 65536");
  }
  for (const char* option : {"--trigger", "--trigger-token", "--grammar-memory"}) {
    if (is_given(command, option) && given.empty()) {
      throw CLI::ValidationError(option, "has no effect without a grammar");
    }
  }
}

GrammarSource read_grammar(const GrammarOptions& options) {
  GrammarSource source;
  source.language = *options.language;
  source.name = source_name(options);
  switch (source.language) {
    case SOTTO_GRAMMAR_JSON:
    case SOTTO_GRAMMAR_JSON_OBJECT:
      break;
    case SOTTO_GRAMMAR_CHOICES:
      source.text = choices_source(options.source);
      break;
    case SOTTO_GRAMMAR_NUMBER:
      source.text = number_range_source(options.source, options.whole_numbers);
      break;
    default:
      source.text = options.source;
      if (is_text_itself(options)) break;
      source.text = read_all(options.source);
      source.name = options.source == "-" ? "standard input" : options.source;
  }
  if (is_grammar_image(source.text) && source.language != SOTTO_GRAMMAR_GBNF) {
    throw Failure(source.name + ": is a compiled grammar, not " + name_of(grammar_names(), source.language),
                  kExitUsage);
  }
  if (is_grammar_image(source.text) && !options.first_setting.empty()) {
    throw Failure(options.first_setting + ": has no effect on " + source.name + ", which is compiled already",
                  kExitUsage);
  }
  return source;
}

bool reads_standard_input(const GrammarOptions& options) {
  return options.is_on() && options.source == "-" && !is_text_itself(options);
}

void read_trigger_tokens(GrammarOptions& options, const Model& model) {
  const TokenReader reader(model);
  for (const std::string& word : options.trigger_words) {
    const Tokens tokens =
        parse_ids(word) ? reader.tokens(word, "--trigger-token") : Tokens{reader.token(word, "--trigger-token")};
    Tokens& all = options.settings.trigger_tokens;
    all.insert(all.end(), tokens.begin(), tokens.end());
  }
}

Json grammar_json(const GrammarOptions& options) {
  const sotto_grammar_params& params = options.settings.params;
  const sotto_grammar_language language = *options.language;
  Json object = {{"language", name_of(grammar_names(), language)}};
  if (!options.source.empty()) object["source"] = to_utf8(options.source);
  if (!options.settings.root.empty()) object["root"] = options.settings.root;
  if (language == SOTTO_GRAMMAR_NUMBER) object["integer"] = options.whole_numbers;
  if (is_json(language)) {
    object["json_space"] = name_of(json_space_names(), params.json_space);
    object["max_space"] = params.maximum_space;
    object["allow_surrounding_whitespace"] = params.allow_surrounding_whitespace != 0;
  }
  if (has_schemas(language)) {
    object["closed"] = params.closed != 0;
    object["schema_draft"] = params.schema_draft;
    object["formats"] = params.assert_formats != 0;
    object["distinct_names"] = params.distinct_names != 0;
  }
  if (language == SOTTO_GRAMMAR_TOOLS) object["parallel_tool_calls"] = params.parallel_tool_calls != 0;
  if (!options.settings.triggers.empty()) object["triggers"] = options.settings.triggers;
  if (!options.settings.trigger_tokens.empty()) {
    object["trigger_tokens"] = options.settings.trigger_tokens;
  }
  return object;
}

GrammarGuard::GrammarGuard(const GrammarOptions& options, const Model& model, uint32_t sequence_count,
                           uint32_t rollback_count)
    : vocabulary_(model),
      grammar_(read_grammar(options), options.settings, &vocabulary_),
      matcher_(grammar_, &vocabulary_, [&] {
        sotto_matcher_params params = default_matcher_params();
        params.sequence_count = sequence_count;
        params.rollback_count = rollback_count;
        if (options.memory_mebibytes == 0.0) return params;
        const double size = std::floor(options.memory_mebibytes * kMebibyte);
        return fitted(grammar_, &vocabulary_, params, static_cast<size_t>(size));
      }()) {}

void GrammarGuard::lead(sotto_session* session) const {
  sotto_error error = no_error();
  check(sotto_session_set_matcher(session, matcher_.get(), &error), error, "grammar");
}

}  // namespace sotto::cli
