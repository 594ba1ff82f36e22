#include "runtime/grammar/automata/character_automaton.h"

#include <cstring>

#include "runtime/base/utf8.h"

namespace sotto {
namespace {

constexpr uint32_t kDead = CharacterAutomaton::kDead;
constexpr uint32_t kMaxCells = 8000000;  // maximum number of cells in a table

// Calls visit(code point) for each character of a text.
template <typename Visit>
void each_character(std::string_view text, Visit visit) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Character character = decode_utf8(text.data() + at, text.size() - at);
    visit(character.code_point);
    at += character.size;
  }
}

}  // namespace

uint32_t CharacterAutomaton::class_of(uint32_t code_point) const {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), code_point,
                                      [](uint32_t c, const Range& r) { return c < r.first; });
  return (after - 1)->kind;
}

bool CharacterAutomaton::matches(std::string_view text) const {
  uint32_t state = state_count == 0 ? kDead : 0;
  each_character(text, [&](uint32_t c) {
    if (state != kDead) state = step(state, class_of(c));
  });
  return state != kDead && accepts[state] != 0;
}

bool automaton_of_length(uint32_t minimum, uint32_t maximum, Workspace& workspace, CharacterAutomaton* automaton) {
  const bool bounded = maximum != kUnbounded;
  const uint32_t last = bounded ? maximum : minimum;
  if (last >= kMaxAutomatonStates) return false;
  auto* ranges = workspace.take<CharacterAutomaton::Range>(1);
  auto* next = workspace.take<uint32_t>(last + 1);
  auto* accepts = workspace.take<uint8_t>(last + 1);
  if (accepts == nullptr || next == nullptr || ranges == nullptr) return false;
  ranges[0] = {0, 0};
  for (uint32_t i = 0; i <= last; ++i) {
    next[i] = i < last ? i + 1 : bounded ? kDead : last;
    accepts[i] = i >= minimum ? 1 : 0;
  }
  *automaton = {{ranges, 1}, 1, last + 1, next, accepts};
  return true;
}

// Builds the trie of the words.
bool automaton_of_words(std::span<const std::string_view> words, Workspace& workspace, CharacterAutomaton* automaton) {
  // Class 0 contains every character that occurs in no word.
  GrowingArray<uint32_t> letters(workspace);
  for (const auto word : words) each_character(word, [&](uint32_t c) { letters.push(c); });
  if (workspace.exhausted()) return false;
  sort_numbers(letters.begin(), letters.end());
  letters.truncate(static_cast<size_t>(std::unique(letters.begin(), letters.end()) - letters.begin()));
  GrowingArray<CharacterAutomaton::Range> ranges(workspace);
  if (letters.empty() || letters[0] != 0) ranges.push({0, 0});
  for (uint32_t i = 0; i < letters.size(); ++i) {
    ranges.push({letters[i], i + 1});
    const bool adjoins = i + 1 < letters.size() && letters[i + 1] == letters[i] + 1;
    if (!adjoins && letters[i] < kMaxCodePoint) ranges.push({letters[i] + 1, 0});
  }
  const uint32_t class_count = letters.size() + 1;
  GrowingArray<uint32_t> next(workspace);
  GrowingArray<uint8_t> accepts(workspace);
  if (!next.resize(class_count, 0xFF)) return false;
  accepts.push(0);
  for (const auto word : words) {
    uint32_t state = 0;
    bool fits = true;
    each_character(word, [&](uint32_t c) {
      if (!fits) return;
      const auto* letter = std::lower_bound(letters.begin(), letters.end(), c);
      const size_t cell = size_t{state} * class_count + static_cast<size_t>(letter - letters.begin()) + 1;
      if (next[cell] == kDead) {
        const uint32_t added = accepts.push(0);
        if (!next.resize(next.size() + class_count, 0xFF) || added == 0 || next.size() > kMaxCells) {
          fits = false;
          return;
        }
        next[cell] = added;
      }
      state = next[cell];
    });
    if (!fits || workspace.exhausted()) return false;
    accepts[state] = 1;
  }
  if (workspace.exhausted()) return false;
  *automaton = {ranges.span(), class_count, accepts.size(), next.begin(), accepts.begin()};
  return true;
}

