// Lazy activation: text is free until the first of several triggers, and a grammar's text
// begins right behind it. Said as rules, so that masks stay exact and nothing is left to do
// at run time.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/text_view.h"
#include "runtime/grammar/compiler/grammar_builder.h"
#include "runtime/grammar/vocabulary/vocabulary.h"

namespace sotto {

struct Triggers {
  std::span<const TextView> texts;
  std::span<const int32_t> tokens;

  bool empty() const { return texts.empty() && tokens.empty(); }
};

// Adds the rule `*start`: text without any trigger, alone or followed by a trigger and a text
// of `root`. At least one trigger. Free text is UTF-8; a trigger token that has text of its own
// can be told from that text by tokens only: then free text is any such tokens but the
// triggers, and there can be no trigger texts beside it.
// `vocabulary` may be null where there are no trigger tokens.
Status build_triggers(const Triggers& triggers, const Vocabulary* vocabulary, uint32_t root, GrammarBuilder& builder,
                      uint32_t* start, Error* error);

}  // namespace sotto
