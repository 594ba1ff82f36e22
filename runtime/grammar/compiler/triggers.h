// Free text up to a string. For lazy activation, the text is unconstrained until the first of several triggers appears,
// and a string of the grammar begins right after it. Triggers are compiled to rules, so masks stay exact and the
// matcher needs no code for them.
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

// Adds the rule `*start`: text without any trigger, either alone or followed by a trigger and a string of `root`. There
// must be at least one trigger. Unconstrained text is UTF-8. If a trigger token has text of its own, only its id
// distinguishes it from that text: the same text in other tokens is no trigger. `vocabulary` may be null if there are
// no trigger tokens.
Status build_triggers(const Triggers& triggers, const Vocabulary* vocabulary, uint32_t root, GrammarBuilder& builder,
                      uint32_t* start, Error* error);

// A string that ends free text, not empty, and the rule of what follows it.
struct Stop {
  std::string_view text;
  uint32_t rule;
};

// Adds the rule `*start`: UTF-8 text up to the first stop, the stop, and a string of its rule; with `may_end`, also
// text without any stop. If several stops end at the same place, the longest counts.
Status build_free_text(std::span<const Stop> stops, bool may_end, GrammarBuilder& builder, uint32_t* start,
                       Error* error);

}  // namespace sotto
