// What the files of options share.
#include "platforms/cli/options/option_tools.h"

#include <algorithm>
#include <limits>

#include "platforms/cli/options/sampler_fields.h"

namespace sotto::cli {

std::string spellings(std::string_view names) {
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
    if (!found) {
      throw CLI::ValidationError(option, '"' + name + "\" is not one of " + listed(choices));
    }
    value = *found;
  };
  return add_translated<std::string>(command, names, set, description + ": " + listed(choices), "NAME",
                                     name_of(choices, value));
}

CLI::Option* add_texts(CLI::App& command, std::string_view names, std::vector<std::string>& texts,
                       const std::string& description, const char* type) {
  return command.add_option(spellings(names), texts, description)->type_name(type)->allow_extra_args(false);
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
    throw CLI::ValidationError(option, "must be -1, 0 or a number of tokens");
  }
  return count == -1 ? kAll : static_cast<uint32_t>(count);
}

bool is_given(const CLI::App& command, const std::string& option) { return command.count(option) > 0; }

std::string first_given(const CLI::App& command, const std::vector<std::string>& options) {
  for (const std::string& option : options) {
    if (is_given(command, option)) return option;
  }
  return "";
}

void require_with(const CLI::App& command, const std::string& option, const std::vector<std::string>& masters) {
  if (!is_given(command, option) || !first_given(command, masters).empty()) return;
  std::string list;
  for (const std::string& master : masters) list += (list.empty() ? "" : " or ") + master;
  throw CLI::ValidationError(option, "has no effect without " + list);
}

void refuse_with(const CLI::App& command, const std::string& option, const std::vector<std::string>& others,
                 const std::string& why) {
  if (!is_given(command, option)) return;
  const std::string other = first_given(command, others);
  if (other.empty()) return;
  throw CLI::ValidationError(option, "does not go with " + other + (why.empty() ? "" : ": " + why));
}

}  // namespace sotto::cli