// Builds the product automaton. Its states are pairs of states.
bool intersect_automata(const CharacterAutomaton& a, bool negate_a, const CharacterAutomaton& b, bool negate_b,
                        Workspace& workspace, CharacterAutomaton* automaton, uint32_t max_states) {
  const size_t mark = workspace.size();
  // Each pair of classes with a common character becomes a class.
  InternedSets classes(workspace);
  GrowingArray<CharacterAutomaton::Range> ranges(workspace);
  for (size_t i = 0, j = 0; i < a.ranges.size();) {
    const uint32_t first = std::max(a.ranges[i].first, b.ranges[j].first);
    const uint32_t pair[] = {a.ranges[i].kind, b.ranges[j].kind};
    const uint32_t kind = classes.intern(pair);
    if (ranges.empty() || ranges.back().kind != kind) ranges.push({first, kind});
    if (workspace.exhausted()) return false;
    const uint32_t end_a = i + 1 < a.ranges.size() ? a.ranges[i + 1].first : UINT32_MAX;
    const uint32_t end_b = j + 1 < b.ranges.size() ? b.ranges[j + 1].first : UINT32_MAX;
    if (end_a == end_b && end_a == UINT32_MAX) break;
    if (end_a <= end_b) ++i;
    if (end_b <= end_a) ++j;
  }
  InternedSets states(workspace);
  Dfa dfa(workspace);
  const auto accepts_in = [](const CharacterAutomaton& side, bool negate, uint32_t state) {
    return (state != kDead && side.accepts[state] != 0) != negate;
  };
  const auto state_of = [&](uint32_t p, uint32_t q) {
    const bool dead = (p == kDead && !negate_a) || (q == kDead && !negate_b);
    const uint32_t pair[] = {p, q};
    return dead ? kDead : states.intern(pair);
  };
  state_of(a.state_count == 0 ? kDead : 0, b.state_count == 0 ? kDead : 0);
  if (workspace.exhausted()) return false;
  for (uint32_t state = 0; state < states.count(); ++state) {
    const uint32_t p = states[state][0];
    const uint32_t q = states[state][1];
    dfa.finals.push(accepts_in(a, negate_a, p) && accepts_in(b, negate_b, q) ? 1 : 0);
    for (uint32_t kind = 0; kind < classes.count(); ++kind) {
      const uint32_t to =
          state_of(p == kDead ? kDead : a.step(p, classes[kind][0]), q == kDead ? kDead : b.step(q, classes[kind][1]));
      if (to != kDead) dfa.edges.push({state, kind, to});
    }
    if (workspace.exhausted() || states.count() > max_states || (state + 1ull) * classes.count() > kMaxCells) {
      return false;
    }
  }
  return make_table(dfa, ranges.span(), classes.count(), mark, workspace, automaton);
}

bool minimize_automaton(const CharacterAutomaton& automaton, Workspace& workspace, CharacterAutomaton* minimized) {
  const size_t mark = workspace.size();
  Dfa dfa(workspace);
  for (uint32_t state = 0; state < automaton.state_count; ++state) {
    dfa.finals.push(automaton.accepts[state]);
    for (uint32_t kind = 0; kind < automaton.class_count; ++kind) {
      const uint32_t to = automaton.step(state, kind);
      if (to != kDead) dfa.edges.push({state, kind, to});
    }
  }
  if (workspace.exhausted()) return false;
  return make_table(dfa, automaton.ranges, automaton.class_count, mark, workspace, minimized);
}

bool make_table(Dfa& dfa, std::span<const CharacterAutomaton::Range> ranges, uint32_t class_count, size_t mark,
                Workspace& workspace, CharacterAutomaton* automaton) {
  GrowingArray<uint8_t> live(workspace);
  auto* numbers = workspace.take<uint32_t>(dfa.state_count());
  Minimizer minimizer(workspace);
  if (numbers == nullptr || !remove_dead_ends(&dfa, workspace, &live)) return false;
  const bool is_empty = dfa.state_count() == 0 || live[0] == 0;
  uint32_t count = is_empty ? 0 : minimizer.number_blocks(dfa, live.span(), numbers);
  if (workspace.exhausted()) return false;
  // Write the table after everything else in the workspace, and then move it down to `mark`.
  const size_t cells = size_t{count} * class_count;
  const size_t size = ranges.size_bytes() + cells * sizeof(uint32_t) + count;
  auto* block = workspace.take<uint8_t>(size);
  if (block == nullptr) return false;
  if (!ranges.empty()) std::memcpy(block, ranges.data(), ranges.size_bytes());
  auto* next = reinterpret_cast<uint32_t*>(block + ranges.size_bytes());
  uint8_t* accepts = block + ranges.size_bytes() + cells * sizeof(uint32_t);
  std::fill_n(next, cells, kDead);
  for (uint32_t state = 0; count > 0 && state < dfa.state_count(); ++state) {
    if (live[state] != 0) accepts[numbers[state]] = dfa.finals[state];
  }
  for (uint32_t e = 0; count > 0 && e < dfa.edges.size(); ++e) {
    const DfaEdge edge = dfa.edges[e];
    if (live[edge.from] == 0) continue;
    next[size_t{numbers[edge.from]} * class_count + edge.symbol] = numbers[edge.to];
  }
  workspace.release(mark);
  auto* copy = workspace.take<uint8_t>(size);
  std::memmove(copy, block, size);
  automaton->ranges = {reinterpret_cast<const CharacterAutomaton::Range*>(copy), ranges.size()};
  automaton->class_count = class_count;
  automaton->state_count = count;
  automaton->next = reinterpret_cast<const uint32_t*>(copy + ranges.size_bytes());
  automaton->accepts = copy + ranges.size_bytes() + cells * sizeof(uint32_t);
  return true;
}

}  // namespace sotto
