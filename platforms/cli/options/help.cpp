// How help texts look.
#include "platforms/cli/options/help.h"

#include <string_view>

namespace sotto::cli {
namespace {

constexpr size_t kColumn = 26;
constexpr size_t kWidth = 96;

// With line ends in place of spaces, so that no line is longer than `width`.
std::string wrapped(std::string_view text, size_t width) {
  std::string lines;
  while (text.size() > width) {
    const size_t space = text.rfind(' ', width);
    if (space == std::string_view::npos) break;
    lines += text.substr(0, space);
    lines += '\n';
    text.remove_prefix(space + 1);
  }
  return lines += text;
}

}  // namespace

HelpFormatter::HelpFormatter() { column_width(kColumn); }

std::string main_names(const CLI::Option* option) {
  std::string names;
  if (!option->get_snames().empty()) names = '-' + option->get_snames().front();
  if (!option->get_lnames().empty()) {
    if (!names.empty()) names += ", ";
    names += "--" + option->get_lnames().front();
  }
  return names;
}

std::string HelpFormatter::make_option_name(const CLI::Option* option, bool is_positional) const {
  return is_positional ? option->get_name(true) : main_names(option);
}

std::string HelpFormatter::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return "";
  std::string text = option->get_type_name().empty() ? "" : ' ' + option->get_type_name();
  if (!option->get_default_str().empty()) text += " [" + option->get_default_str() + ']';
  if (option->get_required()) text += " (required)";
  return text;
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  return wrapped(option->get_description(), kWidth - kColumn);
}

std::string other_spellings(const CLI::App& command) {
  std::string text = "Also understood, as every name with _ for -:";
  for (const CLI::Option* option : command.get_options()) {
    const auto& names = option->get_lnames();
    for (size_t i = 1; i < names.size(); ++i) {
      const bool is_underscored = names[i].find('_') != std::string::npos;
      if (!is_underscored) text += " --" + names[i];
    }
  }
  return wrapped(text, kWidth);
}

}  // namespace sotto::cli
