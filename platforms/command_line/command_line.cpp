#include "platforms/command_line/command_line.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <utility>

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

Option& Option::completes(std::vector<std::string> values, std::string suffix) {
  completed_values_ = std::move(values);
  completed_suffix_ = std::move(suffix);
  return *this;
}

Option& Option::choices(std::vector<std::string> values) {
  check_ = [values](const std::string& value) {
    std::string list;
    for (const std::string& choice : values) {
      if (value == choice) return std::string();
      list += (list.empty() ? "" : ", ") + choice;
    }
    return '"' + value + "\" is not one of " + list;
  };
  return completes(std::move(values));
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

bool Option::is_negated_by(std::string_view name) const { return negated_name_ == plain_name(name); }

Command::Command(std::string path, std::string description, const Command* parent)
    : path_(std::move(path)), description_(std::move(description)), parent_(parent) {
  add_option("-h,--help", nullptr, "Print this help message and exit", Values::kNone);
}

Command& Command::add_command(const std::string& name, std::string description) {
  return *commands_.emplace_back(std::make_unique<Command>(path_ + ' ' + name, std::move(description), this));
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
