#include "platforms/cli/grammar/command.h"

#include <memory>
#include <string>
#include <vector>

#include "platforms/cli/options/common.h"
#include "platforms/cli/support/output.h"
#include "platforms/cli/support/text.h"
#include "platforms/command_line/command_line.h"

namespace sotto::cli {

void add_grammar_input(Command& command, GrammarInput& input, const std::string& model_help) {
  command.add_option(
      "GRAMMAR", input.source,
      "A file of GBNF, an image made by sotto grammar compile, or the value of an option for a language that "
      "is given without one; -: standard input");
  add_languages(command, input.grammar, Values::kOptional);
  add_optional_model(command, input.model, model_help);
  add_grammar_settings(command, input.grammar);
}

void validate_grammar_input(const Command& command, GrammarInput& input) {
  GrammarOptions& options = input.grammar;
  const bool has_source = is_given(command, "GRAMMAR");
  if (has_source && !options.source.empty()) {
    reject("GRAMMAR", "is " + in_quotes(input.source) + ", but an option gives a grammar already; give only one");
  }
  if (has_source) options.source = input.source;
  if (!options.language) options.language = SOTTO_GRAMMAR_GBNF;
  const bool has_text = needs_source(*options.language);
  const bool may_be_empty = *options.language == SOTTO_GRAMMAR_REGEX;
  if (has_text && options.source.empty() && !may_be_empty) throw UsageError("Give a GRAMMAR");
  if (!has_text && has_source) reject("GRAMMAR", "cannot be combined with --any-json or --json-object");
  validate_grammar_settings(command, options);
}

LoadedInput::LoadedInput(GrammarInput& input) : source(read_grammar(input.grammar)) {
  if (input.model.path.empty()) return;
  model.emplace(input.model);
  vocabulary.emplace(model_vocabulary(*model));
  read_trigger_tokens(input.grammar, *model);
}

LoadedGrammar compile_input(const GrammarInput& input, const LoadedInput& loaded) {
  return compile_grammar(loaded.source, input.grammar.params, loaded.vocabulary ? &*loaded.vocabulary : nullptr);
}

std::string described(const LoadedGrammar& compiled, const GrammarText& source) {
  const std::string size = byte_size(compiled.grammar.size());
  if (compiled.was_loaded) return "image, " + size + ", verified in " + duration(compiled.seconds);
  return std::string(name_of(kGrammarLanguageNames, source.language)) + ", " + size + " compiled in " +
         duration(compiled.seconds) + ", working in " + byte_size(compiled.grammar.compile_memory_size());
}

Json described_json(const LoadedGrammar& compiled, const GrammarText& source) {
  Json warnings = Json::array();
  for (const std::string& warning : compiled.warnings) warnings.push_back(to_utf8(warning));
  return {{"language", compiled.was_loaded ? "image" : name_of(kGrammarLanguageNames, source.language)},
          {"grammar_bytes", compiled.grammar.size()},
          {"working_bytes", compiled.grammar.compile_memory_size()},
          {"seconds", compiled.seconds},
          {"warnings", std::move(warnings)}};
}

void declare_grammar(Command& command, Run&) {
  command.set_footer(
      "Examples:\n"
      "  sotto grammar check answer.gbnf --test yes\n"
      "  sotto grammar mask --regex '[0-9]{4}' --prefix 19 -m demo.sotto\n"
      "  sotto grammar compile --json-schema person.json -o person.sottog");
}

namespace {

struct CompileRequest {
  GrammarInput input;
  std::string output;
  bool json = false;
};

int run_compile(CompileRequest options) {
  const LoadedInput input(options.input);
  const LoadedGrammar compiled = compile_input(options.input, input);
  const std::vector<uint8_t> bytes = compiled.grammar.save();
  const std::string image(bytes.begin(), bytes.end());
  write_all(options.output, image);
  OutputWriter stream;
  if (options.json) {
    Json object = {{"output", to_utf8(options.output)}, {"image_bytes", image.size()}};
    object.update(described_json(compiled, input.source));
    stream.write(object.dump() + '\n');
  } else {
    print_warnings(compiled);
    stream.write(to_utf8(options.output) + ": " + byte_size(image.size()) + " from " +
                 described(compiled, input.source) + '\n');
  }
  return kExitOk;
}

}  // namespace

void declare_grammar_compile(Command& command, Run& run) {
  auto options = std::make_shared<CompileRequest>();
  add_grammar_input(command, options->input,
                    "A model whose tokens the grammar may name; the image is then for this model only");
  command.add_option("-o,--output", options->output, "The image; its usual file name ends in .sottog")
      .required()
      .metavar("FILE")
      .check(check_file_name);
  command.add_flag("--json", options->json, "Print one JSON object");
  command.set_footer(
      "The image can be given wherever GBNF can: sotto generate --grammar, sotto grammar check.\n"
      "\n"
      "Examples:\n"
      "  sotto grammar compile list.gbnf -o list.sottog\n"
      "  sotto grammar compile --json-schema person.json --json-space compact -o person.sottog");
  command.on_parsed([&run, options, &command] {
    validate_grammar_input(command, options->input);
    run = [options] { return run_compile(*options); };
  });
}

}  // namespace sotto::cli
