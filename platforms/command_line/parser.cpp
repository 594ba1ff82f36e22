#include "platforms/command_line/parser.h"

#include <algorithm>
#include <cstddef>
#include <cstdio>

#include "platforms/command_line/help.h"

namespace sotto::cli {
namespace {

// Replaces control characters other than newline and tab by "?", because a word must not be able to control the
// terminal.
std::string without_controls(std::string text) {
  char previous = '\0';
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_control = (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
    const bool ends_control = previous == '\xc2' && byte >= 0x80 && byte < 0xa0;  // U+0080 to U+009F
    previous = c;
    if (is_control || ends_control) c = '?';
  }
  return text;
}

}  // namespace

Parser::Parser(Command& program, int argc, char** argv) : words_(argv + 1, argv + argc), command_(&program) {}

void Parser::run(const ReadDefaults& read_defaults) {
  while (next_ < words_.size() && !output_) {
    const std::string word = words_[next_++];
    if (is_option(word)) {
      read_option(word);
    } else if (word == "--" && !has_only_arguments_) {
      has_only_arguments_ = true;
    } else {
      read_argument(word);
    }
  }
  if (output_) return;
  if (read_defaults && command_->commands_.empty()) {
    for (const OptionDefault& given : read_defaults(*command_)) add_default(given);
    drop_overridden_defaults();
  }
  apply();
}

void Parser::add_default(const OptionDefault& given) {
  const auto found = std::find_if(command_->options_.begin(), command_->options_.end(),
                                  [&](const auto& option) { return option->is_named(given.option); });
  if (found == command_->options_.end()) {
    throw UsageError(given.place + ": " + unknown_option(*command_, given.option));
  }
  Option& option = **found;
  if (option.is_given()) return;  // on the command line, or by an earlier default
  const bool is_optional = option.values_ == Values::kOptional;
  if (is_optional && given.values.front() == "false") return;
  option.place_ = given.place;
  try {
    for (const std::string& value : given.values) {
      add_values(option, given.option, is_optional && value == "true" ? nullptr : &value);
    }
  } catch (const UsageError& error) {
    throw UsageError(given.place + ": " + error.what());
  }
}

// Drops defaults that contradict an option of the command line, and then defaults without a required option.
void Parser::drop_overridden_defaults() {
  const auto is_default = [](const auto& option) { return option->is_given() && !option->place_.empty(); };
  const auto drop = [](Option& option) {
    option.count_ = 0;
    option.given_.clear();
  };
  for (const auto& option : command_->options_) {
    if (!is_default(option)) continue;
    const auto overrides = [&](const auto& other) {
      return other->is_given() && other->place_.empty() && (other->rules_out(*option) || option->rules_out(*other));
    };
    if (std::any_of(command_->options_.begin(), command_->options_.end(), overrides)) drop(*option);
  }
  for (bool has_dropped = true; has_dropped;) {
    has_dropped = false;
    for (const auto& option : command_->options_) {
      if (!is_default(option) || option->needed_.empty() || !first_given(*command_, option->needed_).empty()) continue;
      drop(*option);
      has_dropped = true;
    }
  }
}

bool Parser::is_option(const std::string& word) const {
  return !has_only_arguments_ && word.size() > 1 && word[0] == '-' && word != "--";
}

void Parser::read_option(const std::string& word) {
  const bool is_long = word.starts_with("--");
  const size_t name_size = is_long ? std::min(word.find('='), word.size()) : 2;
  const std::string name = word.substr(0, name_size);
  const auto found = std::find_if(command_->options_.begin(), command_->options_.end(),
                                  [&](const auto& option) { return option->is_named(name); });
  if (found == command_->options_.end()) throw UsageError(unknown_option(*command_, name));
  Option& option = **found;
  std::string value = word.substr(name_size);
  const bool has_value = !value.empty();
  if (has_value && is_long) value.erase(0, 1);  // the "="
  if (option.values_ == Values::kNone && has_value && !is_long) {
    words_.insert(words_.begin() + static_cast<ptrdiff_t>(next_), '-' + value);  // the other flags in this word
    return add_values(option, name, nullptr);
  }
  add_values(option, name, has_value ? &value : nullptr);
}

void Parser::add_values(Option& option, const std::string& name, const std::string* value) {
  ++option.count_;
  const bool is_next_value = next_ < words_.size() && !is_option(words_[next_]) && words_[next_] != "--";
  switch (option.values_) {
    case Values::kNone: {
      const bool is_negated = option.is_negated_by(name);
      if (value != nullptr && *value != "true" && *value != "false") {
        reject(option.name(), '"' + *value + "\" is neither true nor false");
      }
      const bool is_true = (value == nullptr || *value == "true") != is_negated;
      option.given_.push_back(is_true ? "true" : "false");
      break;
    }
    case Values::kOne:
    case Values::kRepeated:
      if (value == nullptr && next_ == words_.size()) reject(option.name(), "needs a value");
      option.given_.push_back(value != nullptr ? *value : words_[next_++]);
      break;
    case Values::kOptional:
      option.given_.push_back(value != nullptr ? *value : is_next_value ? words_[next_++] : option.implicit_value_);
      break;
    case Values::kList:
      if (value != nullptr) option.given_.push_back(*value);
      while (next_ < words_.size() && !is_option(words_[next_]) && words_[next_] != "--") {
        option.given_.push_back(words_[next_++]);
      }
      if (next_ < words_.size() && words_[next_] == "--") ++next_;  // ends the list
  }
  if (option.is_named("--help")) output_ = help_text(*command_);
  if (!option.print_) return;
  const std::string& given = option.given_.back();
  const std::string wrong = option.check_ ? option.check_(given) : "";
  if (!wrong.empty()) reject(option.name(), wrong);
  output_ = option.print_(given);
}

void Parser::read_argument(const std::string& word) {
  const auto& commands = command_->commands_;
  if (!commands.empty()) {
    const auto found =
        std::find_if(commands.begin(), commands.end(), [&](const auto& command) { return command->name() == word; });
    if (found == commands.end()) throw UsageError(unknown_command(*command_, word));
    command_ = found->get();
    return;
  }
  for (const auto& option : command_->options_) {
    const bool fits = option->values_ == Values::kList || option->count_ == 0;
    if (!option->is_argument() || !fits) continue;
    ++option->count_;
    option->given_.push_back(word);
    return;
  }
  const bool has_prompt = command_->find("--prompt") != nullptr;
  throw UsageError("unexpected argument \"" + word + '"' + (has_prompt ? "; give the prompt with -p" : ""));
}

void Parser::apply() {
  lacks_command_ = !command_->commands_.empty();
  if (lacks_command_) throw UsageError("a command is required");
  for (const auto& option : command_->options_) apply(*option);
  try {
    check_combinations();
  } catch (const UsageError& error) {
    throw UsageError(error.what() + defaults_in_use());
  }
}

void Parser::check_combinations() const {
  for (const auto& option : command_->options_) {
    if (option->is_required_ && !option->is_given()) throw UsageError(option->name() + " is required");
  }
  for (const auto& option : command_->options_) option->check_combination(*command_);
  if (command_->on_parsed_) command_->on_parsed_();
}

// Returns "; defaults: --temp (config.json:3)", or an empty string if there are none.
std::string Parser::defaults_in_use() const {
  std::string list;
  for (const auto& option : command_->options_) {
    if (!option->is_given() || option->place_.empty()) continue;
    list += (list.empty() ? "; defaults: " : ", ") + option->name() + " (" + option->place_ + ')';
  }
  return list;
}

void Parser::apply(Option& option) {
  try {
    for (const std::string& value : option.given_) {
      const std::string wrong = option.check_ ? option.check_(value) : "";
      if (!wrong.empty()) reject(option.name(), wrong);
      if (option.set_) option.set_(value);
    }
    const bool has_one_value = option.values_ == Values::kOne || option.values_ == Values::kOptional;
    if (has_one_value && option.count_ > 1) reject(option.name(), "is given more than once");
  } catch (const UsageError& error) {
    if (!option.is_given() || option.place_.empty()) throw;
    throw UsageError(option.place_ + ": " + error.what());
  }
}

std::optional<int> parse_command_line(Command& program, int argc, char** argv, const ReadDefaults& read_defaults) {
  constexpr int kUsageError = 2;
  const std::string name = program.name();
  Parser parser(program, argc, argv);
  try {
    parser.run(read_defaults);
  } catch (const UsageError& error) {
    const Command& command = parser.command();
    if (parser.lacks_command()) {
      std::fputs(help_text(command).c_str(), stderr);
    } else {
      std::fprintf(stderr, "%s: %s\nTry: %s --help\n", name.c_str(), without_controls(error.what()).c_str(),
                   command.path().c_str());
    }
    return kUsageError;
  }
  if (!parser.output()) return std::nullopt;
  if (std::fputs(parser.output()->c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  std::fprintf(stderr, "%s: standard output could not be written\n", name.c_str());
  return 1;
}

}  // namespace sotto::cli
