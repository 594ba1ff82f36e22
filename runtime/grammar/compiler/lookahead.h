// Lookahead: for each state of a grammar, strings that are certainly allowed after the state. The compiler computes
// them once.
//
// Inside a JSON string, nearly every token of the vocabulary is possible. If all strings over some character classes
// are known to be allowed, a mask can start with a prepared set of tokens (token_prefilter.h). GrammarState stores two
// such facts: the set of classes over which strings of any length are allowed, and a number of characters such that all
// strings up to this length are allowed. Both are lower bounds, because calls of rules are followed only one level
// deep. Flags record whether the number is exact, and whether characters lead back to the same state.
//
// Each fact about a state follows from its own moves and from facts about the next states. Facts about strings of any
// length are a greatest fixed point: they are assumed for all states and withdrawn where they do not hold. Counts are a
// least fixed point: they increase from 0. Both are computed by sweeps over the states, alternately in descending and
// ascending order. The verifier checks the facts of a loaded grammar in the same way.
//
// Grammars read bytes, but these facts are about characters. The analysis therefore follows the UTF-8 forms of all
// characters of a class at the same time (Utf8Transitions).
//
// Examples: the start of root ::= [a-z]* "\"" has the endless class of lower-case letters: "a", "dog" and any longer
// word are allowed. The start of root ::= [^"\\]{0,5} "\"" has the count 5: all strings of up to 5 characters are
// allowed. The count is exact, because none of 6 is.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "runtime/base/bits.h"
#include "runtime/grammar/compiler/compiled_grammar.h"
#include "runtime/grammar/vocabulary/token_prefilter.h"

namespace sotto {

// A transition by one byte of a character. For the first byte, `classes` are the classes of the characters that may
// begin with it.
struct Utf8Transition {
  uint8_t symbol_class;
  uint8_t next;  // 0 if the character is complete
  uint8_t classes;
};

// Writes the transitions from a state inside a character to `steps`, which may be null. Returns their number, at most
// 256.
uint32_t collect_utf8_transitions(const CompiledGrammar& grammar, uint32_t state, Utf8Transition* steps);

// The places inside characters that a walk has entered, so that it does not enter them again. Forgetting a place costs
// only time.
class EnteredPlaces {
 public:
  // Returns false if the place is known to have been entered before.
  bool enter(uint32_t state, uint8_t next);

 private:
  static constexpr uint32_t kSlots = 512;

  uint64_t used_[kSlots / 64] = {};
  uint64_t places_[kSlots];  // places in the slots that are used
};

// The transitions of an automaton that reads the UTF-8 forms of all characters that have a class, grouped by the byte
// classes of a grammar.
class Utf8Transitions {
 public:
  static uint32_t count(const CompiledGrammar& grammar);
  // Computes the transitions in `steps`, which must have capacity for count() of them.
  void init(const CompiledGrammar& grammar, Utf8Transition* steps);

  std::span<const Utf8Transition> from(uint32_t state) const {
    return {steps_ + ends_[state], steps_ + ends_[state + 1]};
  }

  // Limits the steps of all further walks. When they are used up, walks return false.
  void limit_steps(uint32_t steps) { remaining_ = steps; }
  bool is_exhausted() const { return remaining_ == 0; }
  // Uses steps up. Returns false if fewer remain.
  bool spend(uint64_t steps) const {
    if (remaining_ == kUnlimited) return true;
    const bool fits = steps < remaining_;
    remaining_ = fits ? remaining_ - static_cast<uint32_t>(steps) : 0;
    return fits;
  }

  // Returns whether some character that has a character class begins with a byte of the symbol class.
  bool begins_character(uint32_t symbol_class) const {
    return symbol_class < 256 && has_bit(first_classes_, symbol_class);
  }

  // Returns whether every character that begins with the step leads to an accepted state, by moves of one rule. If
  // several moves are possible inside a character, only the first one counts.
  template <typename Accepts>
  bool all_lead_to(const CompiledGrammar& grammar, uint32_t state, const Utf8Transition& first, Accepts accepts) const;
  // Returns whether all characters that can be read completely lead to accepted states, and no character can be read
  // only in part.
  template <typename Accepts>
  bool all_lead_only_to(const CompiledGrammar& grammar, uint32_t state, const Utf8Transition& first,
                        Accepts accepts) const;
  // Returns whether every character that begins with the step leads to exactly one state, this state is accepted, and
  // no rule ends or is called on the way.
  template <typename Accepts>
  bool each_leads_to_one(const CompiledGrammar& grammar, uint32_t state, const Utf8Transition& first,
                         Accepts accepts) const;

 private:
  struct Place {
    uint32_t state;
    const Utf8Transition* step;
    const Utf8Transition* end;
  };
  static constexpr uint32_t kLongestCharacter = 4;

  // The action of a walk after a step. kInside follows the first move of the step.
  enum class WalkAction : uint8_t { kReject, kDone, kInside };
  // Visits the characters that begin with the step, and stops with false if one is rejected. Skips places that were
  // entered before.
  template <typename Visit>
  bool walk(const CompiledGrammar& grammar, uint32_t state, const Utf8Transition& first, Visit visit) const;

  Place inside(uint32_t state, const Utf8Transition& step) const {
    const auto steps = from(step.next);
    return {state, steps.data(), steps.data() + steps.size()};
  }

