// Finds the largest token prefilter that a state set contains. A prefilter is a prepared set of tokens
// (token_prefilter.h). If all of them are possible, the walk over the vocabulary can skip them.
//
// A state set contains a prefilter if every string of the prefilter's characters may follow. There are two ways to find
// out:
// - The compiler's lookahead for each grammar state (compiler/lookahead.h) costs nothing here, and suffices for strings
//   and unconstrained text, which most masks are for.
// - A search reads every character of the prefilter's classes from the set, level by level as in breadth-first search.
//   If no new set appears, strings of any length are possible; if some character is impossible, strings up to that
//   length are. Unlike the lookahead, the search takes the whole stack into account: strings that leave a rule and
//   continue in its caller, and several stacks that accept different characters. It is rarely needed, but bounds the
//   slowest masks (README.md has the figures). If it exceeds its budget, it reports that nothing may follow, which is
//   always safe.
#pragma once

#include <cstdint>

#include "runtime/base/arena.h"
#include "runtime/grammar/compiler/lookahead.h"
#include "runtime/grammar/matcher/lazy_automaton.h"
#include "runtime/grammar/vocabulary/vocabulary.h"

namespace sotto {

class PrefilterFinder {
 public:
  static constexpr uint32_t kMaxBoundaries = 160;  // maximum number of sets at boundaries between characters
  static constexpr uint32_t kLongestCharacter = 4;
  static constexpr uint32_t kUnknownCount = UINT32_MAX;

  void layout(Arena& arena, const CompiledGrammar& grammar);
  void layout_pins(PinArena& pins);
  void init(LazyAutomaton& automaton, const Vocabulary& vocabulary);

  // Considers only the tokens whose characters all have a class. If the mask allows exactly those of at most n
  // characters, returns n, and otherwise kUnknownCount.
  uint32_t exact_count(uint32_t set) const;
  // Returns the largest prefilter that the first set of the trail contains. If there is none, the result has no
  // classes.
  TokenPrefilter find();
  // Guesses a prefilter: most of its tokens are probably possible after the first set of the trail.
  TokenPrefilter guess();
  // Returns the classes over which strings of any length may follow this set of the trail.
  uint8_t endless_classes(const Pin* pin);

 private:
  template <typename Search>
  void limit_search(uint32_t held_trail, Search search);
  TokenPrefilter prefilter_of_length(uint8_t classes, uint32_t characters) const;
  uint32_t repetitions_left(uint32_t state, const StackFrame& frame) const;
  TokenPrefilter prefilter_after(uint32_t state, const StackFrame& frame, uint8_t classes) const;
  TokenPrefilter known_prefilter(const StackTop& top) const;
  TokenPrefilter known_prefilter(uint32_t set) const;
  bool leads_to_endless(const StackTop& top, const Utf8Transition& step, uint8_t classes) const;
  uint32_t exact_count(const StackTop& top) const;
  bool has_counted_loop(uint32_t set) const;
  void clear_seen();
  uint32_t count_characters(uint8_t classes, uint8_t* admitted);
  StepResult take_characters(uint32_t from, uint32_t* boundary_count, uint8_t* admitted);

  LazyAutomaton* automaton_ = nullptr;
  const Vocabulary* vocabulary_ = nullptr;
  Utf8Transition* transition_memory_ = nullptr;
  Utf8Transitions transitions_;
  uint64_t search_steps_ = 0;  // that remain for the current mask
  Pin* boundaries_ = nullptr;  // (kMaxBoundaries): the sets between characters
  Pin* inside_ = nullptr;      // (kLongestCharacter + 1): element n is the set after the first n bytes of a character
  // A direct-mapped cache of the sets that are boundaries: set n is in slot n % kSeenCount. A collection invalidates
  // it.
  static constexpr uint32_t kSeenCount = 128;
  uint16_t seen_[kSeenCount] = {};
  static_assert(MatcherParams::kMaxStateSetCount <= UINT16_MAX);
  uint64_t seen_collection_ = 0;
};

}  // namespace sotto
