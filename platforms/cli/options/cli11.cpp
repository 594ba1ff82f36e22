#include "platforms/cli/options/cli11.h"

#include <algorithm>

namespace sotto::cli {
std::vector<std::string> split_names(std::string_view names) {
  std::vector<std::string> list;
  while (!names.empty()) {
    const size_t size = std::min(names.find(','), names.size());
    list.emplace_back(names.substr(0, size));
    names.remove_prefix(std::min(size + 1, names.size()));
  }
  return list;
}

std::string with_underscores(std::string_view names) {
  std::string all;
  for (const std::string& name : split_names(names)) {
    all += (all.empty() ? "" : ",") + name;
    std::string other = name;
    const auto begin = other.begin() + static_cast<ptrdiff_t>(other.find_first_not_of("!-"));
    std::replace(begin, other.end(), '-', '_');
    if (other != name) all += ',' + other;
  }
  return all;
}

CLI::Option* add_choice(CLI::App& command, std::string_view names, int32_t& value, const std::string& description,
                        Names choices) {
  const std::string option = split_names(names).front();
  const auto set = [&value, choices, option](const std::string& name) {
    const std::optional<int32_t> found = find_value(choices, name);
    if (!found) reject(option, '"' + name + "\" is not one of " + listed(choices));
    value = *found;
  };
  return add_translated<std::string>(command, names, set, description + ": " + listed(choices), "NAME",
                                     name_of(choices, value));
}

CLI::Option* add_texts(CLI::App& command, std::string_view names, std::vector<std::string>& texts,
                       const std::string& description, const char* metavar) {
  return command.add_option(with_underscores(names), texts, description)->type_name(metavar)->allow_extra_args(false);
}

CLI::Validator file_name() {
  const auto check = [](const std::string& name) {
    return std::string(name.empty() ? "the name of the file is empty" : "");
  };
  return {check, ""};
}

uint32_t parse_window(int64_t count, const std::string& option) {
  constexpr uint32_t kAll = std::numeric_limits<uint32_t>::max();
  if (count < -1 || count > kAll) {
    reject(option, "is " + std::to_string(count) + "; it must be -1 or a number of tokens");
  }
  return count == -1 ? kAll : static_cast<uint32_t>(count);
}

bool is_given(const CLI::App& command, const std::string& option) {
  const CLI::Option* known = command.get_option_no_throw(option);
  return known != nullptr && known->count() > 0;
}

std::string first_given(const CLI::App& command, const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    if (is_given(command, option)) return option;
  }
  return "";
}

void reject(const std::string& option, const std::string& why) { throw CLI::ValidationError(option, why); }

void require_with(const CLI::App& command, const std::string& option, const std::vector<std::string>& needed) {
  if (!is_given(command, option) || !first_given(command, needed).empty()) return;
  std::string list;
  for (const std::string& name : needed) list += (list.empty() ? "" : " or ") + name;
  reject(option, "has no effect without " + list);
}

void reject_with(const CLI::App& command, const std::string& option, const std::vector<std::string>& others,
                 const std::string& why) {
  if (!is_given(command, option)) return;
  const std::string other = first_given(command, others);
  if (other.empty()) return;
  reject(option, "cannot be combined with " + other + (why.empty() ? "" : ": " + why));
}

}  // namespace sotto::cli
