// Defaults of options: the model in the variable SOTTO_MODEL, and a configuration file with options per command.
#pragma once

#include <string>
#include <vector>

#include "platforms/command_line/parser.h"

namespace sotto::cli {

// Adds --no-config to a command that reads defaults.
void add_config_option(Command& command);

// Returns the defaults of a command. `section` is its name in the configuration file, such as "grammar check". Throws a
// UsageError that names the file and the line.
std::vector<OptionDefault> read_defaults(const Command& program, const Command& command, const std::string& section);

}  // namespace sotto::cli
