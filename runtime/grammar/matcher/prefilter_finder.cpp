#include "runtime/grammar/matcher/prefilter_finder.h"

#include <algorithm>
#include <cassert>

namespace sotto {
namespace {

// The steps of all searches for one mask. A walk without a prefilter takes less than ten times as many.
constexpr uint64_t kMaxSteps = 20'000;
constexpr uint32_t kAnyCharacters = UINT32_MAX;
// A prefilter with none of these classes has so few tokens that a walk is equally fast.
constexpr uint8_t kUsefulClasses = kLowerClass | kUpperClass | kOtherClass;
// If the strings over all classes are limited to fewer characters than this, a prefilter with fewer classes and strings
// of any length is preferred.
constexpr uint32_t kFewCharacters = 4;
// A prefilter of strings up to this length contains almost all tokens.
constexpr uint32_t kManyCharacters = kLengthCharacters[kLengthCount - 2];

// Returns the prefilter that probably contains more tokens. Of all classes, digits add the fewest.
TokenPrefilter larger(const TokenPrefilter& a, const TokenPrefilter& b) {
  const auto rank = [](const TokenPrefilter& s) {
    const bool is_short = kLengthCharacters[s.length] < kFewCharacters;
    const bool has_digits = (s.classes & kDigitClass) != 0;
    const uint32_t others = s.classes & ~uint32_t{kDigitClass};
    return s.classes == 0 ? 0u : (is_short ? 0u : 1u) << 16 | others << 9 | (has_digits ? 1u : 0u) << 8 | s.length;
  };
  return rank(b) > rank(a) ? b : a;
}

}  // namespace

void PrefilterFinder::layout(Arena& arena, const CompiledGrammar& grammar) {
  transition_memory_ = arena.take<Utf8Transition>(Utf8Transitions::count(grammar));
}

void PrefilterFinder::layout_pins(PinArena& pins) {
  boundaries_ = pins.take(kMaxBoundaries);
  inside_ = pins.take(kLongestCharacter + 1);
}

void PrefilterFinder::init(LazyAutomaton& automaton, const Vocabulary& vocabulary) {
  automaton_ = &automaton;
  vocabulary_ = &vocabulary;
  transitions_.init(automaton.grammar(), transition_memory_);
}

// Returns the prefilter of strings of at most `characters` characters, without a limit if no token is longer.
TokenPrefilter PrefilterFinder::prefilter_of_length(uint8_t classes, uint32_t characters) const {
  if (characters >= vocabulary_->longest) return {classes, kLengthCount - 1};
  uint32_t length = kLengthCount;
  while (length > 0 && characters < kLengthCharacters[length - 1]) --length;
  return length == 0 ? TokenPrefilter{} : TokenPrefilter{classes, static_cast<uint8_t>(length - 1)};
}

// Returns how many more times the one-character rule that begins in this state may be repeated.
uint32_t PrefilterFinder::repetitions_left(uint32_t state, const StackFrame& frame) const {
  if (frame.loop == kNoLoop) return 1;
  const GrammarLoop& loop = automaton_->grammar().loop(frame.loop);
  if (loop.rule_start != state || loop.set != kNoSet) return 0;
  return loop.maximum == UINT32_MAX ? loop.maximum : loop.maximum - static_cast<uint32_t>(frame.count);
}

// Returns the prefilter of the strings that begin with a rule of one character. The rule begins in this state and ends
// after a character of these classes. The strings then continue in the rule's frame.
TokenPrefilter PrefilterFinder::prefilter_after(uint32_t state, const StackFrame& frame, uint8_t classes) const {
  const CompiledGrammar& grammar = automaton_->grammar();
  if (frame.loop != kNoLoop) return prefilter_of_length(classes, repetitions_left(state, frame));
  const GrammarState& after = grammar.state(frame.state);
  const auto common = static_cast<uint8_t>(classes & after.endless_classes);
  const TokenPrefilter endless{common, kLengthCount - 1};
  if (classes != kAllClasses || common == classes) return endless;
  return larger(endless, prefilter_of_length(classes, after.any_count + 1u));
}

// Returns the prefilter that the lookahead of the compiler gives for one state.
TokenPrefilter PrefilterFinder::known_prefilter(const StackTop& top) const {
  constexpr uint32_t kMaxFrames = 8;
  const GrammarState& state = automaton_->grammar().state(top.state);
  TokenPrefilter prefilter{state.endless_classes, kLengthCount - 1};
  prefilter = larger(prefilter, prefilter_of_length(kAllClasses, state.any_count));
  if (state.single_classes == 0) return prefilter;
  const auto frames = automaton_->store().frames(top.node);
  for (size_t i = 0; i < frames.size() && i < kMaxFrames; ++i) {
    if (frames[i].is_tail()) continue;
    prefilter = larger(prefilter, prefilter_after(top.state, frames[i], state.single_classes));
  }
  return prefilter;
}

// Returns whether every character that begins with the step leads to a place where strings of any length over these
// classes may follow.
bool PrefilterFinder::leads_to_endless(const StackTop& top, const Utf8Transition& step, uint8_t classes) const {
  const CompiledGrammar& grammar = automaton_->grammar();
  const auto frames = automaton_->store().frames(top.node);
  const auto is_endless = [&](uint32_t state) { return (classes & ~grammar.state(state).endless_classes) == 0; };
  return transitions_.all_lead_to(grammar, top.state, step, [&](uint32_t target) {
    if (is_endless(target)) return true;
    if ((grammar.flags(target) & GrammarState::kFinal) == 0) return false;
    for (const StackFrame frame : frames) {
      if (!frame.is_tail() && frame.loop == kNoLoop && is_endless(frame.state)) return true;
    }
    return false;
  });
}

// Returns the prefilter that the compiler's lookahead gives for the set: for one of its states, or for several states
// together if every character leads from one of them to unconstrained text.
TokenPrefilter PrefilterFinder::known_prefilter(uint32_t set) const {
  constexpr size_t kMaxStates = 32;
  TokenPrefilter prefilter;
  const auto states = automaton_->store().states(set);
  for (const StackTop& top : states) prefilter = larger(prefilter, known_prefilter(top));
  if (prefilter.classes == kAllClasses || states.size() > kMaxStates) return prefilter;
  for (const Utf8Transition& step : transitions_.from(0)) {
    if (std::none_of(states.begin(), states.end(),
                     [&](const StackTop& top) { return leads_to_endless(top, step, kAllClasses); })) {
      return prefilter;
    }
  }
  return {kAllClasses, kLengthCount - 1};
}

uint32_t PrefilterFinder::exact_count(const StackTop& top) const {
  const CompiledGrammar& grammar = automaton_->grammar();
  const GrammarState& state = grammar.state(top.state);
  if ((state.flags & GrammarState::kExact) != 0) return state.any_count;
  const auto moves = grammar.moves(top.state);
  if (std::none_of(moves.begin(), moves.end(),
                   [&](const GrammarMove& move) { return transitions_.begins_character(move.symbol_class); })) {
    return 0;
  }
  if ((state.flags & GrammarState::kSingle) == 0 || state.single_classes != kAllClasses) {
    return kUnknownCount;
  }
  uint32_t max_count = 0;
  const auto frames = automaton_->store().frames(top.node);
  for (const StackFrame frame : frames) {
    if (frame.is_tail()) return kUnknownCount;
    const GrammarState& after = grammar.state(frame.state);
    const uint32_t repetitions = repetitions_left(top.state, frame);
    const bool is_exact = (after.flags & GrammarState::kExact) != 0;
    // Prefilters do not distinguish larger numbers of characters, and a prefilter with a walk is fast enough there.
    if (!is_exact || repetitions == 0 || repetitions > kManyCharacters) return kUnknownCount;
    max_count = std::max(max_count, repetitions + after.any_count);
  }
  return max_count;
}

uint32_t PrefilterFinder::exact_count(uint32_t set) const {
  uint32_t max_count = 0;
  for (const StackTop& top : automaton_->store().states(set)) {
    const uint32_t count = exact_count(top);
    if (count == kUnknownCount) return kUnknownCount;
    max_count = std::max(max_count, count);
  }
  return max_count;
}

// Runs a search with a part of the budget. The first `held_trail` pins of the trail stay in use.
template <typename Search>
void PrefilterFinder::limit_search(uint32_t held_trail, Search search) {
  automaton_->hold_trail(held_trail);
  StepBudget& budget = automaton_->budget();
  const uint64_t remaining = budget.remaining();
  const uint64_t allowance = std::min(remaining, search_steps_);
  budget.set(allowance);
  search();
  const uint64_t spent = allowance - budget.remaining();
  search_steps_ -= spent;
  budget.set(remaining - spent);
  automaton_->hold_trail(0);
  std::fill_n(boundaries_, kMaxBoundaries, Pin{kNotComputed});
  std::fill_n(inside_, kLongestCharacter + 1, Pin{kNotComputed});
}

uint8_t PrefilterFinder::endless_classes(const Pin* pin) {
  const uint8_t known = automaton_->store().state_set(pin->set).endless_classes;
  if (known != StateSet::kUnknownClasses) return known;
  const TokenPrefilter prefilter = known_prefilter(pin->set);
  uint8_t classes = prefilter.length + 1u == kLengthCount ? prefilter.classes : uint8_t{0};
  if (classes != 0) return automaton_->store().state_set(pin->set).endless_classes = classes;
  classes = kAllClasses;
  limit_search(static_cast<uint32_t>(pin - automaton_->trail()) + 1, [&] {
    while ((classes & kUsefulClasses) != 0) {
      boundaries_[0] = *pin;
      uint8_t admitted = classes;
      if (count_characters(classes, &admitted) == kAnyCharacters) return;
      classes = admitted != classes ? admitted : uint8_t{0};
    }
    classes = 0;
  });
  automaton_->store().state_set(pin->set).endless_classes = classes;
  return classes;
}

TokenPrefilter PrefilterFinder::find() {
  const Pin* pin = automaton_->trail();
  search_steps_ = kMaxSteps;
  TokenPrefilter prefilter = known_prefilter(pin->set);
  if (prefilter.classes != 0) return prefilter;
  prefilter = {endless_classes(pin), kLengthCount - 1};
  if (prefilter.classes != 0) return prefilter;
  uint8_t classes = kAllClasses;
  limit_search(1, [&] {
    while ((classes & kUsefulClasses) != 0) {
      boundaries_[0] = *pin;
      uint8_t admitted = classes;
      const uint32_t characters = count_characters(classes, &admitted);
      const bool tries_fewer = characters < kFewCharacters && admitted != classes;
      if (!tries_fewer || (admitted & kUsefulClasses) == 0) {
        uint32_t length = kLengthCount;
        while (length > 0 && characters < kLengthCharacters[length - 1]) --length;
        if (length > 0) prefilter = {classes, static_cast<uint8_t>(length - 1)};
        return;
      }
      classes = admitted;
    }
  });
  return prefilter;
}

// Guesses a prefilter from a few frequent first bytes. If most of them lead to unconstrained text, most tokens are
// probably possible. The walk then starts with all of them and removes those that are not possible.
TokenPrefilter PrefilterFinder::guess() {
  constexpr char kFirstBytes[] = {' ', 'S', 'T', 'a', 'c', 's', 't'};
  Pin* trail = automaton_->trail();
  uint8_t classes = kAllClasses;
  uint32_t votes = 0;
  for (const char byte : kFirstBytes) {
    const uint32_t symbol_class = automaton_->grammar().byte_class(static_cast<uint8_t>(byte));
    trail[1].set = kNotComputed;
    const StepResult result = automaton_->step(&trail[0], symbol_class, &trail[1]);
    if (result != StepResult::kDone || trail[1].set < kFirstSet) continue;
    const uint8_t found = endless_classes(&trail[1]);
    if ((found & kLowerClass) == 0) continue;
    classes &= found;
    ++votes;
  }
  const bool is_likely = 2 * votes > sizeof kFirstBytes;
  return is_likely ? TokenPrefilter{classes, kLengthCount - 1} : TokenPrefilter{};
}

// Returns whether a loop may count characters. Every length then leads to a different set.
bool PrefilterFinder::has_counted_loop(uint32_t set) const {
  for (const StackTop& top : automaton_->store().states(set)) {
    if (automaton_->store().node(top.node).has_counted_loop) return true;
  }
  return false;
}

void PrefilterFinder::clear_seen() {
  seen_collection_ = automaton_->collection_count();
  std::fill_n(seen_, kSeenCount, uint16_t{kNotComputed});
}

// Returns the largest length n such that every string of up to n characters of these classes may follow boundaries_[0].
// If the result is not kAnyCharacters, sets `admitted` to the classes for which every character is possible after some
// string of that length.
uint32_t PrefilterFinder::count_characters(uint8_t classes, uint8_t* admitted) {
  constexpr uint32_t kMaxCharacters = kLengthCharacters[kLengthCount - 2];
  uint32_t boundary_count = 1;
  uint32_t level_begin = 0;
  clear_seen();
  const uint32_t max_characters = has_counted_loop(boundaries_[0].set) ? kMaxCharacters : kAnyCharacters;
  for (uint32_t characters = 0; characters < max_characters; ++characters) {
    const uint32_t level_end = boundary_count;
    if (level_begin == level_end) return kAnyCharacters;
    for (uint32_t from = level_begin; from < level_end; ++from) {
      const uint8_t known = automaton_->store().state_set(boundaries_[from].set).endless_classes;
      if (known != StateSet::kUnknownClasses && (classes & ~known) == 0) continue;
      *admitted = classes;
      const StepResult result = take_characters(from, &boundary_count, admitted);
      if (result != StepResult::kDone) *admitted = 0;
      if (*admitted != classes) return characters;
    }
    level_begin = level_end;
  }
  return level_begin == boundary_count ? kAnyCharacters : max_characters;
}

// Reads every character of the admitted classes after boundaries_[from], and adds the resulting sets. Removes a class
// from `admitted` if one of its characters is impossible.
StepResult PrefilterFinder::take_characters(uint32_t from, uint32_t* boundary_count, uint8_t* admitted) {
  const Utf8Transition* tried[kLongestCharacter + 1];
  const Utf8Transition* ends[kLongestCharacter + 1];
  const auto enter = [&](int depth, uint32_t state) {
    const auto steps = transitions_.from(state);
    tried[depth] = steps.data();
    ends[depth] = steps.data() + steps.size();
  };
  enter(0, 0);
  uint8_t classes = 0;  // classes of the character
  inside_[0] = boundaries_[from];
  for (int depth = 0; depth >= 0;) {
    if (tried[depth] == ends[depth]) {
      --depth;
      continue;
    }
    const Utf8Transition step = *tried[depth]++;
    if (depth == 0) classes = step.classes;
    if ((classes & *admitted) == 0) continue;
    inside_[depth + 1].set = kNotComputed;
    SOTTO_TRY_STEP(automaton_->step_with_equivalents(&inside_[depth], step.symbol_class, &inside_[depth + 1]));
    const uint32_t next = inside_[depth + 1].set;
    if (next < kFirstSet) {
      *admitted &= static_cast<uint8_t>(~classes);
      continue;
    }
    if (step.next != 0) {
      ++depth;
      assert(depth < static_cast<int>(kLongestCharacter));
      enter(depth, step.next);
      continue;
    }
    if (automaton_->collection_count() != seen_collection_) clear_seen();
    uint16_t& seen = seen_[next % kSeenCount];
    if (seen == next) continue;
    seen = static_cast<uint16_t>(next);
    const auto is_next = [next](const Pin& boundary) { return boundary.set == next; };
    if (std::any_of(boundaries_, boundaries_ + *boundary_count, is_next)) continue;
    if (*boundary_count == kMaxBoundaries) {
      *admitted = 0;
      return StepResult::kDone;
    }
    boundaries_[(*boundary_count)++].set = next;
  }
  return StepResult::kDone;
}

}  // namespace sotto
