#include "platforms/cli/options/parameters.h"

#include "platforms/cli/support/failure.h"

namespace sotto::cli {
namespace {

// Returns "top_p_decay" for "--top-p-decay".
std::string json_name_of(std::string_view option) {
  std::string name(option.substr(option.find_first_not_of('-')));
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

Option& add_flag(Command& command, const Parameter& parameter, uint32_t& value) {
  const uint32_t given = parameter.kind == ParameterKind::kOn ? 1 : 0;
  return command.add_flag(
      parameter.spellings, [&value, given] { value = given; }, parameter.help);
}

// Parses a number of tokens. -1 becomes UINT32_MAX, which means all.
uint32_t parse_window(const std::string& option, const std::string& text) {
  constexpr uint32_t kAll = std::numeric_limits<uint32_t>::max();
  const auto count = parse_number<int64_t>(option, text);
  if (count < -1 || count > kAll) reject(option, "is " + text + "; it must be -1 or a number of tokens");
  return count == -1 ? kAll : static_cast<uint32_t>(count);
}

Option& add_option(Command& command, const Parameter& parameter, void* params, TokenTexts* tokens) {
  const std::string option = parameter.option();
  switch (parameter.kind) {
    case ParameterKind::kNumber:
      return add_value(command, parameter.spellings, member<float>(parameter, params), parameter.help,
                       parameter.metavar);
    case ParameterKind::kCount:
      return add_value(command, parameter.spellings, member<uint32_t>(parameter, params), parameter.help,
                       parameter.metavar);
    case ParameterKind::kKey:
      return add_value(command, parameter.spellings, member<uint64_t>(parameter, params), parameter.help,
                       parameter.metavar);
    case ParameterKind::kWindow: {
      uint32_t& value = member<uint32_t>(parameter, params);
      const auto set = [&value, option](const std::string& text) { value = parse_window(option, text); };
      return command.add_option(parameter.spellings, set, parameter.help)
          .metavar(parameter.metavar)
          .shown_default(value == UINT32_MAX ? "-1" : std::to_string(value));
    }
    case ParameterKind::kOn:
    case ParameterKind::kOff:
      return add_flag(command, parameter, member<uint32_t>(parameter, params));
    case ParameterKind::kToken: {
      const auto set = [&parameter, tokens](const std::string& text) { tokens->emplace_back(&parameter, text); };
      return command.add_option(parameter.spellings, set, parameter.help).metavar(parameter.metavar);
    }
    case ParameterKind::kName:
      break;
  }
  return add_choice(command, parameter.spellings, member<int32_t>(parameter, params), parameter.help, parameter.names);
}

// Returns the first long spelling of the option that sets a parameter, or an empty string.
std::string option_of(const std::string& parameter_name) {
  for (const SetBy& entry : kSetBy) {
    if (parameter_name == entry.parameter) return entry.option;
  }
  for (const Parameters table : kAllParameters) {
    const Parameter* parameter = find_parameter(table, parameter_name);
    if (parameter == nullptr) continue;
    for (const std::string& spelling : split_names(parameter->spellings)) {
      if (spelling.starts_with("--")) return spelling;
    }
  }
  return "";
}

}  // namespace

std::optional<int32_t> find_value(Names names, std::string_view name) {
  std::string plain(name);
  for (char& c : plain) {
    if (c == '-' || c == '.') c = '_';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  for (const Name& known : names) {
    if (plain == known.name) return known.value;
  }
  return std::nullopt;
}

const char* name_of(Names names, int32_t value) {
  for (const Name& known : names) {
    if (known.value == value) return known.name;
  }
  return "unknown";
}

std::vector<std::string> printed_names(Names names) {
  std::vector<std::string> list;
  for (const Name& known : names) {
    if (name_of(names, known.value) == known.name) list.emplace_back(known.name);
  }
  return list;
}

std::string listed(Names names) {
  std::string text;
  for (const std::string& name : printed_names(names)) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string names_of(Names names, int32_t value) {
  std::string text;
  for (const Name& known : names) {
    if (known.value == value) text += std::string(text.empty() ? "" : ", ") + known.name;
  }
  return text;
}

std::string Parameter::option() const { return split_names(spellings).front(); }

std::string Parameter::json_name() const { return split_names(json).front(); }

bool Parameter::is_named(std::string_view json_name) const {
  for (const std::string& name : split_names(json)) {
    if (json_name == name) return true;
  }
  for (const std::string& option : split_names(spellings)) {
    if (json_name == json_name_of(option)) return true;
  }
  return false;
}

const Parameter* find_parameter(Parameters table, std::string_view json_name) {
  for (const Parameter& parameter : table) {
    if (parameter.is_named(json_name)) return &parameter;
  }
  return nullptr;
}

Option& add_choice(Command& command, std::string_view names, int32_t& value, const std::string& description,
                   Names choices) {
  const std::string option = split_names(names).front();
  const auto set = [&value, choices, option](const std::string& name) {
    const std::optional<int32_t> found = find_value(choices, name);
    if (!found) reject(option, '"' + name + "\" is not one of " + listed(choices));
    value = *found;
  };
  return command.add_option(names, set, description + ": " + listed(choices))
      .metavar("NAME")
      .shown_default(name_of(choices, value))
      .completes(printed_names(choices));
}

Option& add_parameter(Command& command, const Parameter& parameter, void* params, TokenTexts* tokens) {
  Option& option = add_option(command, parameter, params, tokens);
  if (parameter.shown[0] != '\0') option.shown_default(parameter.shown);
  return option.group(parameter.group).needs(parameter.needs);
}

void add_parameters(Command& command, Parameters table, void* params, std::string_view group, TokenTexts* tokens) {
  for (const Parameter& parameter : table) {
    if (group.empty() || group == parameter.group) add_parameter(command, parameter, params, tokens);
  }
}

Failure option_failure(const std::string& subject, const Error& error) {
  const std::string message = error.what();
  const size_t end = message.find(' ');
  const std::string name = message.substr(0, end);
  const std::string option = option_of(name);
  if (option.empty() || end == std::string::npos) return failure_of(subject, error);
  return Failure(name, option, message.substr(end + 1));
}

Json parameter_json(const Parameter& parameter, const void* params) {
  void* const data = const_cast<void*>(params);
  switch (parameter.kind) {
    case ParameterKind::kNumber:
      return number_json(member<float>(parameter, data));
    case ParameterKind::kCount:
    case ParameterKind::kWindow:
      return member<uint32_t>(parameter, data);
    case ParameterKind::kKey:
      return member<uint64_t>(parameter, data);
    case ParameterKind::kOn:
    case ParameterKind::kOff:
      return member<uint32_t>(parameter, data) != 0;
    case ParameterKind::kToken:
      return member<int32_t>(parameter, data);
    case ParameterKind::kName:
      break;
  }
  return name_of(parameter.names, member<int32_t>(parameter, data));
}

Json parameters_json(Parameters table, const void* params) {
  Json object = Json::object();
  for (const Parameter& parameter : table) object[parameter.json_name()] = parameter_json(parameter, params);
  return object;
}

void read_parameter(const Parameter& parameter, const Json& value, const std::string& name, void* params) {
  switch (parameter.kind) {
    case ParameterKind::kNumber:
      member<float>(parameter, params) = to_float(value, name);
      break;
    case ParameterKind::kCount:
      member<uint32_t>(parameter, params) = to_count(value, name);
      break;
    case ParameterKind::kWindow:
      member<uint32_t>(parameter, params) = value == -1 ? UINT32_MAX : to_count(value, name);
      break;
    case ParameterKind::kKey:
      member<uint64_t>(parameter, params) = to_key(value, name);
      break;
    case ParameterKind::kOn:
    case ParameterKind::kOff: {
      const bool is_negated = parameter.kind == ParameterKind::kOff && name != parameter.json_name();
      member<uint32_t>(parameter, params) = to_bool(value, name) != is_negated ? 1 : 0;
      break;
    }
    case ParameterKind::kToken:
      member<int32_t>(parameter, params) = value == -1 ? -1 : to_token(value, name);
      break;
    case ParameterKind::kName:
      member<int32_t>(parameter, params) = read_name(value, name, parameter.names);
  }
}

int32_t read_name(const Json& value, const std::string& name, Names names) {
  const std::string& text = to_text(value, name);
  const std::optional<int32_t> found = find_value(names, text);
  if (!found) throw Failure(name + ": \"" + text + "\" is not one of " + listed(names));
  return *found;
}

}  // namespace sotto::cli
