// Grammars that are asked for often, without a schema.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/grammar/json_schema/json_schema.h"

namespace sotto {

// One of the texts, as they are. At least one; empty ones are allowed.
Status build_choices(std::span<const std::string_view> choices, std::span<const char> name, GrammarBuilder& builder,
                     Error* error);

// A number between two others, both included, written as JSON numbers; an empty one is no
// bound. Without exponent, and an integer without fraction.
Status build_number_range(std::string_view minimum, std::string_view maximum, bool integer, std::span<const char> name,
                          GrammarBuilder& builder, Error* error);

enum class ToolChoice : uint8_t {
  kOne,      // {"name": ..., "arguments": {...}}
  kSeveral,  // an array of at least one of them
};

// A call of one of the functions in a JSON array: each element is a function
// {"name", "parameters", ...} or {"type": "function", "function": {"name", "parameters", ...}};
// without "parameters" the arguments are any object.
Status build_tool_calls(std::span<const char> functions, ToolChoice choice, const SchemaOptions& options,
                        std::span<const char> name, GrammarBuilder& builder, Error* error);

}  // namespace sotto
