#include "platforms/command_line/command_line.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <utility>

#include "platforms/command_line/help.h"

namespace sotto::cli {
namespace {

// Returns an option's name with "-" instead of "_", as options are declared.
std::string plain_name(std::string_view name) {
  std::string plain(name);
  const size_t begin = std::min(name.find_first_not_of('-'), name.size());
  std::replace(plain.begin() + static_cast<ptrdiff_t>(begin), plain.end(), '_', '-');
  return plain;
}

}  // namespace

Option::Option(std::string_view spellings, Values values, Set set, std::string description)
    : names_(split_names(spellings)), values_(values), set_(std::move(set)), description_(std::move(description)) {
  for (std::string& name : names_) {
    if (name[0] != '!') continue;
    name.erase(0, 1);
    negated_name_ = name;
  }
}

Option& Option::needs(std::string_view options) {
  needed_ = split_names(options);
  return *this;
}

Option& Option::excludes(std::string_view options, std::string why) {
  excluded_.push_back({split_names(options), std::move(why)});
  return *this;
}

Option& Option::replaces(std::string_view options) {
  replaced_ = split_names(options);
  return *this;
}

void Option::check_combination(const Command& command) const {
  if (!is_given()) return;
  if (!needed_.empty() && first_given(command, needed_).empty()) {
    std::string list;
    for (const std::string& name : needed_) list += (list.empty() ? "" : " or ") + name;
    reject(name(), "has no effect without " + list);
  }
  for (const Exclusion& exclusion : excluded_) reject_with(command, name(), exclusion.options, exclusion.why);
}

bool Option::rules_out(const Option& other) const {
  const auto names_other = [&other](const std::string& name) { return other.is_named(name); };
  const auto lists_other = [&](const std::vector<std::string>& options) {
    return std::any_of(options.begin(), options.end(), names_other);
  };
  return lists_other(replaced_) || std::any_of(excluded_.begin(), excluded_.end(), [&](const Exclusion& exclusion) {
           return lists_other(exclusion.options);
         });
}

std::string Option::name() const {
  const auto is_long = [](const std::string& name) { return name.starts_with("--"); };
  const auto found = std::find_if(names_.begin(), names_.end(), is_long);
  return found == names_.end() ? names_.front() : *found;
}

bool Option::is_named(std::string_view name) const {
  return std::find(names_.begin(), names_.end(), plain_name(name)) != names_.end();
}

Command::Command(std::string path, std::string description)
    : path_(std::move(path)), description_(std::move(description)) {
  add_option("-h,--help", nullptr, "Print this help message and exit", Values::kNone)
      .answers([this](const std::string&) { return help_text(*this); });
}

Command& Command::add_command(const std::string& name, std::string description) {
  return *commands_.emplace_back(std::make_unique<Command>(path_ + ' ' + name, std::move(description)));
}

Option& Command::add_option(std::string_view names, Option::Set set, std::string description, Values values) {
  return *options_.emplace_back(std::make_unique<Option>(names, values, std::move(set), std::move(description)));
}

Option& Command::add_option(std::string_view names, std::string& value, std::string description) {
  return add_option(
      names, [&value](const std::string& text) { value = text; }, std::move(description));
}

Option& Command::add_option(std::string_view names, std::vector<std::string>& values, std::string description,
                            Values kind) {
  return add_option(
      names, [&values](const std::string& text) { values.push_back(text); }, std::move(description), kind);
}

Option& Command::add_flag(std::string_view names, bool& value, std::string description) {
  return add_option(
      names, [&value](const std::string& text) { value = text == "true"; }, std::move(description), Values::kNone);
}

Option& Command::add_flag(std::string_view names, std::function<void()> set, std::string description) {
  const auto set_if_true = [set = std::move(set)](const std::string& text) {
    if (text == "true") set();
  };
  return add_option(names, set_if_true, std::move(description), Values::kNone);
}

const Command* Command::find_command(std::string_view name) const {
  for (const auto& command : commands_) {
    if (command->name() == name) return command.get();
  }
  return nullptr;
}

const Option* Command::find(std::string_view name) const {
  for (const auto& option : options_) {
    if (option->is_named(name)) return option.get();
  }
  return nullptr;
}

Parser::Parser(Command& program, int argc, char** argv) : words_(argv + 1, argv + argc), command_(&program) {}

void Parser::run(const ReadDefaults& read_defaults) {
  while (next_ < words_.size() && !answer_) {
    const std::string word = words_[next_++];
    if (is_option(word)) {
      read_option(word);
    } else if (word == "--" && !has_only_arguments_) {
      has_only_arguments_ = true;
    } else {
      read_argument(word);
    }
  }
  if (answer_) return;
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

// Drops defaults that contradict an option of the command line, and then those that lack an option that they need.
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
      const bool is_negated = option.negated_name_ == plain_name(name);
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
      option.given_.push_back(value != nullptr ? *value : is_next_value ? words_[next_++] : option.standard_);
      break;
    case Values::kList:
      if (value != nullptr) option.given_.push_back(*value);
      while (next_ < words_.size() && !is_option(words_[next_]) && words_[next_] != "--") {
        option.given_.push_back(words_[next_++]);
      }
      if (next_ < words_.size() && words_[next_] == "--") ++next_;  // ends the list
  }
  if (!option.answer_) return;
  const std::string& given = option.given_.back();
  const std::string wrong = option.check_ ? option.check_(given) : "";
  if (!wrong.empty()) reject(option.name(), wrong);
  answer_ = option.answer_(given);
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
    const bool has_room = option->values_ == Values::kList || option->count_ == 0;
    if (!option->is_argument() || !has_room) continue;
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

std::vector<std::string> split_names(std::string_view names) {
  std::vector<std::string> list;
  while (!names.empty()) {
    const size_t size = std::min(names.find(','), names.size());
    list.emplace_back(names.substr(0, size));
    names.remove_prefix(std::min(size + 1, names.size()));
  }
  return list;
}

template <typename T>
T parse_number(const std::string& option, const std::string& text) {
  T value = 0;
  if constexpr (std::is_floating_point_v<T>) {
    char* end = nullptr;
    value = static_cast<T>(std::strtold(text.c_str(), &end));
    if (text.empty() || *end != '\0') reject(option, '"' + text + "\" is not a number");
  } else {
    const char* end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    if (result.ec != std::errc() || result.ptr != end) {
      const std::string range =
          std::is_signed_v<T> ? "" : " from 0 to " + std::to_string(std::numeric_limits<T>::max());
      reject(option, '"' + text + "\" is not a whole number" + range);
    }
  }
  return value;
}

template <typename T>
std::string number_text(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", static_cast<double>(value));
    return text;
  } else {
    return std::to_string(value);
  }
}

