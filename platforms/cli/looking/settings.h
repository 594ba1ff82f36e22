// Options in the value of an option: --with "--temp 0.8 --top-p 0.9".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "platforms/command_line/command_line.h"

namespace sotto::cli {

// Splits a text at its spaces, except between quotes, which are removed. Throws a UsageError if a quote is not closed.
std::vector<std::string> split_words(std::string_view text);

// Parses `words` as the options of `command` and calls its on_parsed() function. `setting` is the text that contained
// them. Throws a UsageError that begins with --with and this text.
void parse_setting(Command& command, const std::string& setting, const std::vector<std::string>& words);

}  // namespace sotto::cli
