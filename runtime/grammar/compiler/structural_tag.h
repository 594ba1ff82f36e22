// Structural tags, XGrammar's notation for texts of free text, tags and constrained parts, in JSON:
//
//   {"type": "structural_tag", "format": FORMAT}
//
// A FORMAT is an object with a "type" and the members that the type needs:
// - const_string ("value"), json_schema ("json_schema") and regex ("pattern") are a constrained part.
// - any_text is free text. As the end of a tag's content, it does not contain the end of the tag.
// - sequence ("elements") and or ("elements") combine formats.
// - tag ("begin", "content", "end") is the string "begin", the format "content" and the string "end".
// - triggered_tags ("triggers", "tags") is free text in which every trigger begins one of the tags whose "begin" starts
//   with the trigger. With "at_least_one" there is a tag; with "stop_after_first" the text ends after the first one.
// - tags_with_separator ("tags", "separator") is tags with a string between them and nothing else, with the same two
//   members.
#pragma once

#include <span>

#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/grammar/compiler/grammar_builder.h"

namespace sotto {

// Defines the rule `name`. `options` apply to JSON schemas.
Status build_structural_tag(std::span<const char> source, const GrammarParams& options, std::span<const char> name,
                            GrammarBuilder& builder, Error* error);

}  // namespace sotto
