// `sotto grammar compile`: a grammar as an image, for files and flash.
#include <memory>
#include <string>

#include "platforms/cli/generate/generate_output.h"
#include "platforms/cli/grammar/grammar_commands.h"
#include "platforms/cli/options/option_tools.h"
#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

struct CompileOptions {
  GrammarInput input;
  std::string output;
  bool json = false;
};

int run_compile(CompileOptions options) {
  const GrammarSource source = read_grammar(options.input.grammar);
  const std::unique_ptr<Model> model = open_model(options.input);
  std::unique_ptr<Vocabulary> vocabulary;
  if (model) {
    vocabulary = std::make_unique<Vocabulary>(*model);
    read_trigger_tokens(options.input.grammar, *model);
  }
  const Grammar grammar(source, options.input.grammar.settings, vocabulary.get());
  const std::string image = grammar.image();
  write_all(options.output, image);
  TextStream stream;
  if (options.json) {
    Json object = {{"output", to_utf8(options.output)}, {"image_bytes", image.size()}};
    object.update(described_json(grammar, source));
    stream.write(object.dump() + '\n');
  } else {
    print_warnings(grammar);
    stream.write(to_utf8(options.output) + ": " + byte_size(image.size()) + " from " + described(grammar, source) +
                 '\n');
  }
  return kExitOk;
}

}  // namespace

void add_grammar_compile(CLI::App& parent, Run& run) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App* command =
      parent.add_subcommand("compile", "Write a grammar as an image that needs no compiling when it is used");
  add_grammar_input(*command, options->input,
                    "A model whose tokens the grammar may name; the image is for it alone then");
  command->add_option("-o,--output", options->output, "The image; its usual ending is .sottog")
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
    settle_grammar_input(*command, options->input);
    run = [options] { return run_compile(*options); };
  });
}

}  // namespace sotto::cli
