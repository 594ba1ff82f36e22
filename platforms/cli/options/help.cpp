#include "platforms/cli/options/help.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace sotto::cli {
namespace {

constexpr size_t kColumn = 26;
constexpr size_t kWidth = 96;

// Replaces spaces by line ends, so that no line is longer than `width`.
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

// Returns "; did you mean NAME?" for the name that is nearest, or "" if none is near.
std::string suggestion(const std::string& word, const std::vector<std::string>& names) {
  const auto rank = [&](const std::string& name) { return distance(word, name); };
  const auto best =
      std::min_element(names.begin(), names.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  if (best == names.end() || rank(*best) > std::max<size_t>(2, word.size() / 4)) return "";
  return "; did you mean " + *best + '?';
}

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_name().empty(); });
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  return names;
}

// Returns the long names without those that only have _ for -.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (name.find('_') == std::string::npos) names.push_back("--" + name);
    }
  }
  return names;
}

// Explains an argument that `command` does not know.
std::string unexpected(const CLI::App& command, const std::string& name, const std::vector<std::string>& words) {
  if (words.front().size() > 1 && words.front()[0] == '-') {
    const std::string word = words.front().substr(0, words.front().find('='));
    return '"' + word + "\" is not an option of " + name + suggestion(word, option_names(command));
  }
  const std::string quoted = '"' + words.front() + '"';
  if (command.get_require_subcommand_min() > 0) {
    return quoted + " is not a command" + suggestion(words.front(), command_names(command));
  }
  const bool has_prompt = command.get_option_no_throw("--prompt") != nullptr;
  return quoted + " is not expected" + (has_prompt ? "; give the prompt with -p" : "");
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// Appends a case of the bash script for `command` and those below it.
void add_bash_cases(const CLI::App& command, const std::string& path, std::string& script) {
  for (const CLI::App* sub : commands_of(command)) add_bash_cases(*sub, path + sub->get_name() + ' ', script);
  script += "    \"" + path + "\"*) words=\"" + joined(command_names(command)) + "\" options=\"" +
            joined(option_names(command)) + "\" ;;\n";
}

std::string bash_script(const CLI::App& app) {
  std::string script =
      "_sotto() {\n  local current=${COMP_WORDS[COMP_CWORD]} words options\n"
      "  case \"${COMP_WORDS[*]:1:COMP_CWORD-1} \" in\n";
  add_bash_cases(app, "", script);
  return script +
         "  esac\n"
         "  if [[ $current == -* ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
         "  elif [[ -n $words ]]; then\n"
         "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "  else\n"
         "    COMPREPLY=($(compgen -f -- \"$current\"))\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _sotto " +
         app.get_name() + '\n';
}

std::string fish_quoted(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  return '\'' + text.substr(0, text.find('\n')) + '\'';
}

void add_fish_lines(const CLI::App& command, const std::string& condition, const std::string& begin,
                    std::string& script) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_lnames().empty()) continue;
    script += begin + condition + " -l " + option->get_lnames().front() + (option->get_type_size() > 0 ? " -r" : "") +
              " -d " + fish_quoted(option->get_description()) + '\n';
  }
  for (const CLI::App* sub : commands_of(command)) {
    script += begin + condition + " -a " + sub->get_name() + " -d " + fish_quoted(sub->get_description()) + '\n';
    add_fish_lines(*sub, " -n '__fish_seen_subcommand_from " + sub->get_name() + '\'', begin, script);
  }
}

// Escapes what roff(7) would interpret.
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

