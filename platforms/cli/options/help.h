// Help texts: every option under its one or two main names; the other spellings it answers
// to stand in a line at the end.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace sotto::cli {

class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
};

// "-n,--max-tokens" of "-n,--max-tokens,--max_new_tokens": what help and messages call it.
std::string main_names(const CLI::Option* option);

// A line for the footer of `command`: the spellings that the list of options leaves out.
std::string other_spellings(const CLI::App& command);

}  // namespace sotto::cli
