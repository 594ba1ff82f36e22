// Which slice a configuration contains: all its texts must be possible, character by
// character.
#include <algorithm>
#include <bit>
#include <cassert>

#include "runtime/grammar/matcher/mask_finder.h"

namespace sotto {
namespace {

constexpr uint64_t kMostSteps = 20'000;  // a walk without a slice takes less than ten times that
constexpr uint32_t kAnyCharacters = UINT32_MAX;
// Of fewer sorts there are so few tokens that a walk is as fast.
constexpr uint8_t kUsefulSorts = kLowerSort | kUpperSort | kOtherSort;
// Fewer sorts in texts of any length are better than all of them in such short texts.
constexpr uint32_t kFewCharacters = 4;
// A slice of texts so long holds almost all tokens.
constexpr uint32_t kManyCharacters = kLengthCharacters[kLengthCount - 2];

// Of two slices the one that seems to hold more tokens.
Slice larger(const Slice& a, const Slice& b) {
  const auto rank = [](const Slice& s) {
    const bool is_short = kLengthCharacters[s.length] < kFewCharacters;
    return s.sorts == 0 ? 0u : (is_short ? 0u : 1u) << 16 | uint32_t{s.sorts} << 8 | s.length;
  };
  return rank(b) > rank(a) ? b : a;
}

}  // namespace

// Of texts of so many characters, which all tokens have at most if there are more than
// bytes in the longest one.
Slice MaskFinder::slice_of_length(uint8_t sorts, uint32_t characters) const {
  if (characters >= vocabulary_->longest) return {sorts, kLengthCount - 1};
  uint32_t length = kLengthCount;
  while (length > 0 && characters < kLengthCharacters[length - 1]) --length;
  return length == 0 ? Slice{} : Slice{sorts, static_cast<uint8_t>(length - 1)};
}

// Texts of one character that may follow each other, if the state begins them.
uint32_t MaskFinder::texts_left(uint32_t state, const Frame& frame) const {
  if (frame.loop == kNoLoop) return 1;
  const GrammarLoop& loop = engine_->grammar().loop(frame.loop);
  if (loop.rule_start != state) return 0;
  return loop.maximum == UINT32_MAX ? loop.maximum : loop.maximum - frame.count;
}

// What may follow a state behind which one character of these sorts ends its rule.
Slice MaskFinder::slice_behind(uint32_t state, const Frame& frame, uint8_t sorts) const {
  const CompiledGrammar& grammar = engine_->grammar();
  if (frame.loop != kNoLoop) return slice_of_length(sorts, texts_left(state, frame));
  const GrammarState& behind = grammar.state(frame.state);
  const auto common = static_cast<uint8_t>(sorts & behind.endless_sorts);
  const Slice endless{common, kLengthCount - 1};
  if (sorts != kAllSorts || common == sorts) return endless;
  return larger(endless, slice_of_length(sorts, behind.any_count + 1u));
}

Slice MaskFinder::known_slice(const Item& item) const {
  constexpr uint32_t kMostFrames = 8;
  const GrammarState& state = engine_->grammar().state(item.state);
  Slice slice{state.endless_sorts, kLengthCount - 1};
  slice = larger(slice, slice_of_length(kAllSorts, state.any_count));
  if (state.single_sorts == 0) return slice;
  const auto frames = engine_->store().frames(item.node);
  for (size_t i = 0; i < frames.size() && i < kMostFrames; ++i) {
    slice = larger(slice, slice_behind(item.state, frames[i], state.single_sorts));
  }
  return slice;
}

// Whether every character that the step begins leads to where texts of these sorts, of any
// length, may follow.
bool MaskFinder::leads_to_endless(const Item& item, const CharacterStep& step, uint8_t sorts) const {
  const CompiledGrammar& grammar = engine_->grammar();
  const auto frames = engine_->store().frames(item.node);
  const auto is_endless = [&](uint32_t state) { return (sorts & ~grammar.state(state).endless_sorts) == 0; };
  return characters_.lead(grammar, item.state, step, [&](uint32_t target) {
    if (is_endless(target)) return true;
    if ((grammar.flags(target) & GrammarState::kFinal) == 0) return false;
    for (const Frame frame : frames) {
      if (frame.loop == kNoLoop && is_endless(frame.state)) return true;
    }
    return false;
  });
}

// A slice that the configuration contains by what its states are known to let follow, by
// themselves or together.
Slice MaskFinder::known_slice(uint32_t config) const {
  constexpr size_t kMostItems = 32;
  Slice slice;
  const auto items = engine_->store().items(config);
  for (const Item& item : items) slice = larger(slice, known_slice(item));
  if (slice.sorts == kAllSorts || items.size() > kMostItems) return slice;
  for (const CharacterStep& step : characters_.from(0)) {
    if (std::none_of(items.begin(), items.end(),
                     [&](const Item& item) { return leads_to_endless(item, step, kAllSorts); })) {
      return slice;
    }
  }
  return {kAllSorts, kLengthCount - 1};
}

// How many characters of any sort may follow exactly; kUnknownCount: that is not known.
uint32_t MaskFinder::exact_count(const Item& item) const {
  const CompiledGrammar& grammar = engine_->grammar();
  const GrammarState& state = grammar.state(item.state);
  if ((state.flags & GrammarState::kExact) != 0) return state.any_count;
  const auto moves = grammar.moves(item.state);
  if (std::none_of(moves.begin(), moves.end(),
                   [&](const GrammarMove& move) { return characters_.begins(move.symbol_class); })) {
    return 0;
  }
  if ((state.flags & GrammarState::kSingle) == 0 || state.single_sorts != kAllSorts) {
    return kUnknownCount;
  }
  uint32_t most = 0;
  const auto frames = engine_->store().frames(item.node);
  for (const Frame frame : frames) {
    const GrammarState& behind = grammar.state(frame.state);
    const uint32_t texts = texts_left(item.state, frame);
    const bool is_exact = (behind.flags & GrammarState::kExact) != 0;
    // Texts of more characters than slices tell apart are found soon enough.
    if (!is_exact || texts == 0 || texts > kManyCharacters) return kUnknownCount;
    most = std::max(most, texts + behind.any_count);
  }
  return most;
}

uint32_t MaskFinder::exact_count(uint32_t config) const {
  uint32_t most = 0;
  for (const Item& item : engine_->store().items(config)) {
    const uint32_t count = exact_count(item);
    if (count == kUnknownCount) return kUnknownCount;
    most = std::max(most, count);
  }
  return most;
}

// Tokens of at most so many characters of any sort.
void MaskFinder::fill_exactly(uint32_t characters) {
  if (characters == 0) return;
  uint8_t next = 0;  // the first class that is not in the mask as a whole
  while (next < kLengthCount - 1 && kLengthCharacters[next] <= characters) ++next;
  const auto kinds = vocabulary_->token_kinds;
  if (next > 0) fill_slice({kAllSorts, static_cast<uint8_t>(next - 1)}, kinds, draft_);
  if (next > 0 && kLengthCharacters[next - 1] == characters) return;
  const auto is_first = [](char byte) { return (static_cast<uint8_t>(byte) & 0xC0) != 0x80; };
  for (uint32_t begin = 0; begin < kinds.size(); begin += 64) {
    uint64_t left = kinds_of_length(&kinds[begin], next);
    for (; left != 0; left &= left - 1) {
      const uint32_t token = begin + static_cast<uint32_t>(std::countr_zero(left));
      const auto text = vocabulary_->source.token(token);
      const bool is_ascii = (kinds[token] & kOtherSort) == 0;
      const size_t count =
          is_ascii ? text.size() : static_cast<size_t>(std::count_if(text.begin(), text.end(), is_first));
      if (count <= characters) add(token);
    }
  }
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
  const Slice slice = known_slice(*config);
  uint8_t sorts = slice.length + 1u == kLengthCount ? slice.sorts : uint8_t{0};
  if (sorts != 0) return engine_->store().config(*config).sorts = sorts;
  sorts = kAllSorts;
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
  Slice slice = known_slice(*config);
  if (slice.sorts != 0) return slice;
  slice = {endless_sorts(config), kLengthCount - 1};
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
  const CharacterStep* tried[kLongestCharacter + 1];
  const CharacterStep* ends[kLongestCharacter + 1];
  const auto enter = [&](int depth, uint32_t state) {
    const auto steps = characters_.from(state);
    tried[depth] = steps.data();
    ends[depth] = steps.data() + steps.size();
  };
  enter(0, 0);
  uint8_t sorts = 0;  // of the character
  inside[0] = boundaries_[from];
  for (int depth = 0; depth >= 0;) {
    if (tried[depth] == ends[depth]) {
      --depth;
      continue;
    }
    const CharacterStep step = *tried[depth]++;
    if (depth == 0) sorts = step.sorts;
    if ((sorts & *admitted) == 0) continue;
    inside[depth + 1] = kNotComputed;
    const StepResult result = engine_->step_alike(&inside[depth], step.symbol_class, &inside[depth + 1]);
    if (result != StepResult::kDone) return result;
    const uint32_t next = inside[depth + 1];
    if (next < kFirstConfig) {
      *admitted &= static_cast<uint8_t>(~sorts);
      continue;
    }
    if (step.next != 0) {
      ++depth;
      assert(depth < static_cast<int>(kLongestCharacter));
      enter(depth, step.next);
      continue;
    }
    if (engine_->collection_count() != met_collection_) forget_met();
    uint16_t& met = met_[next % kMetCount];
    if (met == next) continue;
    met = static_cast<uint16_t>(next);
    if (std::find(boundaries_, boundaries_ + *boundary_count, next) != boundaries_ + *boundary_count) {
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