template float parse_number(const std::string&, const std::string&);
template double parse_number(const std::string&, const std::string&);
template int32_t parse_number(const std::string&, const std::string&);
template uint32_t parse_number(const std::string&, const std::string&);
template int64_t parse_number(const std::string&, const std::string&);
template uint64_t parse_number(const std::string&, const std::string&);
template std::string number_text(float);
template std::string number_text(double);
template std::string number_text(int32_t);
template std::string number_text(uint32_t);
template std::string number_text(int64_t);
template std::string number_text(uint64_t);

Option& add_value(Command& command, std::string_view names, std::string& value, const std::string& description,
                  const char* metavar) {
  return command.add_option(names, value, description).metavar(metavar).shown_default(value);
}

Option& add_texts(Command& command, std::string_view names, std::vector<std::string>& texts,
                  const std::string& description, const char* metavar) {
  return command.add_option(names, texts, description, Values::kRepeated).metavar(metavar);
}

Option::Check one_of(std::vector<std::string> choices) {
  return [choices = std::move(choices)](const std::string& value) {
    std::string list;
    for (const std::string& choice : choices) {
      if (value == choice) return std::string();
      list += (list.empty() ? "" : ", ") + choice;
    }
    return '"' + value + "\" is not one of " + list;
  };
}

std::string check_file_name(const std::string& name) { return name.empty() ? "the name of the file is empty" : ""; }

bool is_given(const Command& command, const std::string& option) {
  const Option* known = command.find(option);
  return known != nullptr && known->is_given();
}

std::string first_given(const Command& command, const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    if (is_given(command, option)) return option;
  }
  return "";
}

void reject(const std::string& option, const std::string& why) { throw UsageError(option + ": " + why); }

void reject_with(const Command& command, const std::string& option, const std::vector<std::string>& others,
                 const std::string& why) {
  if (!is_given(command, option)) return;
  const std::string other = first_given(command, others);
  if (other.empty()) return;
  reject(option, "cannot be combined with " + other + (why.empty() ? "" : ": " + why));
}

}  // namespace sotto::cli
