// Where the commands that read a text have it from.
#include "platforms/cli/support/text_input.h"

#include "platforms/cli/options/option_tools.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {

std::string TextInput::name() const {
  if (has_text) return "text";
  return file.empty() || file == "-" ? "standard input" : file;
}

std::string TextInput::read() const {
  if (has_text) return text;
  return read_all(file.empty() ? "-" : file);
}

void add_text_input(CLI::App& command, TextInput& input) {
  command.add_option("TEXT", input.text, "The text; standard input if absent")->type_name("");
  command.add_option("-f,--file", input.file, "The text from a file")->type_name("FILE")->check(file_name());
}

void settle_text_input(const CLI::App& command, TextInput& input) {
  refuse_with(command, "--file", {"TEXT"});
  input.has_text = is_given(command, "TEXT");
}

}  // namespace sotto::cli
