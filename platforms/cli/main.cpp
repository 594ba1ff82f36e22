// The program sotto: text generation on the command line, on top of the C++ binding.
#include <cstdio>
#include <exception>
#include <string>

#include "platforms/cli/commands.h"
#include "platforms/cli/options/cli11.h"
#include "platforms/cli/support/failure.h"

namespace sotto::cli {
namespace {

std::string version_text() {
  const uint32_t version = sotto_version();
  return "sotto " + std::to_string(version >> 16) + '.' + std::to_string(version >> 8 & 0xff) + '.' +
         std::to_string(version & 0xff) + "\nBuilt with " + sotto_build_text();
}

int report_usage(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
  std::string command = "sotto";
  const CLI::App* given = &app;
  while (!given->get_subcommands().empty()) {
    given = given->get_subcommands().front();
    command += ' ' + given->get_name();
  }
  std::string message = error.what();
  if (given->get_require_subcommand_min() > 0 && !given->remaining().empty()) {
    message = '"' + given->remaining().front() + "\" is not a command";
  }
  std::fprintf(stderr, "sotto: %s\nTry: %s --help\n", message.c_str(), command.c_str());
  return kExitUsage;
}

int run_program(int argc, char** argv) {
  CLI::App app("Generates text with GPT-2 models in int8 or int4.", "sotto");
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("--version", version_text(), "Print the version and exit");
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  sotto generate -m demo.sotto -p \"Once upon a time\"\n"
      "  sotto tokenize -m demo.sotto \"Once upon a time\"\n"
      "  sotto inspect demo.sotto\n"
      "  sotto score -m demo.sotto -f chapter.txt\n"
      "  sotto grammar check answer.gbnf --test yes\n"
      "\n"
      "Exit codes: 0 success, 1 bad input or failure, 2 wrong usage, 130 ended by Ctrl-C.");
  Run run;
  add_generate(app, run);
  add_tokenize(app, run);
  add_inspect(app, run);
  add_sample(app, run);
  add_score(app, run);
  add_embed(app, run);
  add_detect(app, run);
  add_grammar(app, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return report_usage(app, error);
  }
  return run();
}

}  // namespace
}  // namespace sotto::cli

int main(int argc, char** argv) {
  try {
    return sotto::cli::run_program(argc, argv);
  } catch (const sotto::cli::Failure& failure) {
    std::fprintf(stderr, "sotto: %s\n", failure.what());
    return failure.exit_code();
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "sotto: %s\n", exception.what());
    return sotto::cli::kExitFailure;
  }
}
