#include "platforms/command_line/help.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "capi/include/sotto_base.h"

namespace sotto::cli {
namespace {

constexpr size_t kColumn = 26;
constexpr size_t kWidth = 96;

// Wraps a text into lines of at most `width` characters.
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

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// Returns the edit distance of two names (Levenshtein 1966).
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = std::exchange(row[j + 1], std::min({row[j] + 1, row[j + 1] + 1, replaced}));
    }
  }
  return row.back();
}

// Returns "; did you mean NAME?" for the most similar name, or "" if none is similar.
std::string suggestion(const std::string& word, const std::vector<std::string>& names) {
  const auto rank = [&](const std::string& name) { return distance(word, name); };
  const auto best =
      std::min_element(names.begin(), names.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  if (best == names.end() || rank(*best) > std::max<size_t>(2, word.size() / 4)) return "";
  return "; did you mean " + *best + '?';
}

std::vector<std::string> command_names(const Command& command) {
  std::vector<std::string> names;
  for (const auto& part : command.commands()) names.push_back(part->name());
  return names;
}

std::vector<std::string> long_names(const Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names()) {
    if (name.starts_with("--")) names.push_back(name);
  }
  return names;
}

std::vector<std::string> option_names(const Command& command) {
  std::vector<std::string> names;
  for (const auto& option : command.options()) {
    for (const std::string& name : long_names(*option)) names.push_back(name);
  }
  return names;
}

// Returns the headings of the options, in their order.
std::vector<std::string> headings(const Command& command) {
  std::vector<std::string> list;
  for (const auto& option : command.options()) {
    if (std::find(list.begin(), list.end(), option->heading()) == list.end()) list.push_back(option->heading());
  }
  return list;
}

// Returns the line or lines of one option: its names in the left column and its description in the right one.
std::string entry(const std::string& names, const std::string& description) {
  std::string text = "  " + names;
  text += text.size() < kColumn ? std::string(kColumn - text.size(), ' ') : '\n' + std::string(kColumn, ' ');
  for (const char c : wrapped(description, kWidth - kColumn)) {
    text += c;
    if (c == '\n') text += std::string(kColumn, ' ');
  }
  return text + '\n';
}

std::string entry(const Option& option) {
  std::string names = main_names(option);
  if (option.values() != Values::kNone) {
    if (!option.metavar().empty()) names += ' ' + option.metavar();
    if (!option.shown_default().empty()) names += " [" + option.shown_default() + ']';
    if (option.is_required()) names += " (required)";
  }
  return entry(names, option.description());
}

