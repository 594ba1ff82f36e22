// `sotto help`, `sotto help COMMAND...`, `sotto help COMMAND GROUP` and `sotto help --man`.
#include <memory>
#include <string>
#include <vector>

#include "platforms/cli/commands.h"
#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/output.h"
#include "platforms/command_line/help.h"

namespace sotto::cli {

void declare_help(Command& command, Run& run) {
  auto words = std::make_shared<std::vector<std::string>>();
  command.add_option("WORDS", *words, "A command, or a command and the heading of a group");
  command.set_footer("Examples:\n  sotto help generate\n  sotto help generate repetition\n  sotto help grammar check");
  auto is_manual = std::make_shared<bool>(false);
  command.add_flag("--man", *is_manual, "Print the manual page");
  command.on_parsed([&command, &run, words, is_manual] {
    run = [&command, words, is_manual] {
      const Command& program = command.program();
      if (*is_manual) {
        OutputWriter().write(man_page(program));
        return static_cast<int>(kExitOk);
      }
      const Command* explained = &program;
      std::string group;
      for (const std::string& word : *words) {
        const Command* found = explained->find_command(word);
        if (!group.empty() || found == nullptr) {
          group += (group.empty() ? "" : " ") + word;
        } else {
          explained = found;
        }
      }
      const std::string text = group.empty() ? help_text(*explained) : group_help(*explained, group);
      if (text.empty() && explained == &program) throw Failure(unknown_command(program, words->front()), kExitUsage);
      if (text.empty()) {
        throw Failure('"' + group + "\" is not a group of options of " + explained->name() + "; the groups are " +
                          group_names(*explained),
                      kExitUsage);
      }
      OutputWriter().write(text);
      return static_cast<int>(kExitOk);
    };
  });
}

}  // namespace sotto::cli
