// The sampler's parameters that are one value each, as a table: what options, JSON parameters
// and the echo of parameters are made from.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "platforms/cli/options/names.h"

namespace sotto::cli {

enum class FieldKind {
  kNumber,
  kCount,
  kWindow,  // -1 stands for UINT32_MAX: everything
  kOn,      // 0 or 1; the option sets 1
  kOff,     // 0 or 1; the option sets 0
  kToken,   // -1: none
  kName
};

struct SamplerField {
  using Params = sotto_sampler_params;
  using Member = std::variant<float Params::*, uint32_t Params::*, int32_t Params::*>;

  const char* name;     // of the parameter
  const char* options;  // "--temp,--temperature"
  FieldKind kind;
  Member member;
  const char* needs;  // "--a,--b": of no use unless one of these is given; "": always of use
  const char* description;
  Names (*choices)() = nullptr;  // of kName

  std::string main_option() const;  // "--temp"
  bool answers_to(std::string_view json_name) const;
};

struct FieldGroup {
  const char* name;  // a heading of the help text
  std::span<const SamplerField> fields;
};

constexpr char kSamplingGroup[] = "Sampling";
constexpr char kTruncationGroup[] = "Truncation";
constexpr char kRepetitionGroup[] = "Repetition";
constexpr char kSelectionGroup[] = "Selection";
constexpr char kBiasGroup[] = "Bans, bias and forcing";

std::span<const FieldGroup> sampler_fields();

// Null if there is none.
const SamplerField* find_field(std::string_view json_name);

// "--a,--b" as a list.
std::vector<std::string> split_names(std::string_view names);

}  // namespace sotto::cli
