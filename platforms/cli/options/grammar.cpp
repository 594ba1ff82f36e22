#include "platforms/cli/options/grammar.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>

#include "platforms/cli/support/model.h"
#include "platforms/cli/support/text.h"
#include "platforms/command_line/command_line.h"

namespace sotto::cli {
namespace {

constexpr double kMebibyte = 1048576.0;

// Returns the option that selects a language. Its value is the grammar or a file.
const ValueOption& option_of(int32_t language) {
  return *std::find_if(std::begin(kGrammarLanguageOptions), std::end(kGrammarLanguageOptions),
                       [&](const ValueOption& row) { return row.value == language; });
}

// Returns whether a parameter applies to a language: it does if it needs the option of the language.
bool uses(sotto_grammar_language language, const Parameter& parameter) {
  const std::vector<std::string> needs = split_names(parameter.needs);
  return std::find(needs.begin(), needs.end(), option_of(language).option()) != needs.end();
}

// Returns whether the value of the language's option is the source itself, not the name of a file with it.
bool is_text_itself(const GrammarOptions& options) {
  const std::string& source = options.source;
  const char* metavar = option_of(*options.language).metavar;
  if (metavar == nullptr || std::string_view(metavar) != "FILE") return true;
  if (*options.language == SOTTO_GRAMMAR_GBNF) return source.find("::=") != std::string::npos;
  return source.starts_with('{') || source.starts_with('[') || source == "true" || source == "false";  // JSON
}

// Validates a number and returns it unchanged, so that no digit is lost.
std::string checked_number(const std::string& text) {
  const std::optional<Json> value = try_parse_json(text);
  if (value && value->is_number()) return text;
  throw Failure("--number-range: " + in_quotes(text) + " is not a number", kExitUsage);
}

// Converts "1,10" to the source of a number grammar. Either number may be missing.
std::string number_range_source(const std::string& text, bool whole_numbers) {
  const size_t comma = text.find(',');
  if (comma == std::string::npos) {
    throw Failure("--number-range: " + in_quotes(text) + " has no comma", kExitUsage);
  }
  const std::string minimum = text.substr(0, comma);
  const std::string maximum = text.substr(comma + 1);
  std::string source;
  if (!minimum.empty()) source += ",\"minimum\":" + checked_number(minimum);
  if (!maximum.empty()) source += ",\"maximum\":" + checked_number(maximum);
  if (whole_numbers) source += ",\"integer\":true";
  return '{' + (source.empty() ? source : source.substr(1)) + '}';
}

// Converts "a,b,c" to the source of a choices grammar. A JSON list already is one.
std::string choices_source(const std::string& text) {
  if (text.starts_with('[')) return text;
  if (text.empty()) throw Failure("--choices: empty; give at least one text", kExitUsage);
  if (!is_utf8(text)) throw Failure("--choices: not UTF-8", kExitUsage);
  Json list = Json::array();
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    list.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return list.dump();
}

}  // namespace

void add_grammar_settings(Command& command, GrammarOptions& options) {
  sotto_grammar_params& c_params = options.params;
  add_value(command, "--grammar-root,--root", options.params.root, "The start rule of a grammar in GBNF", "NAME")
      .shown_default("root")
      .group(kGrammarGroup);
  command.add_flag("--integer", options.whole_numbers, "With --number-range: only whole numbers")
      .needs("--number-range")
      .group(kGrammarGroup);
  add_parameters(command, kGrammarParameters, &c_params);
  add_texts(command, "--trigger,--grammar-trigger", options.params.triggers,
            "Unconstrained until TEXT occurs; the grammar begins after it")
      .group(kGrammarGroup);
  add_texts(command, "--trigger-token,--trigger-tokens", options.trigger_tokens,
            "Unconstrained until one of these tokens occurs (ids, or the text of one token)", "TOKENS")
      .needs("--model")
      .group(kGrammarGroup);
}

void validate_grammar_settings(const Command& command, GrammarOptions& options) {
  if (is_given(command, "--grammar-root") && options.language != SOTTO_GRAMMAR_GBNF) {
    reject("--grammar-root", "has no effect without a grammar in GBNF");
  }
  options.compile_option = first_given(command, {"--grammar-root", "--trigger", "--trigger-token"});
  const sotto_grammar_params& params = options.params;
  for (const char* option : {"--max-space", "--allow-surrounding-whitespace"}) {
    if (is_given(command, option) && params.json_space != SOTTO_JSON_FLEXIBLE) {
      reject(option, "has no effect without --json-space flexible");
    }
  }
  if (params.schema_draft != 7 && params.schema_draft != 2020) {
    reject("--schema-draft", "is " + std::to_string(params.schema_draft) + "; it must be 7 or 2020");
  }
  for (std::string& text : options.params.triggers) {
    text = unquoted(text, "--trigger");
    if (text.empty()) reject("--trigger", "the text is empty");
  }
}

bool needs_source(sotto_grammar_language language) { return option_of(language).metavar != nullptr; }

void add_languages(Command& command, GrammarOptions& options, Values values) {
  std::string earlier;
  for (const ValueOption& row : kGrammarLanguageOptions) {
    const bool is_argument = row.value == SOTTO_GRAMMAR_GBNF && values == Values::kOptional;
    if (is_argument) continue;
    const auto set = [&options, &row](const std::string& source) {
      options.language = static_cast<sotto_grammar_language>(row.value);
      options.source = source;
    };
    Option& option = row.metavar == nullptr ? command.add_flag(
                                                  row.spellings, [set] { set(""); }, row.help)
                                            : command.add_option(row.spellings, set, row.help, values);
    option.excludes(earlier).group(kGrammarGroup);
    earlier += row.option() + ',';
    if (row.metavar == nullptr) continue;
    const std::string metavar = row.metavar;
    option.metavar(values == Values::kOptional ? '[' + metavar + ']' : metavar);
    if (values == Values::kOne && metavar == "FILE") option.check(check_file_name);
  }
}

void add_grammar_options(Command& command, GrammarOptions& options) {
  add_languages(command, options, Values::kOne);
  add_grammar_settings(command, options);
  add_parameters(command, kMatcherParameters, &options.matcher);
  add_value(command, "--grammar-memory", options.memory_mebibytes, "Memory for matching the text with the grammar",
            "MIB")
      .shown_default("about 2")
      .group(kGrammarGroup);
}

void validate_grammar_options(const Command& command, GrammarOptions& options) {
  validate_grammar_settings(command, options);
  if (is_given(command, "--grammar-memory") &&
      !(options.memory_mebibytes > 0.0 && options.memory_mebibytes <= 65536.0)) {
    reject("--grammar-memory", "must be greater than 0 and at most 65536 MiB");
  }
  const std::string option =
      first_given(command, {"--trigger", "--trigger-token", "--finish-within", "--grammar-memory"});
  if (!option.empty() && !options.is_on()) reject(option, "has no effect without a grammar");
}

GrammarText read_grammar(const GrammarOptions& options) {
  GrammarText source;
  source.language = *options.language;
  source.name = option_of(source.language).option().substr(2);
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
      if (source.language == SOTTO_GRAMMAR_GBNF && options.source.find('=') != std::string::npos &&
          !std::filesystem::exists(options.source)) {
        throw Failure(source.name + ": " + in_quotes(options.source) + " is neither a file nor a rule with ::=");
      }
      source.text = read_all(options.source);
      source.name = options.source == "-" ? "standard input" : options.source;
  }
  if (is_grammar_image(source.text) && source.language != SOTTO_GRAMMAR_GBNF) {
    throw Failure(source.name + ": is a compiled grammar, not " + name_of(kGrammarLanguageNames, source.language),
                  kExitUsage);
  }
  if (is_grammar_image(source.text) && !options.compile_option.empty()) {
    throw Failure(options.compile_option + ": has no effect on " + source.name + ", which is compiled already",
                  kExitUsage);
  }
  return source;
}

