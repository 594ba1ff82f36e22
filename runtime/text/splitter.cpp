#include "runtime/text/splitter.h"

#include <algorithm>

namespace sotto {
namespace {

// Returns the end of the match that begins at `start`, or `start` if there is none.
size_t match_end(const SplitStep& step, const Word& word, size_t start, FailedSearches* failed) {
  const size_t width = step.header.class_count + 1;
  uint32_t state = 0;
  size_t end = start;
  size_t entered = start;  // where the automaton entered the state, or matched in it
  size_t changes = 0;      // number of changes of the state since the last match
  size_t at = start;
  while (at < word.size() && changes <= kMaxSplitLookahead) {
    if (failed->contains(state, at)) return end;
    const Word::Character character = word.character_at(at);
    const uint32_t transition = step.transitions[state * width + split_class(step, character.code_point)];
    const bool matches = (transition & SplitStep::kMatch) != 0;
    if (matches) {
      end = at;
      changes = 0;
      entered = at;
    }
    const uint32_t next = transition & SplitStep::kDead;
    if (next == SplitStep::kDead) break;
    at += character.size;
    if (next != state) {
      ++changes;
      entered = at;
    }
    state = next;
    if (at == word.size() && (step.transitions[state * width + width - 1] & SplitStep::kMatch) != 0) return at;
  }
  // Shorter failed searches take a bounded time each, so only long ones are remembered.
  if (at - entered > kMaxSplitLookahead) failed->add(state, entered + 1, at);
  return end;
}

}  // namespace

bool FailedSearches::contains(uint32_t state, size_t at) const {
  return std::any_of(ranges_, ranges_ + kMaxLoopStates,
                     [&](const Range& range) { return range.state == state && at >= range.begin && at < range.end; });
}

void FailedSearches::add(uint32_t state, size_t begin, size_t end) {
  for (Range& range : ranges_) {
    if (range.state != state && range.state != SplitStep::kDead) continue;
    range = {state, begin, end};
    return;
  }
}

SplitPiece next_piece(const SplitStep& step, const Word& word, size_t start, FailedSearches* failed) {
  const size_t end = match_end(step, word, start, failed);
  if (end != start) return {end, true};
  size_t at = start;
  do {
    at += word.character_at(at).size;
  } while (at < word.size() && match_end(step, word, at, failed) == at);
  return {at, false};
}

}  // namespace sotto
