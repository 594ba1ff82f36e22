// Structural tags: XGrammar's notation, in JSON, for texts that consist of free text, tags and constrained content.
// capi/README.md describes the formats. Each format becomes a rule; free text up to a tag is an automaton (triggers.h).
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
