#include "runtime/grammar/compiler/character_steps.h"

#include <algorithm>

namespace sotto {

uint32_t collect_character_steps(const CompiledGrammar& grammar, uint32_t state, CharacterStep* steps) {
  CharacterStep found[256];
  uint32_t count = 0;
  for (uint32_t i = 0; i < 256; ++i) {
    const auto byte = static_cast<uint8_t>(i);
    const uint8_t next = slice_step(state, byte);
    if (next == kSliceDead) continue;
    const uint8_t symbol_class = grammar.byte_class(byte);
    const uint8_t sorts = state == 0 ? sort_of(byte) : uint8_t{0xFF};
    auto* known = std::find_if(
        found, found + count, [&](const CharacterStep& s) { return s.symbol_class == symbol_class && s.next == next; });
    if (known != found + count) {
      known->sorts |= sorts;
    } else {
      found[count++] = {symbol_class, next, sorts};
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

uint32_t CharacterSteps::count(const CompiledGrammar& grammar) {
  uint32_t count = 0;
  for (uint32_t state = 0; state < kSliceStates; ++state) {
    count += collect_character_steps(grammar, state, nullptr);
  }
  return count;
}

void CharacterSteps::init(const CompiledGrammar& grammar, CharacterStep* steps) {
  steps_ = steps;
  uint32_t count = 0;
  for (uint32_t state = 0; state < kSliceStates; ++state) {
    ends_[state] = static_cast<uint16_t>(count);
    count += collect_character_steps(grammar, state, steps_ + count);
  }
  ends_[kSliceStates] = static_cast<uint16_t>(count);
  std::fill(std::begin(first_classes_), std::end(first_classes_), uint64_t{0});
  for (const CharacterStep& step : from(0)) {
    first_classes_[step.symbol_class / 64] |= uint64_t{1} << step.symbol_class % 64;
  }
}

}  // namespace sotto