// Returns a heading and the options below it, or "" if there are none.
std::string section(const Command& command, const std::string& heading, bool are_arguments) {
  std::string text;
  for (const auto& option : command.options()) {
    const bool is_listed = are_arguments || option->heading() == heading;
    if (is_listed && option->is_argument() == are_arguments) text += entry(*option);
  }
  return text.empty() ? "" : '\n' + heading + ":\n" + text;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

bool has_completions(const Option& option) {
  return !option.completed_values().empty() || !option.completed_suffix().empty();
}

// Returns a case of the bash script that selects the completions of a value.
std::string bash_completions(const std::string& pattern, const Option& option) {
  return "        " + pattern + ") values=\"" + joined(option.completed_values()) +
         "\" suffix=" + option.completed_suffix() + " ;;\n";
}

// Returns the cases of the bash script that select the completions of the word after $previous: those of the option
// $previous, or else those of the argument.
std::string bash_value_cases(const Command& command) {
  std::string cases;
  std::string others;  // options whose values are not completed
  const Option* argument = nullptr;
  for (const auto& option : command.options()) {
    if (option->values() == Values::kNone) continue;
    if (option->is_argument()) {
      if (has_completions(*option)) argument = option.get();
      continue;
    }
    std::string pattern;
    for (const std::string& name : option->names()) pattern += (pattern.empty() ? "" : "|") + name;
    if (has_completions(*option)) {
      cases += bash_completions(pattern, *option);
    } else {
      others += (others.empty() ? "" : "|") + pattern;
    }
  }
  if (argument != nullptr) {
    if (!others.empty()) cases += "        " + others + ") ;;\n";
    cases += bash_completions("*", *argument);
  }
  return cases.empty() ? "" : "\n      case $previous in\n" + cases + "      esac";
}

// Appends the cases of the bash script for `command` and its subcommands.
void add_bash_cases(const Command& command, const std::string& path, std::string& script) {
  for (const auto& part : command.commands()) add_bash_cases(*part, path + part->name() + ' ', script);
  script += "    \"" + path + "\"*) words=\"" + joined(command_names(command)) + "\" options=\"" +
            joined(option_names(command)) + "\"" + bash_value_cases(command) + " ;;\n";
}

// Returns the name of the shell function that completes a program: _sotto_convert.
std::string function_name(const Command& program) {
  std::string name = '_' + program.name();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

std::string bash_script(const Command& program) {
  // In --name=VALUE, "=" is a word of its own.
  std::string script = function_name(program) +
                       "() {\n  local current=${COMP_WORDS[COMP_CWORD]} before=$((COMP_CWORD-1))\n"
                       "  local previous words options values suffix\n"
                       "  if [[ $current == = ]]; then current=; fi\n"
                       "  if [[ ${COMP_WORDS[before]} == = ]]; then before=$((before-1)); fi\n"
                       "  previous=${COMP_WORDS[before]}\n"
                       "  if [[ $previous == -* ]]; then previous=${previous//_/-}; fi\n"
                       "  case \"${COMP_WORDS[*]:1:$((COMP_CWORD-1))} \" in\n";
  add_bash_cases(program, "", script);
  return script +
         "  esac\n"
         "  if [[ $current == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
         "  elif [[ -n $values$suffix ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$values\" -- \"$current\"))\n"
         "    if [[ -n $suffix ]]; then\n"
         "      COMPREPLY+=($(compgen -f -X \"!*$suffix\" -- \"$current\"; compgen -d -- \"$current\"))\n"
         "    fi\n"
         "  elif [[ -n $words ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F " +
         function_name(program) + ' ' + program.name() + '\n';
}

// Returns a script for zsh. A user may source it, or zsh finds it in a directory of functions and runs it at the first
// completion.
std::string zsh_script(const Command& program) {
  return "#compdef " + program.name() + "\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script(program) +
         "[[ $funcstack[1] != _" + program.name() + " ]] || _bash_complete -o filenames -F " + function_name(program) +
         '\n';
}

std::string fish_quoted(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  return '\'' + text.substr(0, text.find('\n')) + '\'';
}

// Returns what fish completes for an option with a value, or for an argument.
std::string fish_completions(const Option& option) {
  std::string values = joined(option.completed_values());
  if (!option.completed_suffix().empty()) {
    values += (values.empty() ? "" : " ") + ("(__fish_complete_suffix " + option.completed_suffix()) + ')';
  }
  return " -f -a " + fish_quoted(values);
}

void add_fish_lines(const Command& command, const std::string& condition, const std::string& begin,
                    std::string& script) {
  for (const auto& option : command.options()) {
    const std::vector<std::string> names = long_names(*option);
    const std::string completions = has_completions(*option) ? fish_completions(*option) : "";
    if (names.empty() && completions.empty()) continue;
    script += begin + condition + (names.empty() ? "" : " -l " + names.front().substr(2)) +
              (!names.empty() && option->values() != Values::kNone ? " -r" : "") + completions + " -d " +
              fish_quoted(option->description()) + '\n';
  }
  for (const auto& part : command.commands()) {
    script += begin + condition + " -a " + part->name() + " -d " + fish_quoted(part->description()) + '\n';
    add_fish_lines(*part, " -n '__fish_seen_subcommand_from " + part->name() + '\'', begin, script);
  }
}

// Escapes the characters that roff(7) would interpret.
std::string roff(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (escaped.empty() || escaped.back() == '\n')) escaped += "\\&";
    if (c == '-') escaped += '\\';
    escaped += c;
    if (c == '\\') escaped += 'e';
  }
  return escaped;
}

std::string on_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

void add_man_options(const Command& command, std::string& page) {
  for (const std::string& heading : headings(command)) {
    page += ".SS " + roff(heading) + '\n';
    for (const auto& option : command.options()) {
      if (option->heading() != heading) continue;
      std::string names;
      for (const std::string& name : option->names()) names += (names.empty() ? "" : ", ") + name;
      if (option->values() != Values::kNone) names += ' ' + option->metavar();
      page += ".TP\n.B " + roff(names) + '\n' + roff(option->description()) + ".\n";
    }
  }
}

void add_man_footer(const Command& command, std::string& page) {
  if (!command.footer().empty()) page += ".PP\n.nf\n" + roff(command.footer()) + "\n.fi\n";
  if (!command.readme().empty()) page += ".PP\nMore: " + roff(command.readme()) + '\n';
}

void add_man_command(const Command& command, std::string& page) {
  page += ".SH " + roff(command.path()) + '\n' + roff(command.description()) + ".\n";
  add_man_options(command, page);
  for (const auto& part : command.commands()) add_man_command(*part, page);
  add_man_footer(command, page);
}

}  // namespace

