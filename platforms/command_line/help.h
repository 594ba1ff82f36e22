// Writes the documentation that follows from the declared commands and options: help texts, errors that suggest a
// similar name, shell completion, and the manual page.
#pragma once

#include <string>

#include "platforms/command_line/command_line.h"

namespace sotto::cli {

// Returns the name of the program and its version: "sotto 1.0.0".
std::string version_text(const Command& program);

// Returns the version that the program was compiled with, as "1.0.0".
std::string version_text();

// Adds --version, which prints `text`.
void add_version(Command& program, const std::string& text);

// Adds --version, --man (prints the manual page) and --completion (prints a completion script). The program sotto has
// commands instead of the last two.
void add_documentation(Command& program);

// Returns the help of a command, which lists each option under its one or two main names.
std::string help_text(const Command& command);

// Returns the help of those options of `command` whose heading begins with `group`, ignoring case, or "" if there are
// none.
std::string group_help(const Command& command, const std::string& group);

// Returns the headings of the options of `command`, separated by commas.
std::string group_names(const Command& command);

// Returns "-n, --max-tokens" for "-n,--max-tokens,--max-new-tokens".
std::string main_names(const Option& option);

// Returns a line for the footer of `command` with the spellings that the list of options omits.
std::string other_spellings(const Command& command);

// For a name that `command` does not have, these return an error message that suggests the most similar name.
std::string unknown_option(const Command& command, const std::string& name);
std::string unknown_command(const Command& command, const std::string& name);

// Returns a script that completes the commands and options of `program` in a shell: bash, zsh or fish.
std::string completion_script(const Command& program, const std::string& shell);

// Returns the manual page of `program`, with all commands and options, in the format of man(7).
std::string man_page(const Command& program);

}  // namespace sotto::cli
