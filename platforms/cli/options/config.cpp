#include "platforms/cli/options/config.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/json.h"
#include "platforms/cli/support/text.h"
#include "platforms/command_line/help.h"

namespace sotto::cli {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Returns the path of the configuration file, or an empty string if there is none.
std::string config_path() {
  if (const char* path = std::getenv("SOTTO_CONFIG")) return path;
  std::filesystem::path folder = variable("XDG_CONFIG_HOME");
  if (folder.empty() && !variable("HOME").empty()) folder = std::filesystem::path(variable("HOME")) / ".config";
  if (folder.empty()) return "";
  const std::filesystem::path path = folder / "sotto" / "config.json";
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) ? path.string() : "";
}

// Returns whether the command, or one below it, has this option.
bool has_option(const Command& command, const std::string& option) {
  return command.find(option) != nullptr || std::any_of(command.commands().begin(), command.commands().end(),
                                                        [&](const auto& part) { return has_option(*part, option); });
}

// Returns the command that a section is named after, such as "grammar check", or null.
const Command* find_section(const Command& program, std::string_view section) {
  const Command* command = &program;
  while (command != nullptr && !section.empty()) {
    const size_t size = std::min(section.find(' '), section.size());
    command = command->find_command(section.substr(0, size));
    section.remove_prefix(std::min(size + 1, section.size()));
  }
  return command;
}

class ConfigFile {
 public:
  explicit ConfigFile(std::string path) : path_(std::move(path)), text_(read_all(path_)) {
    try {
      if (!parse_json(text_).is_object()) throw Failure("is not a JSON object");
    } catch (const Failure& failure) {
      throw UsageError(path_ + ": " + failure.what());
    }
  }

  std::vector<OptionDefault> defaults(const Command& program, const Command& command, const std::string& section) {
    std::vector<OptionDefault> of_all;
    std::vector<OptionDefault> of_command;
    for (const JsonMember& member : members_of(text_)) {
      if (!member.value.starts_with('{')) {
        const OptionDefault given = read(member);
        if (command.find(given.option) != nullptr) {
          of_all.push_back(given);
        } else if (!program.commands().empty() && !has_option(program, given.option)) {
          throw UsageError(given.place + ": " + in_quotes(member.name) + " is neither a command nor an option");
        }
      } else if (member.name == section) {
        for (const JsonMember& option : members_of(member.value)) of_command.push_back(read(option));
      } else if (!program.commands().empty() && find_section(program, member.name) == nullptr) {
        throw UsageError(place(member.value) + ": " + unknown_command(program, member.name));
      }
    }
    of_command.insert(of_command.end(), of_all.begin(), of_all.end());  // the first ones count
    return of_command;
  }

 private:
  std::string place(std::string_view part) const {
    return path_ + ':' + std::to_string(place_of(text_, static_cast<uint64_t>(part.data() - text_.data())).line);
  }

  OptionDefault read(const JsonMember& member) const {
    OptionDefault given = {"--" + member.name, {}, place(member.value)};
    const Json value = parse_json(member.value);
    if (!value.is_array()) {
      given.values = {text_of_value(member, value, given.place)};
      return given;
    }
    for (const std::string_view element : elements_of(member.value)) {
      given.values.push_back(text_of_value({member.name, element}, parse_json(element), given.place));
    }
    if (given.values.empty()) throw UsageError(given.place + ": " + in_quotes(member.name) + " is an empty list");
    return given;
  }

  // Numbers keep their spelling, so that no digit is lost.
  static std::string text_of_value(const JsonMember& member, const Json& value, const std::string& place) {
    if (value.is_string()) return value.text();
    if (value.is_number() || value.is_boolean()) return std::string(member.value);
    throw UsageError(place + ": " + in_quotes(member.name) +
                     " must be a text, a number, true, false or a list of these");
  }

  std::string path_;
  std::string text_;
};

}  // namespace

void add_config_option(Command& command) {
  command.add_flag(
      "--no-config", [] {}, "Ignore the configuration file");
}

std::vector<OptionDefault> read_defaults(const Command& program, const Command& command, const std::string& section) {
  std::vector<OptionDefault> defaults;
  if (command.find("--no-config") == nullptr) return defaults;
  const std::string model = variable("SOTTO_MODEL");
  for (const char* option : {"--model", "MODEL"}) {
    if (!model.empty() && command.find(option) != nullptr) defaults.push_back({option, {model}, "SOTTO_MODEL"});
  }
  const std::string path = is_given(command, "--no-config") ? "" : config_path();
  if (path.empty()) return defaults;
  const std::vector<OptionDefault> more = ConfigFile(path).defaults(program, command, section);
  defaults.insert(defaults.end(), more.begin(), more.end());
  return defaults;
}

}  // namespace sotto::cli
