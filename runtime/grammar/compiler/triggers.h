// Free text up to a string, for the lazy activation of a grammar. The text is unconstrained until the first of several
// triggers appears. Right after it, a string of the grammar begins. Triggers are compiled to rules, so masks stay exact
// and the matcher needs no code for them.
//
// Example: with the trigger "<tool>", the text "Let me see. " is unconstrained, and after "Let me see. <tool>" only a
// string of the grammar may follow.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/generated/params.h"
#include "runtime/grammar/compiler/grammar_builder.h"
#include "runtime/grammar/vocabulary/vocabulary.h"

namespace sotto {

// The strings and tokens that activate a grammar.
struct Triggers {
  std::span<const TextView> texts;
  std::span<const int32_t> tokens;

  bool empty() const { return texts.empty() && tokens.empty(); }
};

// Adds the rule `*start`: UTF-8 text without any trigger, either alone or followed by a trigger and a string of `root`.
// There must be at least one trigger. A trigger token is recognized by its id, so the same text in other tokens is no
// trigger. `vocabulary` may be null if there are no trigger tokens.
Status build_triggers(const Triggers& triggers, const Vocabulary* vocabulary, uint32_t root, GrammarBuilder& builder,
                      uint32_t* start, Error* error);

// A non-empty string that ends free text, and the rule of the text after it.
struct Stop {
  std::string_view text;
  uint32_t rule;
};

// Adds the rule `*start`: UTF-8 text up to the first stop, the stop, and a string of its rule. With `may_end`, the rule
// also matches text without any stop. If several stops end at the same byte, the longest one counts.
Status build_free_text(std::span<const Stop> stops, bool may_end, GrammarBuilder& builder, uint32_t* start,
                       Error* error);

}  // namespace sotto