  Utf8Transition* steps_ = nullptr;      // the transitions of state 0, then of state 1, and so on
  uint16_t ends_[kUtf8States + 1] = {};  // the end of the transitions of each state
  static constexpr uint32_t kUnlimited = UINT32_MAX;
  mutable uint32_t remaining_ = kUnlimited;  // number of steps
  uint64_t first_classes_[4] = {};
};

// Computes and verifies the lookahead of the states of a grammar.
class Lookahead {
 public:
  explicit Lookahead(const CompiledGrammar& grammar);

  // Computes the lookahead of all states and writes it to the grammar.
  static void find(CompiledGrammar* grammar);
  // Limits the steps of holds(). Without a limit, the time could be quadratic in the size of a grammar from an image.
  // When the steps are used up, the result is false.
  void limit_steps(uint32_t steps) { steps_.limit_steps(steps); }
  bool is_exhausted() const { return steps_.is_exhausted(); }
  // Returns whether the lookahead of a state follows from the lookahead of its successors.
  bool holds(uint32_t state) const;

 private:
  template <typename Accepts>
  bool takes(uint32_t state, uint8_t classes, Accepts accepts) const;
  bool is_final(uint32_t state) const;
  bool is_single(uint32_t state, uint8_t classes) const;
  bool is_endless(uint32_t state, uint8_t classes) const;
  template <typename Accepts>
  bool takes_only(uint32_t state, Accepts accepts) const;
  void mark(GrammarState* states) const;
  bool is_only_single(uint32_t state) const;
  bool is_exact(uint32_t state) const;
  bool repeats(uint32_t state) const;
  bool has_count(uint32_t state, uint32_t count) const;
  uint32_t longest_count(uint32_t state, uint32_t known) const;
  void find_singles(GrammarState* states) const;
  void find_endless(GrammarState* states, uint8_t classes) const;
  void find_counts(GrammarState* states) const;
  void find_exact(GrammarState* states) const;
  void find_repeating(GrammarState* states) const;

  // One step per byte that begins a character, and one per continuation byte in each state inside a character.
  static constexpr uint32_t kMaxSteps = 256 + 64 * (kUtf8States - 1);

  const CompiledGrammar& grammar_;
  Utf8Transitions steps_;
  Utf8Transition memory_[kMaxSteps];
};

template <typename Visit>
bool Utf8Transitions::walk(const CompiledGrammar& grammar, uint32_t state, const Utf8Transition& first,
                           Visit visit) const {
  Place stack[kLongestCharacter] = {{state, &first, &first + 1}};
  EnteredPlaces entered;
  for (int depth = 0; depth >= 0;) {
    Place& top = stack[depth];
    if (top.step == top.end) {
      --depth;
      continue;
    }
    const Utf8Transition& step = *top.step++;
    const auto moves = grammar.moves(top.state, step.symbol_class);
    if (!spend(1 + moves.size())) return false;
    const WalkAction action = visit(moves, step);
    if (action == WalkAction::kReject) return false;
    if (action == WalkAction::kDone || !entered.enter(moves[0].target, step.next)) continue;
    stack[++depth] = inside(moves[0].target, step);
  }
  return true;
}

template <typename Accepts>
bool Utf8Transitions::all_lead_to(const CompiledGrammar& grammar, uint32_t state, const Utf8Transition& first,
                                  Accepts accepts) const {
  return walk(grammar, state, first, [&](auto moves, const Utf8Transition& step) {
    if (moves.empty()) return WalkAction::kReject;
    if (step.next != 0) return WalkAction::kInside;
    const bool is_accepted =
        std::any_of(moves.begin(), moves.end(), [&](const GrammarMove& move) { return accepts(move.target); });
    return is_accepted ? WalkAction::kDone : WalkAction::kReject;
  });
}

template <typename Accepts>
bool Utf8Transitions::all_lead_only_to(const CompiledGrammar& grammar, uint32_t state, const Utf8Transition& first,
                                       Accepts accepts) const {
  const auto can_continue = [&](const Place& place) {
    return std::any_of(place.step, place.end,
                       [&](const Utf8Transition& s) { return !grammar.moves(place.state, s.symbol_class).empty(); });
  };
  return walk(grammar, state, first, [&](auto moves, const Utf8Transition& step) {
    if (moves.empty()) return WalkAction::kDone;
    if (step.next != 0) {
      const bool is_one = moves.size() == 1 && can_continue(inside(moves[0].target, step));
      return is_one ? WalkAction::kInside : WalkAction::kReject;
    }
    const bool is_accepted =
        std::all_of(moves.begin(), moves.end(), [&](const GrammarMove& move) { return accepts(move.target); });
    return is_accepted ? WalkAction::kDone : WalkAction::kReject;
  });
}

template <typename Accepts>
bool Utf8Transitions::each_leads_to_one(const CompiledGrammar& grammar, uint32_t state, const Utf8Transition& first,
                                        Accepts accepts) const {
  return walk(grammar, state, first, [&](auto moves, const Utf8Transition& step) {
    if (moves.size() != 1) return WalkAction::kReject;
    const uint32_t target = moves[0].target;
    if (step.next == 0) return accepts(target) ? WalkAction::kDone : WalkAction::kReject;
    const bool is_final = (grammar.flags(target) & GrammarState::kFinal) != 0;
    const bool is_plain = target > kUnknownState && !is_final && grammar.calls(target).empty();
    return is_plain ? WalkAction::kInside : WalkAction::kReject;
  });
}

}  // namespace sotto
