// Products of automata, their minimization, and automata of lengths and lists of words.
#include <algorithm>

#include "runtime/base/sort.h"
#include "runtime/base/utf8.h"
#include "runtime/grammar/automata/regex_automaton.h"
#include "runtime/grammar/automata/regex_sets.h"

namespace sotto {
namespace {

constexpr uint32_t kDead = CharacterAutomaton::kDead;
constexpr uint32_t kMaxRefinedStates = 3000;
constexpr uint32_t kMaxCells = 8000000;  // of a transition table

}  // namespace

uint32_t CharacterAutomaton::class_of(uint32_t code_point) const {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), code_point,
                                      [](uint32_t c, const Range& r) { return c < r.first; });
  return (after - 1)->kind;
}

bool CharacterAutomaton::matches(std::string_view text) const {
  uint32_t state = state_count == 0 ? kDead : 0;
  for (size_t at = 0; at < text.size() && state != kDead;) {
    const Utf8Character character = decode_utf8(text.data() + at, text.size() - at);
    state = step(state, class_of(character.code_point));
    at += character.size;
  }
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

bool automaton_of_words(std::span<const std::string_view> words, Workspace& workspace, CharacterAutomaton* automaton) {
  // Class 0 is every character that occurs in no word.
  GrowingArray<uint32_t> letters(workspace);
  const auto each = [&](std::string_view word, auto&& visit) {
    for (size_t at = 0; at < word.size();) {
      const Utf8Character character = decode_utf8(word.data() + at, word.size() - at);
      visit(character.code_point);
      at += character.size;
    }
  };
  for (const auto word : words) each(word, [&](uint32_t c) { letters.push(c); });
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
    each(word, [&](uint32_t c) {
      if (!fits) return;
      const auto* letter = std::lower_bound(letters.begin(), letters.end(), c);
      const size_t cell = size_t{state} * class_count + static_cast<size_t>(letter - letters.begin()) + 1;
      if (next[cell] == kDead) {
        const uint32_t fresh = accepts.push(0);
        if (!next.resize(next.size() + class_count, 0xFF) || fresh == 0 || next.size() > kMaxCells) {
          fits = false;
          return;
        }
        next[cell] = fresh;
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

bool intersect_automata(const CharacterAutomaton& a, bool negate_a, const CharacterAutomaton& b, bool negate_b,
                        Workspace& workspace, CharacterAutomaton* automaton) {
  // A class for every pair of classes that share a character.
  InternedSets pairs(workspace);
  GrowingArray<CharacterAutomaton::Range> ranges(workspace);
  for (size_t i = 0, j = 0; i < a.ranges.size();) {
    const uint32_t first = std::max(a.ranges[i].first, b.ranges[j].first);
    const uint32_t pair[] = {a.ranges[i].kind, b.ranges[j].kind};
    const uint32_t kind = pairs.intern(pair);
    if (ranges.empty() || ranges.back().kind != kind) ranges.push({first, kind});
    if (workspace.exhausted()) return false;
    const uint32_t end_a = i + 1 < a.ranges.size() ? a.ranges[i + 1].first : UINT32_MAX;
    const uint32_t end_b = j + 1 < b.ranges.size() ? b.ranges[j + 1].first : UINT32_MAX;
    if (end_a == end_b && end_a == UINT32_MAX) break;
    if (end_a <= end_b) ++i;
    if (end_b <= end_a) ++j;
  }
  const uint32_t class_count = pairs.count();
  InternedSets states(workspace);
  GrowingArray<uint32_t> next(workspace);
  GrowingArray<uint8_t> accepts(workspace);
  const auto state_of = [&](uint32_t p, uint32_t q) {
    const bool dead = (p == kDead && !negate_a) || (q == kDead && !negate_b);
    const uint32_t pair[] = {p, q};
    return dead ? kDead : states.intern(pair);
  };
  const auto accepts_in = [](const CharacterAutomaton& side, bool negate, uint32_t state) {
    return (state != kDead && side.accepts[state] != 0) != negate;
  };
  state_of(a.state_count == 0 ? kDead : 0, b.state_count == 0 ? kDead : 0);
  if (workspace.exhausted()) return false;
  for (uint32_t state = 0; state < states.count(); ++state) {
    const uint32_t p = states[state][0];
    const uint32_t q = states[state][1];
    accepts.push(accepts_in(a, negate_a, p) && accepts_in(b, negate_b, q) ? 1 : 0);
    for (uint32_t kind = 0; kind < class_count; ++kind) {
      next.push(
          state_of(p == kDead ? kDead : a.step(p, pairs[kind][0]), q == kDead ? kDead : b.step(q, pairs[kind][1])));
    }
    if (workspace.exhausted() || states.count() > kMaxAutomatonStates || next.size() > kMaxCells) return false;
  }
  const CharacterAutomaton product{ranges.span(), class_count, states.count(), next.begin(), accepts.begin()};
  return minimize_automaton(product, workspace, automaton);
}

namespace {

// Block 0 holds the states from which nothing is accepted.
bool mark_live(const CharacterAutomaton& automaton, Workspace& workspace, uint32_t* blocks) {
  const uint32_t count = automaton.state_count;
  const size_t cells = size_t{count} * automaton.class_count;
  auto* starts = workspace.take<uint32_t>(size_t{count} + 2);
  auto* sources = workspace.take<uint32_t>(cells);
  auto* stack = workspace.take<uint32_t>(count);
  if (starts == nullptr || sources == nullptr || stack == nullptr) return false;
  std::fill(starts, starts + count + 2, 0);
  for (size_t i = 0; i < cells; ++i) {
    if (automaton.next[i] != kDead) ++starts[automaton.next[i] + 2];
  }
  for (uint32_t i = 2; i < count + 2; ++i) starts[i] += starts[i - 1];
  for (size_t i = 0; i < cells; ++i) {
    if (automaton.next[i] == kDead) continue;
    sources[starts[automaton.next[i] + 1]++] = static_cast<uint32_t>(i / automaton.class_count);
  }
  uint32_t depth = 0;
  for (uint32_t state = 0; state < count; ++state) {
    blocks[state] = automaton.accepts[state] != 0 ? 1 : 0;
    if (blocks[state] == 1) stack[depth++] = state;
  }
  while (depth > 0) {
    const uint32_t state = stack[--depth];
    for (uint32_t i = starts[state]; i < starts[state + 1]; ++i) {
      if (blocks[sources[i]] != 0) continue;
      blocks[sources[i]] = 1;
      stack[depth++] = sources[i];
    }
  }
  return true;
}

// Moore's refinement: splits blocks until alike states are together. Returns their number.
uint32_t refine(const CharacterAutomaton& automaton, Workspace& workspace, uint32_t* blocks) {
  const uint32_t count = automaton.state_count;
  const uint32_t width = automaton.class_count + 2;
  auto* row = workspace.take<uint32_t>(width);
  auto* fresh = workspace.take<uint32_t>(count);
  if (row == nullptr || fresh == nullptr) return 0;
  uint32_t known = 0;
  for (;;) {
    const size_t mark = workspace.size();
    InternedSets rows(workspace);
    for (uint32_t state = 0; state < count; ++state) {
      fresh[state] = 0;
      if (blocks[state] == 0) continue;
      row[0] = blocks[state];
      row[1] = automaton.accepts[state];
      for (uint32_t kind = 0; kind < automaton.class_count; ++kind) {
        const uint32_t target = automaton.step(state, kind);
        row[kind + 2] = target == kDead ? 0 : blocks[target];
      }
      fresh[state] = rows.intern({row, width}) + 1;
    }
    if (workspace.exhausted()) return 0;
    const uint32_t found = rows.count() + 1;
    std::copy(fresh, fresh + count, blocks);
    workspace.release(mark);
    if (found == known) return found;
    known = found;
  }
}

}  // namespace

bool minimize_automaton(const CharacterAutomaton& automaton, Workspace& workspace, CharacterAutomaton* minimized) {
  const uint32_t count = automaton.state_count;
  auto* blocks = workspace.take<uint32_t>(size_t{count} + 1);
  if (blocks == nullptr || !mark_live(automaton, workspace, blocks)) return false;
  uint32_t block_count = 0;
  if (count <= kMaxRefinedStates) {
    block_count = refine(automaton, workspace, blocks);
    if (block_count == 0) return false;
  } else {
    for (uint32_t state = 0; state < count; ++state) blocks[state] = blocks[state] == 0 ? 0 : ++block_count;
    ++block_count;
  }
  *minimized = {automaton.ranges, automaton.class_count, 0, nullptr, nullptr};
  if (count == 0 || blocks[0] == 0) return true;
  // The start's block comes first, and dead ones are left out.
  const uint32_t start = blocks[0];
  const auto id = [&](uint32_t block) { return block == start ? 0 : block < start ? block : block - 1; };
  const size_t cells = size_t{block_count - 1} * automaton.class_count;
  auto* next = workspace.take<uint32_t>(cells);
  auto* accepts = workspace.take<uint8_t>(block_count);
  if (next == nullptr || accepts == nullptr) return false;
  for (uint32_t state = 0; state < count; ++state) {
    if (blocks[state] == 0) continue;
    const uint32_t to = id(blocks[state]);
    accepts[to] = automaton.accepts[state];
    for (uint32_t kind = 0; kind < automaton.class_count; ++kind) {
      const uint32_t target = automaton.step(state, kind);
      const bool dead = target == kDead || blocks[target] == 0;
      next[size_t{to} * automaton.class_count + kind] = dead ? kDead : id(blocks[target]);
    }
  }
  minimized->state_count = block_count - 1;
  minimized->next = next;
  minimized->accepts = accepts;
  return true;
}

}  // namespace sotto
