// Which slice a configuration contains: all its texts must be possible, character by
// character.
#include <algorithm>
#include <cassert>

#include "runtime/grammar/mask_finder.h"

namespace sotto {
namespace {

constexpr uint32_t kMostBoundaries = 48;  // configurations between characters
constexpr uint64_t kMostSteps = 20'000;   // a walk without a slice takes less than ten times that
constexpr uint32_t kLongestCharacter = 4;

}  // namespace

void MaskFinder::prepare_slice_steps() {
  const CompiledGrammar& grammar = engine_->grammar();
  for (uint32_t state = 0; state < kSliceStates; ++state) {
    SliceStep* steps = slice_steps_ + state * 256;
    uint16_t count = 0;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      const uint8_t next = slice_step(state, static_cast<uint8_t>(byte));
      if (next == kSliceDead) continue;
      const uint8_t symbol_class = grammar.byte_class(static_cast<uint8_t>(byte));
      const bool is_known = std::any_of(steps, steps + count, [&](const SliceStep& s) {
        return s.symbol_class == symbol_class && s.next == next;
      });
      if (!is_known) steps[count++] = {symbol_class, next};
    }
    slice_step_counts_[state] = count;
  }
}

// trail[0]: the configuration. The trail's front holds the configurations met between
// characters, its end those inside one. If this takes too long, or too much room, what was
// found so far counts.
void MaskFinder::find_slice(uint32_t* slice) {
  uint32_t* trail = engine_->trail();
  std::fill_n(trail + 1, engine_->trail_count() - 1, kNotComputed);
  constexpr uint32_t kMostCharacters = kSliceCharacters[kSliceCount - 2];
  uint32_t boundary_count = 1;
  uint32_t level_begin = 0;
  uint32_t characters = 0;
  bool contained = true;
  const uint64_t budget = engine_->budget();
  const uint64_t allowance = std::min(budget, kMostSteps);
  engine_->set_budget(allowance);
  while (contained && characters < kMostCharacters && level_begin < boundary_count) {
    const uint32_t level_end = boundary_count;
    for (uint32_t from = level_begin; from < level_end && contained; ++from) {
      const StepResult result = take_characters(from, &boundary_count, &contained);
      contained = contained && result == StepResult::kDone;
    }
    if (contained) ++characters;
    level_begin = level_end;
  }
  engine_->set_budget(budget - (allowance - engine_->budget()));
  const bool is_closed = contained && level_begin == boundary_count;
  *slice = kNoSlice;
  for (uint32_t i = 0; i < kSliceCount; ++i) {
    if (is_closed || kSliceCharacters[i] <= characters) *slice = i;
  }
  std::fill_n(trail + 1, engine_->trail_count() - 1, kNotComputed);
}

// Takes every character after trail[from]; `contained` becomes false if one is impossible.
StepResult MaskFinder::take_characters(uint32_t from, uint32_t* boundary_count, bool* contained) {
  uint32_t* trail = engine_->trail();
  // inside[n]: behind n bytes of a character.
  uint32_t* inside = trail + engine_->trail_count() - (kLongestCharacter + 1);
  uint8_t states[kLongestCharacter + 1] = {};
  uint16_t tried[kLongestCharacter + 1] = {};
  inside[0] = trail[from];
  for (int depth = 0; depth >= 0;) {
    const uint8_t state = states[depth];
    if (tried[depth] == slice_step_counts_[state]) {
      --depth;
      continue;
    }
    const SliceStep step = slice_steps_[state * 256 + tried[depth]++];
    inside[depth + 1] = kNotComputed;
    const StepResult result = engine_->step(&inside[depth], step.symbol_class, &inside[depth + 1]);
    if (result != StepResult::kDone) return result;
    const uint32_t next = inside[depth + 1];
    const bool is_unknown =
        next != kDeadConfig && (engine_->store().config(next).flags & Config::kUnknown) != 0;
    if (next == kDeadConfig || is_unknown) {
      *contained = false;
      return StepResult::kDone;
    }
    if (step.next != 0) {
      ++depth;
      assert(depth < static_cast<int>(kLongestCharacter));
      states[depth] = step.next;
      tried[depth] = 0;
      continue;
    }
    if (std::find(trail, trail + *boundary_count, next) != trail + *boundary_count) continue;
    if (*boundary_count == kMostBoundaries) {
      *contained = false;
      return StepResult::kDone;
    }
    trail[(*boundary_count)++] = next;
  }
  return StepResult::kDone;
}

}  // namespace sotto
