// Exposes the parameters of the C interface as options and as JSON. A generated table per C struct gives the spellings,
// the kind of value and the required options of each parameter. The functions here add the options of a table, check
// them after parsing, and read and write the parameters as JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/cli/support/json.h"
#include "platforms/command_line/command_line.h"

namespace sotto::cli {

// A value of an enum and its name in options and JSON. The first name of a value is printed; the others are spellings
// of other programs.
struct Name {
  const char* name;
  int32_t value;
};
using Names = std::span<const Name>;

// The option that selects a value of an enum.
struct ValueOption {
  const char* spellings;
  int32_t value;
  const char* metavar;  // null if the option is a flag
  const char* help;
  const char* json;  // describes the value in JSON

  std::string option() const { return split_names(spellings).front(); }
};

// Finds a value by name. Also accepts "-" and "." for "_", and upper case.
std::optional<int32_t> find_value(Names names, std::string_view name);

// Returns "unknown" for a value without a name.
const char* name_of(Names names, int32_t value);

// Returns the printed names, and the same as "a, b, c".
std::vector<std::string> printed_names(Names names);
std::string listed(Names names);
// Returns all names of a value as "a, b, c".
std::string names_of(Names names, int32_t value);

enum class ParameterKind {
  kNumber,  // float
  kCount,   // uint32_t
  kWindow,  // uint32_t; -1 stands for UINT32_MAX, which means everything
  kKey,     // uint64_t
  kOn,      // uint32_t, 0 or 1, which the option sets to 1
  kOff,     // uint32_t, 0 or 1, which the option sets to 0
  kToken,   // int32_t; -1 for none
  kName     // int32_t
};

struct Parameter {
  const char* json;       // JSON names, separated by commas; the first is written
  const char* spellings;  // option spellings, separated by commas: "--temp,--temperature"
  ParameterKind kind;
  size_t offset;  // offset in the C struct
  const char* metavar;
  const char* group;  // heading of the help text
  const char* help;
  const char* needs;  // options, separated by commas: one of them must also be given; or ""
  const char* shown;  // text that the help shows as the default, or "" for the value
  Names names = {};   // names of the values of kName

  std::string option() const;                       // returns for example "--temp"
  std::string json_name() const;                    // returns for example "temperature"
  bool is_named(std::string_view json_name) const;  // compares with all names and spellings
};
using Parameters = std::span<const Parameter>;

#include "platforms/cli/generated/parameters.inc"

// Finds a parameter by any of its names. Returns null if there is none.
const Parameter* find_parameter(Parameters table, std::string_view json_name);

// Texts of tokens, with their parameters, to be tokenized when the model is loaded.
using TokenTexts = std::vector<std::pair<const Parameter*, std::string>>;

// Adds an option whose value is one of `choices`. The choices are appended to the description.
Option& add_choice(Command& command, std::string_view names, int32_t& value, const std::string& description,
                   Names choices);

// Adds the option of one parameter. `params`, the C struct, and `tokens`, which kToken needs, must outlive `command`.
Option& add_parameter(Command& command, const Parameter& parameter, void* params, TokenTexts* tokens = nullptr);

// Adds the options of a table, or of one group in it.
void add_parameters(Command& command, Parameters table, void* params, std::string_view group = "",
                    TokenTexts* tokens = nullptr);

template <typename T>
T& member(const Parameter& parameter, void* params) {
  return *reinterpret_cast<T*>(static_cast<char*>(params) + parameter.offset);
}

// These return the value of a parameter as JSON, and an object with the values of all parameters of a table.
Json parameter_json(const Parameter& parameter, const void* params);
Json parameters_json(Parameters table, const void* params);

// Sets a parameter. Throws a Failure that begins with `name` if the value has the wrong type.
void read_parameter(const Parameter& parameter, const Json& value, const std::string& name, void* params);

// Returns the value whose name is the string `value`. Throws a Failure if `names` does not contain it.
int32_t read_name(const Json& value, const std::string& name, Names names);

}  // namespace sotto::cli
