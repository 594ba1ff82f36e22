#include "runtime/grammar/compiler/lookahead.h"

#include <algorithm>

namespace sotto {
namespace {

// The candidates for a set of endless classes. A state gets the first one that holds.
constexpr uint8_t kClassChain[] = {kAllClasses,
                                   kAllClasses & ~kOtherClass,
                                   kLowerClass | kUpperClass | kDigitClass,
                                   kLowerClass | kUpperClass,
                                   kLowerClass | kDigitClass,
                                   kLowerClass};
constexpr uint32_t kMaxSweeps = 32;
// Temporary flags, in the bits of flags that are found later. kTakes: the state reads all lower-case letters, by moves
// or as strings of rules. kMayTake: it calls rules that do.
constexpr uint8_t kTakes = GrammarState::kExact;
constexpr uint8_t kMayTake = GrammarState::kRepeats;
constexpr uint32_t kMaxCount = kLengthCharacters[kLengthCount - 2];

// Calls update(state) for all states until none changes. update() returns whether it changed the state. Sweeps
// alternate between descending and ascending order, because a state may lead to states with higher and lower numbers.
// Returns true if states still change after kMaxSweeps sweeps.
template <typename Update>
bool sweep_states(uint32_t count, Update update) {
  bool changed = true;
  for (uint32_t sweep = 0; changed && sweep < kMaxSweeps; ++sweep) {
    changed = false;
    for (uint32_t i = 0; i < count; ++i) changed |= update(sweep % 2 == 0 ? count - 1 - i : i);
  }
  return changed;
}

bool is_part(uint8_t classes, uint8_t whole) { return (classes & ~whole) == 0; }

}  // namespace

uint32_t collect_utf8_transitions(const CompiledGrammar& grammar, uint32_t state, Utf8Transition* steps) {
  Utf8Transition found[256];
  uint32_t count = 0;
  for (uint32_t i = 0; i < 256; ++i) {
    const auto byte = static_cast<uint8_t>(i);
    const uint8_t next = utf8_step(state, byte);
    if (next == kUtf8Reject) continue;
    const uint8_t symbol_class = grammar.byte_class(byte);
    const uint8_t classes = state == 0 ? char_class_of(byte) : uint8_t{0xFF};
    auto* known = std::find_if(found, found + count, [&](const Utf8Transition& s) {
      return s.symbol_class == symbol_class && s.next == next;
    });
    if (known != found + count) {
      known->classes |= classes;
    } else {
      found[count++] = {symbol_class, next, classes};
    }
  }
  if (steps != nullptr) std::copy_n(found, count, steps);
  return count;
}

bool EnteredPlaces::enter(uint32_t state, uint8_t next) {
  const uint64_t place = uint64_t{state} << 8 | next;
  const uint32_t slot = (state ^ uint32_t{next} << 5) % kSlots;
  if (has_bit(used_, slot) && places_[slot] == place) return false;
  set_bit(used_, slot);
  places_[slot] = place;
  return true;
}

uint32_t Utf8Transitions::count(const CompiledGrammar& grammar) {
  uint32_t count = 0;
  for (uint32_t state = 0; state < kUtf8States; ++state) {
    count += collect_utf8_transitions(grammar, state, nullptr);
  }
  return count;
}

void Utf8Transitions::init(const CompiledGrammar& grammar, Utf8Transition* steps) {
  steps_ = steps;
  uint32_t count = 0;
  for (uint32_t state = 0; state < kUtf8States; ++state) {
    ends_[state] = static_cast<uint16_t>(count);
    count += collect_utf8_transitions(grammar, state, steps_ + count);
  }
  ends_[kUtf8States] = static_cast<uint16_t>(count);
  std::fill(std::begin(first_classes_), std::end(first_classes_), uint64_t{0});
  for (const Utf8Transition& step : from(0)) {
    set_bit(first_classes_, step.symbol_class);
  }
}

Lookahead::Lookahead(const CompiledGrammar& grammar) : grammar_(grammar) { steps_.init(grammar, memory_); }

bool Lookahead::is_final(uint32_t state) const { return (grammar_.flags(state) & GrammarState::kFinal) != 0; }

bool Lookahead::is_single(uint32_t state, uint8_t classes) const {
  const auto ends = [&](uint32_t target) { return is_final(target); };
  for (const Utf8Transition& step : steps_.from(0)) {
    if ((step.classes & classes) == 0) continue;
    if (!steps_.all_lead_to(grammar_, state, step, ends)) return false;
  }
  return true;
}

// Returns whether every character of these classes leads to an accepted state, by moves or as a string of a rule.
template <typename Accepts>
bool Lookahead::takes(uint32_t state, uint8_t classes, Accepts accepts) const {
  const auto ends = [&](uint32_t target) { return is_final(target); };
  const auto is_text = [&](const GrammarCall& call, const Utf8Transition& step) {
    return call.loop == kNoLoop && accepts(call.target) && steps_.all_lead_to(grammar_, call.rule_start, step, ends);
  };
  for (const Utf8Transition& step : steps_.from(0)) {
    if ((step.classes & classes) == 0 || steps_.all_lead_to(grammar_, state, step, accepts)) continue;
    const auto calls = grammar_.calls(state);
    if (!steps_.spend(calls.size())) return false;
    if (std::none_of(calls.begin(), calls.end(), [&](const GrammarCall& call) { return is_text(call, step); })) {
      return false;
    }
  }
  return true;
}

// Returns whether all strings over the classes may follow the state. Calls are followed only one level deep, because a
// rule that begins with itself could otherwise justify its own lookahead.
bool Lookahead::is_endless(uint32_t state, uint8_t classes) const {
  const auto is_endless = [&](uint32_t target) { return is_part(classes, grammar_.state(target).endless_classes); };
  for (const GrammarCall& call : grammar_.calls(state)) {
    const bool repeats = call.loop != kNoLoop && grammar_.loop(call.loop).maximum == UINT32_MAX;
    if (repeats && is_part(classes, grammar_.state(call.rule_start).single_classes)) return true;
    if (is_endless(call.rule_start) && takes(call.rule_start, classes, is_endless)) return true;
  }
  return takes(state, classes, is_endless);
}

bool Lookahead::has_count(uint32_t state, uint32_t count) const {
  const auto is_enough = [&](uint32_t target) {
    const GrammarState& after = grammar_.state(target);
    return after.any_count + 1u >= count || after.endless_classes == kAllClasses;
  };
  for (const GrammarCall& call : grammar_.calls(state)) {
    const GrammarState& rule = grammar_.state(call.rule_start);
    const bool repeats = call.loop != kNoLoop && grammar_.loop(call.loop).maximum >= count;
    if (repeats && rule.single_classes == kAllClasses) return true;
    if (rule.endless_classes == kAllClasses) return true;
    if (rule.any_count >= count && takes(call.rule_start, kAllClasses, is_enough)) return true;
  }
  return takes(state, kAllClasses, is_enough);
}

// Returns whether all characters that the moves of the state read lead to accepted states.
template <typename Accepts>
bool Lookahead::takes_only(uint32_t state, Accepts accepts) const {
  uint64_t begun[4] = {};
  bool begins = false;
  for (const GrammarMove& move : grammar_.moves(state)) {
    if (!steps_.begins_character(move.symbol_class)) continue;
    set_bit(begun, move.symbol_class);
    begins = true;
  }
  if (!begins) return true;
  for (const Utf8Transition& step : steps_.from(0)) {
    if (has_bit(begun, step.symbol_class) && !steps_.all_lead_only_to(grammar_, state, step, accepts)) return false;
  }
  return true;
}

// Returns whether every string that begins with a character of some class consists of that character only.
bool Lookahead::is_only_single(uint32_t state) const {
  const auto ends = [&](uint32_t target) { return (grammar_.flags(target) & GrammarState::kLast) != 0; };
  return grammar_.calls(state).empty() && !is_final(state) && takes_only(state, ends);
}

// Returns whether fewer characters are allowed after every character that may follow.
bool Lookahead::is_exact(uint32_t state) const {
  if (is_final(state)) return false;
  const uint32_t count = grammar_.state(state).any_count;
  const auto is_below = [&](uint32_t target, uint64_t before) {
    const GrammarState& after = grammar_.state(target);
    return (after.flags & GrammarState::kExact) != 0 && after.any_count + before <= count;
  };
  for (const GrammarCall& call : grammar_.calls(state)) {
    if (is_below(call.rule_start, 0)) continue;
    if (call.loop != kNoLoop && grammar_.loop(call.loop).set != kNoSet) return false;
    const uint64_t max_repetitions = call.loop == kNoLoop ? 1 : grammar_.loop(call.loop).maximum;
    const bool is_single = (grammar_.flags(call.rule_start) & GrammarState::kSingle) != 0;
    if (!is_single || !is_below(call.target, max_repetitions)) return false;
  }
  return takes_only(state, [&](uint32_t target) { return is_below(target, 1); });
}

// Returns whether characters of the endless classes lead back to this state and to no other.
bool Lookahead::repeats(uint32_t state) const {
  const uint8_t classes = grammar_.state(state).endless_classes;
  if (classes == 0 || is_final(state)) return false;
  const auto calls = grammar_.calls(state);
  const bool is_direct = calls.empty();
  if (!is_direct && (calls.size() > 1 || calls[0].loop != kNoLoop || calls[0].target != state)) {
    return false;
  }
  const auto leads_back = [&](const Utf8Transition& step) {
    if (is_direct) {
      return steps_.each_leads_to_one(grammar_, state, step, [&](uint32_t t) { return t == state; });
    }
    const auto ends = [&](uint32_t t) { return (grammar_.flags(t) & GrammarState::kLast) != 0; };
    return grammar_.moves(state, step.symbol_class).empty() &&
           steps_.each_leads_to_one(grammar_, calls[0].rule_start, step, ends);
  };
  const auto steps = steps_.from(0);
  return std::all_of(steps.begin(), steps.end(),
                     [&](const Utf8Transition& step) { return (step.classes & classes) == 0 || leads_back(step); });
}

bool Lookahead::holds(uint32_t state) const {
  const GrammarState& s = grammar_.state(state);
  if (!is_part(s.single_classes | s.endless_classes, kAllClasses)) return false;
  return (s.single_classes == 0 || is_single(state, s.single_classes)) &&
         (s.endless_classes == 0 || is_endless(state, s.endless_classes)) &&
         (s.any_count == 0 || has_count(state, s.any_count)) &&
         ((s.flags & GrammarState::kSingle) == 0 || is_only_single(state)) &&
         ((s.flags & GrammarState::kExact) == 0 || is_exact(state)) &&
         ((s.flags & GrammarState::kRepeats) == 0 || repeats(state));
}

// Sets kTakes and kMayTake. Only states with these flags, which are few, can have single classes, endless classes or a
// count.
void Lookahead::mark(GrammarState* states) const {
  const uint32_t count = grammar_.counts().states;
  for (uint32_t s = kUnknownState + 1; s < count; ++s) {
    if (takes(s, kLowerClass, [](uint32_t) { return true; })) states[s].flags |= kTakes | kMayTake;
  }
  for (uint32_t s = kUnknownState + 1; s < count; ++s) {
    const auto calls = grammar_.calls(s);
    const bool may_take = std::any_of(calls.begin(), calls.end(), [&](const GrammarCall& call) {
      return (states[call.rule_start].flags & kTakes) != 0;
    });
    if (may_take) states[s].flags |= kMayTake;
  }
}

void Lookahead::find_singles(GrammarState* states) const {
  for (uint32_t s = kUnknownState + 1; s < grammar_.counts().states; ++s) {
    if (is_only_single(s)) states[s].flags |= GrammarState::kSingle;
    if ((states[s].flags & kTakes) == 0) continue;
    for (const uint8_t classes : kClassChain) {
      if (!is_single(s, classes)) continue;
      states[s].single_classes = classes;
      break;
    }
  }
}

// Finds the states after which strings of any length over the classes may follow. The function first assumes this for
// all states that may take the classes. Then it withdraws the assumption from states that lead to a state without it,
// until nothing changes. If the sweeps do not suffice, it withdraws the assumption from all states, which is always
// safe, because lookahead is a lower bound.
void Lookahead::find_endless(GrammarState* states, uint8_t classes) const {
  const uint32_t count = grammar_.counts().states;
  const uint8_t known = classes == kLowerClass ? uint8_t{0} : kLowerClass;
  for (uint32_t s = 0; s < count; ++s) {
    const bool may_take = (states[s].flags & kMayTake) != 0;
    if (may_take && states[s].endless_classes == known) states[s].endless_classes = classes;
  }
  const bool changed = sweep_states(count, [&](uint32_t s) {
    if (states[s].endless_classes != classes || is_endless(s, classes)) return false;
    states[s].endless_classes = known;
    return true;
  });
  for (uint32_t s = 0; changed && s < count; ++s) {
    if (states[s].endless_classes == classes) states[s].endless_classes = known;
  }
}

// Returns the largest count that holds for the state, given that `known` does. All smaller counts hold too.
uint32_t Lookahead::longest_count(uint32_t state, uint32_t known) const {
  uint32_t low = known;
  for (uint32_t high = kMaxCount; low < high;) {
    const uint32_t middle = (low + high + 1) / 2;
    if (has_count(state, middle)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

// Finds the counts of all states. The counts increase from 0, because each follows from smaller counts of other states.
void Lookahead::find_counts(GrammarState* states) const {
  sweep_states(grammar_.counts().states, [&](uint32_t s) {
    if (states[s].endless_classes == kAllClasses || (states[s].flags & kMayTake) == 0) return false;
    const uint32_t known = states[s].any_count;
    if (known == kMaxCount || !has_count(s, known + 1)) return false;
    states[s].any_count = static_cast<uint8_t>(longest_count(s, known + 1));
    return true;
  });
}

void Lookahead::find_exact(GrammarState* states) const {
  sweep_states(grammar_.counts().states, [&](uint32_t s) {
    if ((states[s].flags & GrammarState::kExact) != 0 || !is_exact(s)) return false;
    states[s].flags |= GrammarState::kExact;
    return true;
  });
}

void Lookahead::find_repeating(GrammarState* states) const {
  for (uint32_t s = kUnknownState + 1; s < grammar_.counts().states; ++s) {
    if (repeats(s)) states[s].flags |= GrammarState::kRepeats;
  }
}

void Lookahead::find(CompiledGrammar* grammar) {
  const Lookahead lookahead(*grammar);
  auto* states = const_cast<GrammarState*>(&grammar->state(0));
  lookahead.mark(states);
  lookahead.find_singles(states);
  // All candidates contain the lower-case letters, so only states after which those may follow are tested for others.
  lookahead.find_endless(states, kLowerClass);
  for (const uint8_t classes : kClassChain) {
    if (classes != kLowerClass) lookahead.find_endless(states, classes);
  }
  lookahead.find_counts(states);
  for (uint32_t s = 0; s < grammar->counts().states; ++s) {
    states[s].flags &= static_cast<uint8_t>(~(kTakes | kMayTake));
  }
  lookahead.find_exact(states);
  lookahead.find_repeating(states);
}

}  // namespace sotto
