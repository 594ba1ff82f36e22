// Where the commands that read a text have it from: the command line, a file, standard input.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace sotto::cli {

struct TextInput {
  std::string text;
  std::string file;
  bool has_text = false;

  std::string name() const;  // for messages
  std::string read() const;  // throws a Failure
};

// TEXT and -f. `input` must live as long as `command`.
void add_text_input(CLI::App& command, TextInput& input);

// After parsing.
void settle_text_input(const CLI::App& command, TextInput& input);

}  // namespace sotto::cli
