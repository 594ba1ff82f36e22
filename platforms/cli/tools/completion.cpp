// `sotto completion` prints a script for a shell.
#include <memory>
#include <string>

#include "platforms/cli/commands.h"
#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/output.h"
#include "platforms/command_line/help.h"

namespace sotto::cli {

void declare_completion(Command& command, Run& run) {
  auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "bash, zsh or fish").required().choices({"bash", "zsh", "fish"});
  command.set_footer("Examples:\n  source <(sotto completion bash)\n  sotto completion fish | source");
  command.on_parsed([&command, &run, shell] {
    run = [&command, shell] {
      OutputWriter().write(completion_script(command.program(), *shell));
      return static_cast<int>(kExitOk);
    };
  });
}

}  // namespace sotto::cli
