// The program sotto-convert.
#include "converters/commands/arguments.h"
#include "converters/commands/commands.h"
#include "converters/commands/progress.h"
#include "platforms/command_line/help.h"
#include "platforms/command_line/parser.h"
#include "platforms/command_line/system.h"

constexpr char kDescription[] =
    "Converts a GPT-2 checkpoint to a .sotto model file: int8 or 4-bit weights, the tokenizer\n"
    "and optionally int8 weights packed for one kind of CPU.";

namespace sotto {
namespace {

int run(int argc, char** argv) {
  Arguments arguments;
  cli::Command command("sotto-convert", kDescription);
  add_arguments(command, arguments);
  cli::add_documentation(command);
  if (const auto exit_code = cli::parse_command_line(command, argc, argv)) return *exit_code;
  if (arguments.task == Task::kVerify) return verify_model(arguments) ? 0 : 1;
  catch_interrupts();
  switch (arguments.task) {
    case Task::kExport:
      export_model(arguments);
      break;
    case Task::kSimulate:
      simulate(arguments);
      break;
    case Task::kEvaluate:
    case Task::kCompare:
      measure(arguments);
      break;
    default:
      convert(arguments);
  }
  return 0;
}

}  // namespace
}  // namespace sotto

int main(int argc, char** argv) {
  return sotto::cli::run_main("sotto-convert", [&] { return sotto::run(argc, argv); });
}