void add_man_options(const CLI::App& command, const std::string& name, std::string& page) {
  page += ".SH " + roff(name) + '\n' + roff(command.get_description()) + ".\n";
  for (const std::string& group : command.get_groups()) {
    const auto options = command.get_options([&](const CLI::Option* option) { return option->get_group() == group; });
    if (group.empty() || options.empty()) continue;
    page += ".SS " + roff(group) + '\n';
    for (const CLI::Option* option : options) {
      std::string names = option->nonpositional() ? "" : option->get_name(true);
      for (const std::string& letter : option->get_snames()) names += (names.empty() ? "-" : ", -") + letter;
      for (const std::string& word : option->get_lnames()) {
        const bool is_underscored = word.find('_') != std::string::npos;
        if (!is_underscored) names += (names.empty() ? "--" : ", --") + word;
      }
      const std::string value = option->get_type_size() == 0 ? "" : ' ' + option->get_type_name();
      page += ".TP\n.B " + roff(names + value) + '\n' + roff(option->get_description()) + ".\n";
    }
  }
  for (const CLI::App* sub : commands_of(command)) add_man_options(*sub, name + ' ' + sub->get_name(), page);
  if (command.get_footer().empty()) return;
  page += ".PP\n.nf\n" + roff(command.get_footer()) + "\n.fi\n";
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

std::string group_help(const CLI::App& command, const std::string& group) {
  std::string text;
  for (const std::string& heading : command.get_groups()) {
    if (group.empty() || !lower(heading).starts_with(lower(group))) continue;
    const auto options = command.get_options(
        [&](const CLI::Option* option) { return option->get_group() == heading && option->nonpositional(); });
    if (!options.empty()) text += HelpFormatter().make_group(heading, false, options);
  }
  return text;
}

std::string group_names(const CLI::App& command) {
  std::string names;
  for (const std::string& heading : command.get_groups()) {
    if (!heading.empty()) names += (names.empty() ? "" : ", ") + heading;
  }
  return names;
}

int report_usage(const CLI::App& app, const CLI::ParseError& error) {
  constexpr int kUsageError = 2;
  const std::string program = app.get_name();
  if (error.get_exit_code() == 0) {  // --help, --version
    app.exit(error);
    if (std::cout.flush()) return 0;
    std::fprintf(stderr, "%s: standard output could not be written\n", program.c_str());
    return 1;
  }
  const CLI::App* given = &app;
  std::string name = program;
  while (!given->get_subcommands().empty()) {
    given = given->get_subcommands().front();
    name += ' ' + given->get_name();
  }
  const std::vector<std::string> words = app.remaining(true);
  if (given->get_require_subcommand_min() > 0 && words.empty()) {
    std::fputs(given->get_formatter()->make_help(given, name, CLI::AppFormatMode::Normal).c_str(), stderr);
    return kUsageError;
  }
  const bool is_unexpected =
      error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) || given->get_require_subcommand_min() > 0;
  const std::string message = is_unexpected && !words.empty() ? unexpected(*given, name, words) : error.what();
  std::fprintf(stderr, "%s: %s\nTry: %s --help\n", program.c_str(), message.c_str(), name.c_str());
  return kUsageError;
}

std::string man_page(const CLI::App& app, const std::string& version) {
  std::string page =
      ".TH SOTTO 1 \"\" \"" + version + "\" \"User Commands\"\n.SH NAME\n" + app.get_name() + " \\- " +
      roff(app.get_description()) + "\n.SH SYNOPSIS\n.B " + app.get_name() +
      "\n.I COMMAND\n.RI [ OPTION ...]\n.SH DESCRIPTION\nEvery name with \\- is also understood with _.\n.PP\n.nf\n" +
      roff(app.get_footer()) + "\n.fi\n.SH COMMANDS\n";
  for (const CLI::App* command : commands_of(app)) {
    page += ".TP\n.B " + command->get_name() + '\n' + roff(command->get_description()) + ".\n";
  }
  for (const CLI::App* command : commands_of(app)) {
    add_man_options(*command, app.get_name() + ' ' + command->get_name(), page);
  }
  return page;
}

std::string completion_script(const CLI::App& app, const std::string& shell) {
  if (shell == "bash") return bash_script(app);
  if (shell == "zsh") return "autoload -U +X bashcompinit && bashcompinit\n" + bash_script(app);
  if (shell != "fish") return "";
  std::string script;
  add_fish_lines(app, " -n __fish_use_subcommand", "complete -c " + app.get_name(), script);
  return script;
}

}  // namespace sotto::cli
