// JSON Schema (drafts 4 to 7 and 2020-12) as a grammar.
//
// The grammar's texts are JSON values that the schema validates; of those, the ones in this
// form:
// - White space as the style says. Members that the schema names come in the order of their
//   first mention ("properties", then "required"), other members after them.
// - A string or name that the schema constrains is written in one form: characters as they
//   are, except \" \\ \b \f \n \r \t and \u00XX for other control characters. Free strings may
//   use any escape.
// - A number that the schema constrains is written without exponent, an integer without
//   fraction, zero without sign; values of enum and const also as the schema writes them.
// - Formats that the standard names are asserted unless told otherwise; unknown formats are
//   annotations, as the standard says. See format.h for their exact languages.
//
// What cannot be said exactly is refused by keyword and JSON pointer: no text that the schema
// does not validate is ever in the grammar.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/grammar/compiler/grammar_builder.h"
#include "runtime/grammar/json_schema/json_grammar.h"

namespace sotto {

enum class SchemaDraft : uint8_t { kDraft7, k2020 };

struct SchemaOptions {
  JsonStyle style;
  SchemaDraft draft = SchemaDraft::k2020;  // if $schema names none
  bool assert_formats = true;
  // Objects whose schema has "properties" or "patternProperties", and arrays whose schema has
  // a tuple, hold nothing else unless the schema says so.
  bool closed = false;
  // Lets minProperties count names that the schema does not list although they could repeat.
  bool distinct_names = false;
};

// Defines the rule `name`. Errors begin with a JSON pointer, or line:column if the text is no
// JSON; a workspace that is too small is kGrammarTooLarge. Of 374 real schemas half need less
// than 64 KiB of it and all but four less than 1.4 MiB.
Status build_json_schema(std::span<const char> schema, const SchemaOptions& options, std::span<const char> name,
                         GrammarBuilder& builder, Error* error);

// One of the texts, as they are. At least one; empty ones are allowed.
Status build_choices(std::span<const std::string_view> choices, std::span<const char> name, GrammarBuilder& builder,
                     Error* error);

// The same, of a JSON array of at least one string.
Status build_choice_list(std::span<const char> list, std::span<const char> name, GrammarBuilder& builder, Error* error);

// A number between two others, both included, written as JSON numbers; an empty one is no
// bound. Without exponent, and an integer without fraction.
Status build_number_range(std::string_view minimum, std::string_view maximum, bool integer, std::span<const char> name,
                          GrammarBuilder& builder, Error* error);

// The same, of a JSON object with the members "minimum", "maximum" and "integer", all optional.
Status build_number_object(std::span<const char> object, std::span<const char> name, GrammarBuilder& builder,
                           Error* error);

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
