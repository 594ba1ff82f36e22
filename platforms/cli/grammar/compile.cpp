// `sotto grammar compile`: writes a grammar as an image, for files and flash memory.
#include <memory>
#include <string>
#include <vector>

#include "platforms/cli/grammar/command.h"
#include "platforms/cli/options/cli11.h"
#include "platforms/cli/support/output.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

struct CompileOptions {
  GrammarInput input;
  std::string output;
  bool json = false;
};

int run_compile(CompileOptions options) {
  const LoadedInput input(options.input);
  const CompiledGrammar compiled = compile_input(options.input, input);
  const std::vector<uint8_t> bytes = compiled.grammar.save();
  const std::string image(bytes.begin(), bytes.end());
  write_all(options.output, image);
  TextStream stream;
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

void add_grammar_compile(CLI::App& parent, Run& run) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App* command = parent.add_subcommand("compile", "Write a grammar as an image that is ready to use");
  add_grammar_input(*command, options->input,
                    "A model whose tokens the grammar may name; the image is then for this model only");
  command->add_option("-o,--output", options->output, "The image; its usual file name ends in .sottog")
      ->required()
      ->type_name("FILE")
      ->check(file_name());
  command->add_flag("--json", options->json, "One JSON object");
  command->footer(
      "The image can be given wherever GBNF can: sotto generate --grammar, sotto grammar check.\n"
      "\n"
      "Examples:\n"
      "  sotto grammar compile list.gbnf -o list.sottog\n"
      "  sotto grammar compile --schema person.json --json-space compact -o person.sottog");
  command->callback([&run, options, command] {
    validate_grammar_input(*command, options->input);
    run = [options] { return run_compile(*options); };
  });
}

}  // namespace sotto::cli
