// How a grammar takes the characters that have a sort: the bytes of each, joined into
// classes, as steps from one state inside a character to the next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "runtime/grammar/compiler/compiled_grammar.h"
#include "runtime/grammar/vocabulary/token_prefilter.h"

namespace sotto {

// By a byte of a character; of its first bytes: the classes it may begin.
struct Utf8Transition {
  uint8_t symbol_class;
  uint8_t next;  // 0: the character is complete
  uint8_t classes;
};

// From a state inside a character. Writes them if `steps` is not null; returns how many
// there are, at most 256.
uint32_t collect_utf8_transitions(const CompiledGrammar& grammar, uint32_t state, Utf8Transition* steps);

// The places inside characters that a walk has entered: those that lead on lead on again.
// Each falls out when another takes its slot.
class EnteredPlaces {
 public:
  // Whether the place is not known to have been entered.
  bool enter(uint32_t state, uint8_t next);

 private:
  static constexpr uint32_t kSlots = 512;

  uint64_t used_[kSlots / 64] = {};
  uint64_t places_[kSlots];  // of the slots used
};

class Utf8Transitions {
 public:
  static uint32_t count(const CompiledGrammar& grammar);
  // `steps`: room for count() of them.
  void init(const CompiledGrammar& grammar, Utf8Transition* steps);

  std::span<const Utf8Transition> from(uint32_t state) const {
    return {steps_ + ends_[state], steps_ + ends_[state + 1]};
  }

  // Whether a character that has a sort begins with a byte of the class.
  bool begins(uint32_t symbol_class) const {
    return symbol_class < 256 && (first_classes_[symbol_class / 64] >> symbol_class % 64 & 1) != 0;
  }

  // Whether every character that the step begins leads, by moves of one rule, to a state that
  // is accepted. Of several moves inside a character the first alone counts.
  template <typename Accepts>
  bool lead(const CompiledGrammar& grammar, uint32_t state, const Utf8Transition& first, Accepts accepts) const;
  // Whether those of the characters that lead anywhere all lead to states that are accepted;
  // not if only the beginning of one leads anywhere.
  template <typename Accepts>
  bool lead_only(const CompiledGrammar& grammar, uint32_t state, const Utf8Transition& first, Accepts accepts) const;
  // Whether every character that the step begins leads to one state alone, which is accepted,
  // through others where no rule ends or is called.
  template <typename Accepts>
  bool lead_plainly(const CompiledGrammar& grammar, uint32_t state, const Utf8Transition& first, Accepts accepts) const;

 private:
  struct Place {
    uint32_t state;
    const Utf8Transition* step;
    const Utf8Transition* end;
  };
  static constexpr uint32_t kLongestCharacter = 4;

  // What follows a step by its moves: kInside goes on through the first of them.
  enum class Turn : uint8_t { kRefuse, kDone, kInside };
  // Visits the characters that the step begins, until one is refused: false. Not again those
  // that go on from a place as others did.
  template <typename Visit>
  bool walk(const CompiledGrammar& grammar, uint32_t state, const Utf8Transition& first, Visit visit) const;

  Place inside(uint32_t state, const Utf8Transition& step) const {
    const auto steps = from(step.next);
    return {state, steps.data(), steps.data() + steps.size()};
  }

  Utf8Transition* steps_ = nullptr;      // from state 0, from state 1 ...
  uint16_t ends_[kUtf8States + 1] = {};  // a state's: from this to the next
  uint64_t first_classes_[4] = {};
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
    const Turn turn = visit(moves, step);
    if (turn == Turn::kRefuse) return false;
    if (turn == Turn::kDone || !entered.enter(moves[0].target, step.next)) continue;
    stack[++depth] = inside(moves[0].target, step);
  }
  return true;
}

template <typename Accepts>
bool Utf8Transitions::lead(const CompiledGrammar& grammar, uint32_t state, const Utf8Transition& first,
                           Accepts accepts) const {
  return walk(grammar, state, first, [&](auto moves, const Utf8Transition& step) {
    if (moves.empty()) return Turn::kRefuse;
    if (step.next != 0) return Turn::kInside;
    const bool is_accepted =
        std::any_of(moves.begin(), moves.end(), [&](const GrammarMove& move) { return accepts(move.target); });
    return is_accepted ? Turn::kDone : Turn::kRefuse;
  });
}

template <typename Accepts>
bool Utf8Transitions::lead_only(const CompiledGrammar& grammar, uint32_t state, const Utf8Transition& first,
                                Accepts accepts) const {
  const auto goes_on = [&](const Place& place) {
    return std::any_of(place.step, place.end,
                       [&](const Utf8Transition& s) { return !grammar.moves(place.state, s.symbol_class).empty(); });
  };
  return walk(grammar, state, first, [&](auto moves, const Utf8Transition& step) {
    if (moves.empty()) return Turn::kDone;
    if (step.next != 0) {
      const bool is_one = moves.size() == 1 && goes_on(inside(moves[0].target, step));
      return is_one ? Turn::kInside : Turn::kRefuse;
    }
    const bool is_accepted =
        std::all_of(moves.begin(), moves.end(), [&](const GrammarMove& move) { return accepts(move.target); });
    return is_accepted ? Turn::kDone : Turn::kRefuse;
  });
}

template <typename Accepts>
bool Utf8Transitions::lead_plainly(const CompiledGrammar& grammar, uint32_t state, const Utf8Transition& first,
                                   Accepts accepts) const {
  return walk(grammar, state, first, [&](auto moves, const Utf8Transition& step) {
    if (moves.size() != 1) return Turn::kRefuse;
    const uint32_t target = moves[0].target;
    if (step.next == 0) return accepts(target) ? Turn::kDone : Turn::kRefuse;
    const bool is_final = (grammar.flags(target) & GrammarState::kFinal) != 0;
    const bool is_plain = target > kUnknownState && !is_final && grammar.calls(target).empty();
    return is_plain ? Turn::kInside : Turn::kRefuse;
  });
}

}  // namespace sotto
