// The options that say which model to load, and how.
#include <string>
#include <string_view>

#include "platforms/cli/commands.h"
#include "platforms/cli/options/option_tools.h"
#include "platforms/cli/options/session_options.h"

namespace sotto::cli {
namespace {

// The library itself names the instruction sets.
std::string isa_names() {
  std::string names;
  for (sotto_isa isa = SOTTO_ISA_AUTO; std::string_view(sotto_isa_text(isa)) != "unknown"; ++isa) {
    names += (names.empty() ? "" : ", ") + std::string(sotto_isa_text(isa));
  }
  return names;
}

void parse_isa(const std::string& name, ModelOptions& options) {
  for (sotto_isa isa = SOTTO_ISA_AUTO; std::string_view(sotto_isa_text(isa)) != "unknown"; ++isa) {
    if (name == sotto_isa_text(isa)) {
      options.isa = isa;
      return;
    }
  }
  throw CLI::ValidationError("--isa", '"' + name + "\" is not one of " + isa_names());
}

}  // namespace

CLI::Option* add_model_option(CLI::App& command, ModelOptions& options) {
  return command.add_option("-m,--model", options.path, "The model, a .sotto file")
      ->required()
      ->type_name("FILE")
      ->check(file_name());
}

CLI::Option* add_isa_option(CLI::App& command, ModelOptions& options) {
  return command
      .add_option_function<std::string>(
          "--isa", [&options](const std::string& name) { parse_isa(name, options); },
          "Instruction set: " + isa_names() + "; all give the same text")
      ->type_name("NAME");
}

void add_weight_options(CLI::App& command, ModelOptions& options) {
  add_isa_option(command, options)->group(kSessionGroup);
  command
      .add_flag(spellings("--no-mmap"), options.copy_weights,
                "Copy packed weights to huge pages instead of using them in the mapped file: "
                "starts later, may generate faster on old systems")
      ->group(kSessionGroup);
}

}  // namespace sotto::cli