bool reads_standard_input(const GrammarOptions& options) {
  return options.is_on() && options.source == "-" && !is_text_itself(options);
}

void read_trigger_tokens(GrammarOptions& options, const LoadedModel& model) {
  options.params.trigger_tokens = TokenReader(model).single_tokens(options.trigger_tokens, "--trigger-token");
}

SessionGrammar compile_for_session(const GrammarOptions& options, const LoadedModel& model, const Session& session,
                                   const StopParams& stops) {
  return compile_for_session(read_grammar(options), options, model, session, stops);
}

SessionGrammar compile_for_session(const GrammarText& source, const GrammarOptions& options, const LoadedModel& model,
                                   const Session& session, const StopParams& stops) {
  // A text has at most as many tokens as bytes.
  size_t longest = 0;
  for (const auto* texts : {&stops.stop_strings, &stops.banned_strings}) {
    for (const std::string& text : *texts) longest = std::max(longest, text.size());
  }
  const Vocabulary vocabulary = model_vocabulary(model);
  LoadedGrammar compiled = compile_grammar(source, options.params, &vocabulary);
  MatcherParams params = options.matcher;
  params.sequence_count = session.info().matcher_sequence_count;
  params.rollback_count += static_cast<uint32_t>(longest);
  if (options.memory_mebibytes != 0.0) {
    const double size = std::floor(options.memory_mebibytes * kMebibyte);
    params = limits_within(compiled.grammar, vocabulary, params, static_cast<size_t>(size));
  }
  GrowingMatcher matcher(compiled.grammar, &vocabulary, params);
  return {std::move(compiled), matcher.release()};
}

Json grammar_json(const GrammarOptions& options) {
  const sotto_grammar_params& params = options.params;
  const sotto_grammar_language language = *options.language;
  Json object = {{"language", name_of(kGrammarLanguageNames, language)}};
  if (!options.source.empty()) object["source"] = to_utf8(options.source);
  if (!options.params.root.empty()) object["root"] = options.params.root;
  if (language == SOTTO_GRAMMAR_NUMBER) object["integer"] = options.whole_numbers;
  for (const Parameter& parameter : kGrammarParameters) {
    if (uses(language, parameter)) object[parameter.json_name()] = parameter_json(parameter, &params);
  }
  for (const Parameter& parameter : kMatcherParameters) {
    object[parameter.json_name()] = parameter_json(parameter, &options.matcher);
  }
  if (!options.params.triggers.empty()) object["triggers"] = options.params.triggers;
  if (!options.params.trigger_tokens.empty()) object["trigger_tokens"] = options.params.trigger_tokens;
  return object;
}

}  // namespace sotto::cli
