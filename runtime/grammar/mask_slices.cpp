// Which slice a configuration contains: all its texts must be possible, character by
// character.
#include <algorithm>
#include <cassert>

#include "runtime/grammar/mask_finder.h"

namespace sotto {
namespace {

constexpr uint64_t kMostSteps = 20'000;  // a walk without a slice takes less than ten times that
constexpr uint8_t kAllSorts = (1u << kSortCount) - 1;
constexpr uint32_t kAnyCharacters = UINT32_MAX;
// Of fewer sorts there are so few tokens that a walk is as fast.
constexpr uint8_t kUsefulSorts = kLowerSort | kUpperSort | kOtherSort;
// Fewer sorts in texts of any length are better than all of them in such short texts.
constexpr uint32_t kFewCharacters = 4;

}  // namespace

uint32_t MaskFinder::collect_slice_steps(const CompiledGrammar& grammar, uint32_t state,
                                         SliceStep* steps) {
  SliceStep found[256];
  uint32_t count = 0;
  for (uint32_t i = 0; i < 256; ++i) {
    const auto byte = static_cast<uint8_t>(i);
    const uint8_t next = slice_step(state, byte);
    if (next == kSliceDead) continue;
    const uint8_t symbol_class = grammar.byte_class(byte);
    const uint8_t sorts = state == 0 ? sort_of(byte) : uint8_t{0xFF};
    auto* known = std::find_if(found, found + count, [&](const SliceStep& s) {
      return s.symbol_class == symbol_class && s.next == next;
    });
    if (known != found + count) {
      known->sorts |= sorts;
    } else {
      found[count++] = {symbol_class, next, sorts};
    }
  }
  if (steps != nullptr) std::copy_n(found, count, steps);
  return count;
}

void MaskFinder::prepare_slice_steps() {
  uint32_t count = 0;
  for (uint32_t state = 0; state < kSliceStates; ++state) {
    slice_step_ends_[state] = static_cast<uint16_t>(count);
    count += collect_slice_steps(engine_->grammar(), state, slice_steps_ + count);
  }
  slice_step_ends_[kSliceStates] = static_cast<uint16_t>(count);
}

// What takes too long, or too much room, counts as impossible.
template <typename Search>
void MaskFinder::search_slices(uint32_t held_trail, Search search) {
  engine_->hold_trail(held_trail);
  const uint64_t budget = engine_->budget();
  const uint64_t allowance = std::min(budget, kMostSteps);
  engine_->set_budget(allowance);
  search();
  engine_->set_budget(budget - (allowance - engine_->budget()));
  engine_->hold_trail(0);
  std::fill_n(boundaries_, kBoundaryPins, kNotComputed);
}

// Sorts of characters of which texts of any length may follow a configuration of the trail.
uint8_t MaskFinder::endless_sorts(const uint32_t* config) {
  const uint8_t known = engine_->store().config(*config).sorts;
  if (known != Config::kUnknownSorts) return known;
  uint8_t sorts = kAllSorts;
  search_slices(static_cast<uint32_t>(config - engine_->trail()) + 1, [&] {
    while ((sorts & kUsefulSorts) != 0) {
      boundaries_[0] = *config;
      uint8_t admitted = sorts;
      if (count_characters(sorts, &admitted) == kAnyCharacters) return;
      sorts = admitted != sorts ? admitted : uint8_t{0};
    }
    sorts = 0;
  });
  engine_->store().config(*config).sorts = sorts;
  return sorts;
}

// The slice that trail[0] contains.
Slice MaskFinder::find_slice() {
  const uint32_t* config = engine_->trail();
  Slice slice{endless_sorts(config), kLengthCount - 1};
  if (slice.sorts != 0) return slice;
  uint8_t sorts = kAllSorts;
  search_slices(1, [&] {
    while ((sorts & kUsefulSorts) != 0) {
      boundaries_[0] = *config;
      uint8_t admitted = sorts;
      const uint32_t characters = count_characters(sorts, &admitted);
      const bool tries_fewer = characters < kFewCharacters && admitted != sorts;
      if (!tries_fewer || (admitted & kUsefulSorts) == 0) {
        uint32_t length = kLengthCount;
        while (length > 0 && characters < kLengthCharacters[length - 1]) --length;
        if (length > 0) slice = {sorts, static_cast<uint8_t>(length - 1)};
        return;
      }
      sorts = admitted;
    }
  });
  return slice;
}

// A slice most of which trail[0] may contain, judged by texts that begin with some letters.
Slice MaskFinder::guess_slice() {
  constexpr char kFirstBytes[] = {' ', 'S', 'T', 'a', 'c', 's', 't'};
  uint32_t* trail = engine_->trail();
  uint8_t sorts = kAllSorts;
  uint32_t votes = 0;
  for (const char byte : kFirstBytes) {
    const uint32_t symbol_class = engine_->grammar().byte_class(static_cast<uint8_t>(byte));
    trail[1] = kNotComputed;
    const StepResult result = engine_->step(&trail[0], symbol_class, &trail[1]);
    if (result != StepResult::kDone || trail[1] < kFirstConfig) continue;
    const uint8_t found = endless_sorts(&trail[1]);
    if ((found & kLowerSort) == 0) continue;
    sorts &= found;
    ++votes;
  }
  const bool is_likely = 2 * votes > sizeof kFirstBytes;
  return is_likely ? Slice{sorts, kLengthCount - 1} : Slice{};
}

// Whether a loop may count characters: they are as many configurations.
bool MaskFinder::counts(uint32_t config) const {
  for (const Item& item : engine_->store().items(config)) {
    if (engine_->store().node(item.node).counts) return true;
  }
  return false;
}

void MaskFinder::forget_met() {
  met_collection_ = engine_->collection_count();
  std::fill_n(met_, kMetCount, uint16_t{kNotComputed});
}

// How long a text of these sorts may be so that all are possible behind boundaries_[0];
// `admitted`: the sorts that are, too, behind some text of that length.
uint32_t MaskFinder::count_characters(uint8_t sorts, uint8_t* admitted) {
  constexpr uint32_t kMostCharacters = kLengthCharacters[kLengthCount - 2];
  uint32_t boundary_count = 1;
  uint32_t level_begin = 0;
  forget_met();
  const uint32_t most = counts(boundaries_[0]) ? kMostCharacters : kAnyCharacters;
  for (uint32_t characters = 0; characters < most; ++characters) {
    const uint32_t level_end = boundary_count;
    if (level_begin == level_end) return kAnyCharacters;
    for (uint32_t from = level_begin; from < level_end; ++from) {
      const uint8_t known = engine_->store().config(boundaries_[from]).sorts;
      if (known != Config::kUnknownSorts && (sorts & ~known) == 0) continue;
      *admitted = sorts;
      const StepResult result = take_characters(from, &boundary_count, admitted);
      if (result != StepResult::kDone) *admitted = 0;
      if (*admitted != sorts) return characters;
    }
    level_begin = level_end;
  }
  return level_begin == boundary_count ? kAnyCharacters : most;
}

// Takes every character of the admitted sorts after boundaries_[from]; those with an impossible one
// are not admitted any more.
StepResult MaskFinder::take_characters(uint32_t from, uint32_t* boundary_count, uint8_t* admitted) {
  // inside[n]: behind n bytes of a character.
  uint32_t* inside = boundaries_ + kMostBoundaries;
  uint16_t tried[kLongestCharacter + 1] = {slice_step_ends_[0]};
  uint16_t ends[kLongestCharacter + 1] = {slice_step_ends_[1]};
  uint8_t sorts = 0;  // of the character
  inside[0] = boundaries_[from];
  for (int depth = 0; depth >= 0;) {
    if (tried[depth] == ends[depth]) {
      --depth;
      continue;
    }
    const SliceStep step = slice_steps_[tried[depth]++];
    if (depth == 0) sorts = step.sorts;
    if ((sorts & *admitted) == 0) continue;
    inside[depth + 1] = kNotComputed;
    const StepResult result =
        engine_->step_alike(&inside[depth], step.symbol_class, &inside[depth + 1]);
    if (result != StepResult::kDone) return result;
    const uint32_t next = inside[depth + 1];
    if (next < kFirstConfig) {
      *admitted &= static_cast<uint8_t>(~sorts);
      continue;
    }
    if (step.next != 0) {
      ++depth;
      assert(depth < static_cast<int>(kLongestCharacter));
      tried[depth] = slice_step_ends_[step.next];
      ends[depth] = slice_step_ends_[step.next + 1];
      continue;
    }
    if (engine_->collection_count() != met_collection_) forget_met();
    uint16_t& met = met_[next % kMetCount];
    if (met == next) continue;
    met = static_cast<uint16_t>(next);
    if (std::find(boundaries_, boundaries_ + *boundary_count, next) !=
        boundaries_ + *boundary_count) {
      continue;
    }
    if (*boundary_count == kMostBoundaries) {
      *admitted = 0;
      return StepResult::kDone;
    }
    boundaries_[(*boundary_count)++] = next;
  }
  return StepResult::kDone;
}

}  // namespace sotto
