// The program sotto: text generation on the command line, on top of the C++ binding.
#include <optional>
#include <string>
#include <string_view>

#include "platforms/cli/commands.h"
#include "platforms/cli/options/config.h"
#include "platforms/cli/support/failure.h"
#include "platforms/command_line/help.h"
#include "platforms/command_line/parser.h"
#include "platforms/command_line/system.h"

namespace sotto::cli {
namespace {

// Adds the commands of the table.
void add_commands(Command& program, Run& run) {
  Command* group = &program;
  for (const CommandRow& row : kCommands) {
    const std::string path = row.path;
    const size_t space = path.rfind(' ');
    const bool is_part = space != std::string::npos;
    Command& command = (is_part ? *group : program).add_command(is_part ? path.substr(space + 1) : path, row.summary);
    if (!is_part) group = &command;
    if (row.declare != nullptr) row.declare(command, run);
    if (row.has_defaults) add_config_option(command);
    if (row.readme != nullptr) command.set_readme(row.readme);
  }
}

// Replaces the process if the command is part of another program, such as sotto-serve: the HTTP library and libcrypto
// would slow the start of all commands.
void start_program(char** argv) {
  for (const CommandRow& row : kCommands) {
    if (row.program == nullptr || std::string_view(argv[1]) != row.path) continue;
    const bool is_only_command = row.program == "sotto-" + std::string(row.path);
    throw Failure(replace_program(row.program, is_only_command ? argv + 1 : argv));
  }
}

int run_program(int argc, char** argv) {
  if (argc > 1) start_program(argv);
  Command app("sotto", "Generates text with GPT-2 models in int8 or int4.");
  add_version(app, version_text(app) + "\nBuilt with " + sotto_build_text());
  app.set_footer(
      "Examples:\n"
      "  sotto generate -m demo.sotto -p \"Once upon a time\"\n"
      "  sotto chat -m demo.sotto\n"
      "  sotto tokenize -m demo.sotto \"Once upon a time\"\n"
      "  sotto inspect demo.sotto\n"
      "  sotto plan --shape gpt2 --budget 96MiB\n"
      "  sotto next -m demo.sotto -p \"Once upon a time\"\n"
      "  sotto score -m demo.sotto -f chapter.txt\n"
      "  sotto eval perplexity -m demo.sotto texts.jsonl\n"
      "  sotto grammar check answer.gbnf --test yes\n"
      "  sotto serve -m demo.sotto\n"
      "\n"
      "Defaults: SOTTO_MODEL is the model of all commands. The configuration file, $SOTTO_CONFIG or\n"
      "~/.config/sotto/config.json, has options by command: {\"threads\": 2, \"generate\": {\"temp\": 0.7}}\n"
      "\n"
      "Exit codes: 0 success, 1 bad input or failure, 2 wrong usage, 3 a text that is not complete\n"
      "under its grammar, 130 ended by Ctrl-C.");
  Run run;
  add_commands(app, run);
  const auto defaults = [&app](const Command& command) {
    return read_defaults(app, command, command.path().substr(app.path().size() + 1));
  };
  const std::optional<int> exit_code = parse_command_line(app, argc, argv, defaults);
  return exit_code ? *exit_code : run();
}

}  // namespace
}  // namespace sotto::cli

int main(int argc, char** argv) { return sotto::cli::run_main("sotto", sotto::cli::run_program, argc, argv); }
