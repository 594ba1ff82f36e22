// How a program with CLI11 explains its usage: the form of help texts, errors that suggest a near name, completion for
// shells, and the manual page. The programs sotto, sotto-convert and sotto-bench share it.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace sotto::cli {

// Lists every option under its one or two main names. Its other spellings are in a line at the end.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

// Returns "-n, --max-tokens" for "-n,--max-tokens,--max_new_tokens".
std::string main_names(const CLI::Option* option);

// Returns a line for the footer of `command`: the spellings that the list of options leaves out.
std::string other_spellings(const CLI::App& command);

// Returns the help of the options of `command` whose heading begins with `group` in any case, or "" if there are none.
std::string group_help(const CLI::App& command, const std::string& group);

// Returns the headings of the options of `command`, between commas.
std::string group_names(const CLI::App& command);

// Prints the requested help, or the error of a command line. Returns the exit code: 0, 1 if standard output
// cannot be written, 2 for an error.
int report_usage(const CLI::App& app, const CLI::ParseError& error);

// Returns a script that completes the commands and options of `app`, or "" for an unknown shell. The shells are bash,
// zsh and fish.
std::string completion_script(const CLI::App& app, const std::string& shell);

// Returns the manual page of `app`, with all commands and options, in the format of man(7).
std::string man_page(const CLI::App& app, const std::string& version);

}  // namespace sotto::cli