std::string version_text() {
  return std::to_string(SOTTO_VERSION_MAJOR) + '.' + std::to_string(SOTTO_VERSION_MINOR) + '.' +
         std::to_string(SOTTO_VERSION_PATCH);
}

std::string version_text(const Command& program) { return program.name() + ' ' + version_text(); }

void add_version(Command& program, const std::string& text) {
  program.add_option("--version", nullptr, "Print the version and exit", Values::kNone)
      .prints([text](const std::string&) { return text + '\n'; });
}

void add_documentation(Command& program) {
  add_version(program, version_text(program));
  program.add_option("--man", nullptr, "Print the manual page and exit", Values::kNone)
      .prints([&program](const std::string&) { return man_page(program); });
  program.add_option("--completion", nullptr, "Print a script that completes the options in bash, zsh or fish")
      .metavar("SHELL")
      .choices({"bash", "zsh", "fish"})
      .prints([&program](const std::string& shell) { return completion_script(program, shell); });
}

std::string help_text(const Command& command) {
  std::string usage = "Usage: " + command.path() + " [OPTIONS]";
  for (const auto& option : command.options()) {
    if (!option->is_argument()) continue;
    const std::string name = option->name() + (option->values() == Values::kList ? "..." : "");
    usage += ' ' + (option->is_required() ? name : '[' + name + ']');
  }
  if (!command.commands().empty()) usage += " COMMAND";
  std::string text = command.description() + '\n' + usage + '\n' + section(command, "Arguments", true);
  for (const std::string& heading : headings(command)) text += section(command, heading, false);
  if (!command.commands().empty()) text += "\nCommands:\n";
  for (const auto& part : command.commands()) text += entry(part->name(), part->description());
  if (!command.footer().empty()) text += '\n' + command.footer() + '\n';
  if (!command.readme().empty()) text += "\nMore: " + command.readme() + '\n';
  return text;
}

std::string group_help(const Command& command, const std::string& group) {
  std::string text;
  for (const std::string& heading : headings(command)) {
    if (!group.empty() && lower(heading).starts_with(lower(group))) text += section(command, heading, false);
  }
  return text;
}

std::string group_names(const Command& command) {
  std::string names;
  for (const std::string& heading : headings(command)) names += (names.empty() ? "" : ", ") + heading;
  return names;
}

std::string main_names(const Option& option) {
  const auto is_short = [](const std::string& name) { return name[0] == '-' && name[1] != '-'; };
  const auto found = std::find_if(option.names().begin(), option.names().end(), is_short);
  const std::string main = option.name();
  return found == option.names().end() || *found == main ? main : *found + ", " + main;
}

std::string other_spellings(const Command& command) {
  std::string text = "Also understood, as every name with _ for -:";
  for (const auto& option : command.options()) {
    const std::vector<std::string> names = long_names(*option);
    for (size_t i = 1; i < names.size(); ++i) text += ' ' + names[i];
  }
  return wrapped(text, kWidth);
}

std::string unknown_option(const Command& command, const std::string& name) {
  return '"' + name + "\" is not an option of " + command.path() + suggestion(name, option_names(command));
}

std::string unknown_command(const Command& command, const std::string& name) {
  return '"' + name + "\" is not a command" + suggestion(name, command_names(command));
}

std::string completion_script(const Command& program, const std::string& shell) {
  if (shell == "bash") return bash_script(program);
  if (shell == "zsh") return zsh_script(program);
  std::string script;
  add_fish_lines(program, program.commands().empty() ? "" : " -n __fish_use_subcommand",
                 "complete -c " + program.name(), script);
  return script;
}

std::string man_page(const Command& program) {
  std::string title = program.name();
  std::transform(title.begin(), title.end(), title.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  const bool has_commands = !program.commands().empty();
  std::string page = ".TH " + roff(title) + " 1 \"\" \"" + version_text(program) + "\" \"User Commands\"\n.SH NAME\n" +
                     roff(program.name()) + " \\- " + roff(on_one_line(program.description())) + "\n.SH SYNOPSIS\n.B " +
                     roff(program.name()) + (has_commands ? "\n.I COMMAND" : "") +
                     "\n.RI [ OPTION ...]\n.SH DESCRIPTION\nEvery name with \\- is also understood with _.\n";
  if (!has_commands) {
    page += ".SH OPTIONS\n";
    add_man_options(program, page);
    page += ".SH NOTES\n";
    add_man_footer(program, page);
    return page;
  }
  add_man_footer(program, page);
  page += ".SH COMMANDS\n";
  for (const auto& command : program.commands()) {
    page += ".TP\n.B " + command->name() + '\n' + roff(command->description()) + ".\n";
  }
  for (const auto& command : program.commands()) add_man_command(*command, page);
  return page;
}

}  // namespace sotto::cli
