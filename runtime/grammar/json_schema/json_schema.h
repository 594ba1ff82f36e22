// JSON Schema (drafts 4 to 7 and 2020-12) as a grammar, and small languages that use the same parts.
//
// The grammar describes the JSON values that the schema allows, written in the following form:
// - White space follows options.json_space.
// - The order of members follows options.schema_order (sotto_grammar.h). A name is first mentioned in "properties", or
//   else in "required".
// - A string or name that the schema constrains is written in one way only: each character as it is, except for \\ \"
//   \b \f \n \r \t, and \u00XX for other control characters. Unconstrained strings may use any escape.
// - A number that the schema constrains has no exponent. An integer has no fraction, and zero has no sign. Values of
//   enum and const may also be written as in the schema.
// - Formats that the standard defines are enforced, unless the options disable that. Unknown formats are annotations,
//   as in the standard. format.h defines the exact languages.
// - Keywords that the draft of the schema does not define are annotations.
//
// The grammar never allows a value that the schema does not allow. capi/README.md, "JSON Schema", lists the three cases
// in which it excludes valid values. A schema that this translation does not support is rejected, with the keyword and
// its JSON pointer.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/grammar/compiler/grammar_builder.h"
#include "runtime/grammar/json_schema/json_grammar.h"

namespace sotto {

// Defines the rule `name`. Errors begin with a JSON pointer, or with line and column if the text is not JSON. If the
// workspace is too small, the result is kGrammarTooLarge; half of 374 real schemas need less than 64 KiB.
Status build_json_schema(std::span<const char> schema, const GrammarParams& options, std::span<const char> name,
                         GrammarBuilder& builder, Error* error);

// Defines the rule `name` as one of the given strings. There must be at least one, and strings may be empty.
Status build_choices(std::span<const std::string_view> choices, std::span<const char> name, GrammarBuilder& builder,
                     Error* error);

// Like build_choices(), but takes the strings from a JSON array with at least one.
Status build_choice_list(std::span<const char> list, std::span<const char> name, GrammarBuilder& builder, Error* error);

// Defines the rule `name` as a number between two JSON numbers, both inclusive. An empty bound means that there is
// none. The number has no exponent, and an integer has no fraction.
Status build_number_range(std::string_view minimum, std::string_view maximum, bool integer, std::span<const char> name,
                          GrammarBuilder& builder, Error* error);

// Like build_number_range(), but takes the arguments from a JSON object with the optional members "minimum", "maximum"
// and "integer".
Status build_number_object(std::span<const char> object, std::span<const char> name, GrammarBuilder& builder,
                           Error* error);

// Defines the rule `name` as a call {"name": ..., "arguments": {...}} of one of several functions or, with
// options.parallel_tool_calls, as an array of at least one call. `functions` is a JSON array. Each element is {"name",
// "parameters", ...} or {"type": "function", "function": {"name", "parameters", ...}}. Without "parameters", the
// arguments are any object.
Status build_tool_calls(std::span<const char> functions, const GrammarParams& options, std::span<const char> name,
                        GrammarBuilder& builder, Error* error);

}  // namespace sotto
