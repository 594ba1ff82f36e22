// JSON Schema (drafts 4 to 7 and 2020-12) as a grammar, and small languages next to it.
//
// The texts of the grammar are JSON values that the schema validates, written in this form:
// - White space follows the style. Members that the schema names come in the order of their first mention (first in
//   "properties", then in "required"), other members after them.
// - A string or name that the schema constrains has one form: characters as they are, except \" \\ \b \f \n \r \t and
//   \u00XX for other control characters. Free strings may use any escape.
// - A number that the schema constrains has no exponent, an integer no fraction, and zero no sign. Values of enum and
//   const may also be written as in the schema.
// - Formats that the standard names are asserted unless the options say otherwise; unknown formats are annotations, as
//   in the standard. format.h defines their exact languages.
//
// A schema without an exact grammar is rejected by keyword and JSON pointer: no text outside the schema is ever in the
// grammar.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/grammar/compiler/grammar_builder.h"
#include "runtime/grammar/json_schema/json_grammar.h"

namespace sotto {

// Defines the rule `name`. Errors begin with a JSON pointer, or with line:column if the text is not JSON. If the
// workspace is too small, the result is kGrammarTooLarge. Of 374 real schemas, half need less than 64 KiB.
Status build_json_schema(std::span<const char> schema, const GrammarParams& options, std::span<const char> name,
                         GrammarBuilder& builder, Error* error);

// Defines the rule `name` as one of the texts. There is at least one text, and texts may be empty.
Status build_choices(std::span<const std::string_view> choices, std::span<const char> name, GrammarBuilder& builder,
                     Error* error);

// Does the same for a JSON array of at least one string.
Status build_choice_list(std::span<const char> list, std::span<const char> name, GrammarBuilder& builder, Error* error);

// Defines the rule `name` as a number between two JSON numbers, both included. An empty text means no bound. The number
// has no exponent, and an integer has no fraction.
Status build_number_range(std::string_view minimum, std::string_view maximum, bool integer, std::span<const char> name,
                          GrammarBuilder& builder, Error* error);

// Does the same for a JSON object with the members "minimum", "maximum" and "integer", which are all optional.
Status build_number_object(std::span<const char> object, std::span<const char> name, GrammarBuilder& builder,
                           Error* error);

// Defines the rule `name`: a call {"name": ..., "arguments": {...}} of one of the functions in a JSON array, or an
// array of at least one call with options.parallel_tool_calls. Each element is a function {"name", "parameters", ...}
// or {"type": "function", "function": {"name", "parameters", ...}}; without "parameters", the arguments are any object.
Status build_tool_calls(std::span<const char> functions, const GrammarParams& options, std::span<const char> name,
                        GrammarBuilder& builder, Error* error);

}  // namespace sotto
