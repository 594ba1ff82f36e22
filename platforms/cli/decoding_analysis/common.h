// Helpers of the commands that analyze decoding: their text, their pictures, and options inside the value of an option,
// as in --with "--temp 0.8 --top-p 0.9".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "platforms/cli/options/common.h"

namespace sotto::cli {

// Returns the tokens of the text. Throws a Failure if it is empty.
TokenList required_tokens(const TextInput& input, const LoadedModel& model, bool special);

// Returns the end of a text in quotes, for headings.
std::string ending_of(const TokenList& tokens, const LoadedModel& model);

// Adds --svg. `picture` says what the picture shows.
void add_svg_option(Command& command, std::string& path, const std::string& picture);

// Splits a text at its spaces, except between quotes, which are removed. Throws a UsageError if a quote is not closed.
std::vector<std::string> split_words(std::string_view text);

// Parses `words` as the options of `command` and calls its on_parsed() function. `setting` is the text that contained
// them. Throws a UsageError that begins with --with and this text.
void parse_setting(Command& command, const std::string& setting, const std::vector<std::string>& words);

}  // namespace sotto::cli
