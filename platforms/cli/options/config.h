// Defaults of options: the model in the variable SOTTO_MODEL, and a configuration file with options per command.
#pragma once

#include <string>
#include <vector>

#include "platforms/command_line/command_line.h"

namespace sotto::cli {

// Adds --no-config to the commands of a program, or to a program without commands.
void add_config_options(Command& program);

// Returns the defaults of a command. `section` is its name in the configuration file, such as "grammar check". Throws a
// UsageError that names the file and the line.
std::vector<OptionDefault> read_defaults(const Command& program, const Command& command, const std::string& section);

}  // namespace sotto::cli
