// Which prefilter a configuration contains: all its texts must be possible, character by
// character.
#include <algorithm>
#include <bit>
#include <cassert>

#include "runtime/grammar/matcher/mask_finder.h"

namespace sotto {
namespace {

constexpr uint64_t kMostSteps = 20'000;  // a walk without a prefilter takes less than ten times that
constexpr uint32_t kAnyCharacters = UINT32_MAX;
// Of fewer classes there are so few tokens that a walk is as fast.
constexpr uint8_t kUsefulClasses = kLowerClass | kUpperClass | kOtherClass;
// Fewer classes in texts of any length are better than all of them in such short texts.
constexpr uint32_t kFewCharacters = 4;
// A prefilter of texts so long holds almost all tokens.
constexpr uint32_t kManyCharacters = kLengthCharacters[kLengthCount - 2];

// Of two prefilters the one that seems to hold more tokens.
TokenPrefilter larger(const TokenPrefilter& a, const TokenPrefilter& b) {
  const auto rank = [](const TokenPrefilter& s) {
    const bool is_short = kLengthCharacters[s.length] < kFewCharacters;
    return s.classes == 0 ? 0u : (is_short ? 0u : 1u) << 16 | uint32_t{s.classes} << 8 | s.length;
  };
  return rank(b) > rank(a) ? b : a;
}

}  // namespace

// Of texts of so many characters, which all tokens have at most if there are more than
// bytes in the longest one.
TokenPrefilter MaskFinder::prefilter_of_length(uint8_t classes, uint32_t characters) const {
  if (characters >= vocabulary_->longest) return {classes, kLengthCount - 1};
  uint32_t length = kLengthCount;
  while (length > 0 && characters < kLengthCharacters[length - 1]) --length;
  return length == 0 ? TokenPrefilter{} : TokenPrefilter{classes, static_cast<uint8_t>(length - 1)};
}

// Texts of one character that may follow each other, if the state begins them.
uint32_t MaskFinder::texts_left(uint32_t state, const StackFrame& frame) const {
  if (frame.loop == kNoLoop) return 1;
  const GrammarLoop& loop = engine_->grammar().loop(frame.loop);
  if (loop.rule_start != state) return 0;
  return loop.maximum == UINT32_MAX ? loop.maximum : loop.maximum - frame.count;
}

// What may follow a state behind which one character of these classes ends its rule.
TokenPrefilter MaskFinder::prefilter_after(uint32_t state, const StackFrame& frame, uint8_t classes) const {
  const CompiledGrammar& grammar = engine_->grammar();
  if (frame.loop != kNoLoop) return prefilter_of_length(classes, texts_left(state, frame));
  const GrammarState& behind = grammar.state(frame.state);
  const auto common = static_cast<uint8_t>(classes & behind.endless_classes);
  const TokenPrefilter endless{common, kLengthCount - 1};
  if (classes != kAllClasses || common == classes) return endless;
  return larger(endless, prefilter_of_length(classes, behind.any_count + 1u));
}

TokenPrefilter MaskFinder::known_prefilter(const State& top) const {
  constexpr uint32_t kMostFrames = 8;
  const GrammarState& state = engine_->grammar().state(top.state);
  TokenPrefilter prefilter{state.endless_classes, kLengthCount - 1};
  prefilter = larger(prefilter, prefilter_of_length(kAllClasses, state.any_count));
  if (state.single_classes == 0) return prefilter;
  const auto frames = engine_->store().frames(top.node);
  for (size_t i = 0; i < frames.size() && i < kMostFrames; ++i) {
    prefilter = larger(prefilter, prefilter_after(top.state, frames[i], state.single_classes));
  }
  return prefilter;
}

// Whether every character that the step begins leads to where texts of these classes, of any
// length, may follow.
bool MaskFinder::leads_to_endless(const State& top, const Utf8Transition& step, uint8_t classes) const {
  const CompiledGrammar& grammar = engine_->grammar();
  const auto frames = engine_->store().frames(top.node);
  const auto is_endless = [&](uint32_t state) { return (classes & ~grammar.state(state).endless_classes) == 0; };
  return transitions_.lead(grammar, top.state, step, [&](uint32_t target) {
    if (is_endless(target)) return true;
    if ((grammar.flags(target) & GrammarState::kFinal) == 0) return false;
    for (const StackFrame frame : frames) {
      if (frame.loop == kNoLoop && is_endless(frame.state)) return true;
    }
    return false;
  });
}

// A prefilter that the configuration contains by what its states are known to let follow, by
// themselves or together.
TokenPrefilter MaskFinder::known_prefilter(uint32_t set) const {
  constexpr size_t kMostStates = 32;
  TokenPrefilter prefilter;
  const auto states = engine_->store().states(set);
  for (const State& top : states) prefilter = larger(prefilter, known_prefilter(top));
  if (prefilter.classes == kAllClasses || states.size() > kMostStates) return prefilter;
  for (const Utf8Transition& step : transitions_.from(0)) {
    if (std::none_of(states.begin(), states.end(),
                     [&](const State& top) { return leads_to_endless(top, step, kAllClasses); })) {
      return prefilter;
    }
  }
  return {kAllClasses, kLengthCount - 1};
}

// How many characters of any sort may follow exactly; kUnknownCount: that is not known.
uint32_t MaskFinder::exact_count(const State& top) const {
  const CompiledGrammar& grammar = engine_->grammar();
  const GrammarState& state = grammar.state(top.state);
  if ((state.flags & GrammarState::kExact) != 0) return state.any_count;
  const auto moves = grammar.moves(top.state);
  if (std::none_of(moves.begin(), moves.end(),
                   [&](const GrammarMove& move) { return transitions_.begins(move.symbol_class); })) {
    return 0;
  }
  if ((state.flags & GrammarState::kSingle) == 0 || state.single_classes != kAllClasses) {
    return kUnknownCount;
  }
  uint32_t most = 0;
  const auto frames = engine_->store().frames(top.node);
  for (const StackFrame frame : frames) {
    const GrammarState& behind = grammar.state(frame.state);
    const uint32_t texts = texts_left(top.state, frame);
    const bool is_exact = (behind.flags & GrammarState::kExact) != 0;
    // Texts of more characters than prefilters tell apart are found soon enough.
    if (!is_exact || texts == 0 || texts > kManyCharacters) return kUnknownCount;
    most = std::max(most, texts + behind.any_count);
  }
  return most;
}

uint32_t MaskFinder::exact_count(uint32_t set) const {
  uint32_t most = 0;
  for (const State& top : engine_->store().states(set)) {
    const uint32_t count = exact_count(top);
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
  const auto kinds = vocabulary_->token_summaries;
  if (next > 0) fill_mask({kAllClasses, static_cast<uint8_t>(next - 1)}, kinds, draft_);
  if (next > 0 && kLengthCharacters[next - 1] == characters) return;
  const auto is_first = [](char byte) { return (static_cast<uint8_t>(byte) & 0xC0) != 0x80; };
  for (uint32_t begin = 0; begin < kinds.size(); begin += 64) {
    uint64_t left = summaries_of_length(&kinds[begin], next);
    for (; left != 0; left &= left - 1) {
      const uint32_t token = begin + static_cast<uint32_t>(std::countr_zero(left));
      const auto text = vocabulary_->source.token(token);
      const bool is_ascii = (kinds[token] & kOtherClass) == 0;
      const size_t count =
          is_ascii ? text.size() : static_cast<size_t>(std::count_if(text.begin(), text.end(), is_first));
      if (count <= characters) add(token);
    }
  }
}

// What takes too long, or too much room, counts as impossible.
template <typename Search>
void MaskFinder::search_prefilters(uint32_t held_trail, Search search) {
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
uint8_t MaskFinder::endless_classes(const uint32_t* set) {
  const uint8_t known = engine_->store().state_set(*set).classes;
  if (known != StateSet::kUnknownClasses) return known;
  const TokenPrefilter prefilter = known_prefilter(*set);
  uint8_t classes = prefilter.length + 1u == kLengthCount ? prefilter.classes : uint8_t{0};
  if (classes != 0) return engine_->store().state_set(*set).classes = classes;
  classes = kAllClasses;
  search_prefilters(static_cast<uint32_t>(set - engine_->trail()) + 1, [&] {
    while ((classes & kUsefulClasses) != 0) {
      boundaries_[0] = *set;
      uint8_t admitted = classes;
      if (count_characters(classes, &admitted) == kAnyCharacters) return;
      classes = admitted != classes ? admitted : uint8_t{0};
    }
    classes = 0;
  });
  engine_->store().state_set(*set).classes = classes;
  return classes;
}

// The prefilter that trail[0] contains.
TokenPrefilter MaskFinder::find_prefilter() {
  const uint32_t* set = engine_->trail();
  TokenPrefilter prefilter = known_prefilter(*set);
  if (prefilter.classes != 0) return prefilter;
  prefilter = {endless_classes(set), kLengthCount - 1};
  if (prefilter.classes != 0) return prefilter;
  uint8_t classes = kAllClasses;
  search_prefilters(1, [&] {
    while ((classes & kUsefulClasses) != 0) {
      boundaries_[0] = *set;
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

// A prefilter most of which trail[0] may contain, judged by texts that begin with some letters.
TokenPrefilter MaskFinder::guess_prefilter() {
  constexpr char kFirstBytes[] = {' ', 'S', 'T', 'a', 'c', 's', 't'};
  uint32_t* trail = engine_->trail();
  uint8_t classes = kAllClasses;
  uint32_t votes = 0;
  for (const char byte : kFirstBytes) {
    const uint32_t symbol_class = engine_->grammar().byte_class(static_cast<uint8_t>(byte));
    trail[1] = kNotComputed;
    const StepResult result = engine_->step(&trail[0], symbol_class, &trail[1]);
    if (result != StepResult::kDone || trail[1] < kFirstSet) continue;
    const uint8_t found = endless_classes(&trail[1]);
    if ((found & kLowerClass) == 0) continue;
    classes &= found;
    ++votes;
  }
  const bool is_likely = 2 * votes > sizeof kFirstBytes;
  return is_likely ? TokenPrefilter{classes, kLengthCount - 1} : TokenPrefilter{};
}

// Whether a loop may count characters: they are as many configurations.
bool MaskFinder::counts(uint32_t set) const {
  for (const State& top : engine_->store().states(set)) {
    if (engine_->store().node(top.node).counts) return true;
  }
  return false;
}

void MaskFinder::forget_met() {
  met_collection_ = engine_->collection_count();
  std::fill_n(met_, kMetCount, uint16_t{kNotComputed});
}

// How long a text of these classes may be so that all are possible behind boundaries_[0];
// `admitted`: the classes that are, too, behind some text of that length.
uint32_t MaskFinder::count_characters(uint8_t classes, uint8_t* admitted) {
  constexpr uint32_t kMostCharacters = kLengthCharacters[kLengthCount - 2];
  uint32_t boundary_count = 1;
  uint32_t level_begin = 0;
  forget_met();
  const uint32_t most = counts(boundaries_[0]) ? kMostCharacters : kAnyCharacters;
  for (uint32_t characters = 0; characters < most; ++characters) {
    const uint32_t level_end = boundary_count;
    if (level_begin == level_end) return kAnyCharacters;
    for (uint32_t from = level_begin; from < level_end; ++from) {
      const uint8_t known = engine_->store().state_set(boundaries_[from]).classes;
      if (known != StateSet::kUnknownClasses && (classes & ~known) == 0) continue;
      *admitted = classes;
      const StepResult result = take_characters(from, &boundary_count, admitted);
      if (result != StepResult::kDone) *admitted = 0;
      if (*admitted != classes) return characters;
    }
    level_begin = level_end;
  }
  return level_begin == boundary_count ? kAnyCharacters : most;
}

// Takes every character of the admitted classes after boundaries_[from]; those with an impossible one
// are not admitted any more.
StepResult MaskFinder::take_characters(uint32_t from, uint32_t* boundary_count, uint8_t* admitted) {
  // inside[n]: behind n bytes of a character.
  uint32_t* inside = boundaries_ + kMostBoundaries;
  const Utf8Transition* tried[kLongestCharacter + 1];
  const Utf8Transition* ends[kLongestCharacter + 1];
  const auto enter = [&](int depth, uint32_t state) {
    const auto steps = transitions_.from(state);
    tried[depth] = steps.data();
    ends[depth] = steps.data() + steps.size();
  };
  enter(0, 0);
  uint8_t classes = 0;  // of the character
  inside[0] = boundaries_[from];
  for (int depth = 0; depth >= 0;) {
    if (tried[depth] == ends[depth]) {
      --depth;
      continue;
    }
    const Utf8Transition step = *tried[depth]++;
    if (depth == 0) classes = step.classes;
    if ((classes & *admitted) == 0) continue;
    inside[depth + 1] = kNotComputed;
    const StepResult result = engine_->step_alike(&inside[depth], step.symbol_class, &inside[depth + 1]);
    if (result != StepResult::kDone) return result;
    const uint32_t next = inside[depth + 1];
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
