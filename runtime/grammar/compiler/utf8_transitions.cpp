#include "runtime/grammar/compiler/utf8_transitions.h"

#include <algorithm>

namespace sotto {

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
  const uint64_t bit = uint64_t{1} << slot % 64;
  uint64_t& used = used_[slot / 64];
  if ((used & bit) != 0 && places_[slot] == place) return false;
  used |= bit;
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
    first_classes_[step.symbol_class / 64] |= uint64_t{1} << step.symbol_class % 64;
  }
}

}  // namespace sotto
