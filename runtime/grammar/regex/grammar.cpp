#include "runtime/grammar/regex/grammar.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/utf8.h"

namespace sotto {
namespace {

constexpr char kShortEscapes[] = "\"\\bfnrt";
constexpr char kShortEscaped[] = "\"\\\b\f\n\r\t";
bool contains(std::span<const Interval> intervals, uint32_t code_point) {
  return std::any_of(intervals.begin(), intervals.end(),
                     [&](Interval i) { return i.first <= code_point && code_point <= i.last; });
}

// Returns whether the string may end in this state and nothing may follow.
bool ends(const CharacterAutomaton& automaton, uint32_t state) {
  for (uint32_t kind = 0; kind < automaton.class_count; ++kind) {
    const uint32_t target = automaton.step(state, kind);
    if (target != CharacterAutomaton::kDead && target != state) return false;
  }
  return automaton.accepts[state] != 0;
}

// Returns the only state that characters lead to, or kNoIndex if there are several or the string may end here.
uint32_t only_target(const CharacterAutomaton& automaton, uint32_t state) {
  uint32_t only = kNoIndex;
  for (uint32_t kind = 0; kind < automaton.class_count; ++kind) {
    const uint32_t target = automaton.step(state, kind);
    if (target == CharacterAutomaton::kDead) continue;
    if (only != kNoIndex && target != only) return kNoIndex;
    only = target;
  }
  return automaton.accepts[state] == 0 ? only : kNoIndex;
}

// Returns whether at most one character and then a repetition follow.
bool little_follows(const CharacterAutomaton& automaton, uint32_t state) {
  const uint32_t target = only_target(automaton, state);
  return ends(automaton, target == kNoIndex ? state : target);
}

}  // namespace

RegexGrammar::RegexGrammar(GrammarBuilder& builder, CharacterForm form)
    : builder_(builder),
      form_(form),
      shared_(builder.workspace()),
      shared_rules_(builder.workspace()),
      arcs_(builder.workspace()),
      intervals_(builder.workspace()) {}

uint32_t RegexGrammar::never() {
  if (never_ == kNoIndex) {
    never_ = builder_.anonymous_rule(kNoIndex);
    builder_.define(never_, builder_.reference(never_), 0);
  }
  return builder_.reference(never_);
}

uint32_t RegexGrammar::anything() { return builder_.repeat(characters(kAllCodePoints), 0, kUnbounded); }

uint32_t RegexGrammar::characters(std::span<const Interval> intervals) {
  if (intervals.empty()) return never();
  const bool plain = form_ == CharacterForm::kRaw ||
                     (intervals.front().first > 0x1F && !contains(intervals, '"') && !contains(intervals, '\\'));
  const auto direct = [&] {
    if (!plain) return json_characters(intervals);
    const uint32_t begin = builder_.begin_intervals();
    for (const Interval interval : intervals) builder_.add_interval(interval);
    const uint32_t characters = builder_.characters(begin, false);
    return characters == kNoIndex ? never() : characters;
  };
  if (plain && intervals.size() <= 4) return direct();
  const std::span<const uint32_t> key(&intervals.front().first, 2 * intervals.size());
  const uint32_t before = shared_.count();
  const uint32_t id = shared_.intern(key);
  if (shared_.count() != before) shared_rules_.push(builder_.anonymous_rule(direct()));
  if (id >= shared_rules_.size()) return builder_.empty();  // the workspace is exhausted
  return builder_.reference(shared_rules_[id]);
}

// Builds the characters as a JSON string contains them: unescaped or, where JSON requires it, as a short escape such as
// \n or as \u00XX.
uint32_t RegexGrammar::json_characters(std::span<const Interval> intervals) {
  GrammarBuilder::List forms;
  uint32_t begin = builder_.begin_intervals();
  for (const Interval interval : intervals) {
    uint32_t first = std::max(interval.first, 0x20u);
    for (const uint32_t escaped : {0x22u, 0x5Cu}) {
      if (first > escaped || interval.last < escaped) continue;
      if (first < escaped) builder_.add_interval({first, escaped - 1});
      first = escaped + 1;
    }
    if (first <= interval.last) builder_.add_interval({first, interval.last});
  }
  const uint32_t raw = builder_.characters(begin, false);
  if (raw != kNoIndex) builder_.append(forms, raw);
  begin = builder_.begin_intervals();
  for (uint32_t i = 0; i < 7; ++i) {
    const auto letter = static_cast<uint8_t>(kShortEscapes[i]);
    if (contains(intervals, static_cast<uint8_t>(kShortEscaped[i]))) builder_.add_interval({letter, letter});
  }
  const uint32_t letters = builder_.characters(begin, false);
  if (letters != kNoIndex) {
    GrammarBuilder::List escape;
    builder_.append(escape, builder_.text(std::string_view("\\")));
    builder_.append(escape, letters);
    builder_.append(forms, builder_.sequence(escape));
  }
  for (uint32_t high = 0; high < 2; ++high) {
    begin = builder_.begin_intervals();
    for (uint32_t low = 0; low < 16; ++low) {
      const uint32_t c = high << 4 | low;
      if (!contains(intervals, c) || std::memchr(kShortEscaped, static_cast<int>(c), 7) != nullptr) continue;
      const uint32_t digit = low < 10 ? '0' + low : 'a' + low - 10;
      builder_.add_interval({digit, digit});
      if (low >= 10) builder_.add_interval({digit - 32, digit - 32});
    }
    const uint32_t digits = builder_.characters(begin, false);
    if (digits == kNoIndex) continue;
    GrammarBuilder::List escape;
    builder_.append(escape, builder_.text(std::string_view(high == 0 ? "\\u000" : "\\u001")));
    builder_.append(escape, digits);
    builder_.append(forms, builder_.sequence(escape));
  }
  return forms.first == kNoIndex ? never() : builder_.choice(forms);
}

uint32_t RegexGrammar::text(std::string_view text) {
  if (form_ == CharacterForm::kRaw) return builder_.text(text);
  GrammarBuilder::List parts;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<uint8_t>(text[i]);
    if (c >= 0x20 && c != '"' && c != '\\') continue;
    if (i > begin) builder_.append(parts, builder_.text(std::string_view(text.data() + begin, i - begin)));
    begin = i + 1;
    const Interval one[] = {{c, c}};
    builder_.append(parts, json_characters(one));
  }
  if (begin < text.size()) {
    const std::string_view rest(text.data() + begin, text.size() - begin);
    builder_.append(parts, builder_.text(rest));
  }
  return builder_.sequence(parts);
}

uint32_t RegexGrammar::regex(const RegexTree& tree, bool search) {
  if (tree.has_assertions) return kNoIndex;
  uint32_t anchors = 0;
  for (uint32_t i = 0; i < tree.nodes.size(); ++i) {
    if (tree[i].kind == RegexKind::kBegin || tree[i].kind == RegexKind::kEnd) ++anchors;
  }
  const bool choice = tree[tree.root].kind == RegexKind::kChoice;
  const uint32_t first = choice ? tree[tree.root].first : tree.root;
  uint32_t at_borders = 0;
  for (uint32_t node = first; node != kNoIndex; node = choice ? tree[node].next : kNoIndex) {
    const bool sequence = tree[node].kind == RegexKind::kSequence;
    if (tree[sequence ? tree[node].first : node].kind == RegexKind::kBegin) ++at_borders;
    uint32_t last = sequence ? tree[node].first : node;
    while (sequence && tree[last].next != kNoIndex) last = tree[last].next;
    if (tree[last].kind == RegexKind::kEnd) ++at_borders;
  }
  if (at_borders != anchors) return kNoIndex;
  GrammarBuilder::List alternatives;
  for (uint32_t node = first; node != kNoIndex; node = choice ? tree[node].next : kNoIndex) {
    builder_.append(alternatives, alternative(tree, node, search));
  }
  return builder_.choice(alternatives);
}

// Builds an alternative. With `search`, arbitrary text is allowed on each side without an anchor.
uint32_t RegexGrammar::alternative(const RegexTree& tree, uint32_t node, bool search) {
  const bool sequence = tree[node].kind == RegexKind::kSequence;
  const uint32_t first = sequence ? tree[node].first : node;
  const bool begins = tree[first].kind == RegexKind::kBegin;
  uint32_t last = first;
  while (sequence && tree[last].next != kNoIndex) last = tree[last].next;
  const bool ends = tree[last].kind == RegexKind::kEnd;
  GrammarBuilder::List parts;
  if (search && !begins) builder_.append(parts, anything());
  for (uint32_t child = first; child != kNoIndex; child = sequence ? tree[child].next : kNoIndex) {
    if ((begins && child == first) || (ends && child == last)) continue;
    builder_.append(parts, body(tree, child));
  }
  if (search && !ends) builder_.append(parts, anything());
  return builder_.sequence(parts);
}

// Builds the expression of `root`, a subtree without anchors.
uint32_t RegexGrammar::body(const RegexTree& tree, uint32_t root) {
  struct Frame {
    uint32_t node;
    uint32_t child;
    GrammarBuilder::List list;
  };
  GrowingArray<Frame> frames(builder_.workspace());
  frames.push({root, tree[root].kind >= RegexKind::kSequence ? tree[root].first : kNoIndex, {}});
  uint32_t done = kNoIndex;
  while (!frames.empty()) {
    if (builder_.workspace().exhausted()) return builder_.empty();
    Frame& frame = frames.back();
    const RegexNode& node = tree[frame.node];
    if (done != kNoIndex) {
      builder_.append(frame.list, done);
      frame.child = node.kind == RegexKind::kRepeat ? kNoIndex : tree[frame.child].next;
      done = kNoIndex;
    }
    if (frame.child != kNoIndex) {
      const uint32_t child = frame.child;
      frames.push({child, tree[child].kind >= RegexKind::kSequence ? tree[child].first : kNoIndex, {}});
      continue;
    }
    switch (node.kind) {
      case RegexKind::kCharacters:
        done = characters(tree.characters(node));
        break;
      case RegexKind::kSequence:
        done = builder_.sequence(frame.list);
        break;
      case RegexKind::kChoice:
        done = builder_.choice(frame.list);
        break;
      case RegexKind::kRepeat:
        done = builder_.repeat(frame.list.first, node.minimum, node.maximum);
        break;
      default:
        done = builder_.empty();
        break;
    }
    frames.pop();
  }
  return done == kNoIndex ? builder_.empty() : done;
}

uint32_t RegexGrammar::automaton(const CharacterAutomaton& automaton) {
  const uint32_t count = automaton.state_count;
  if (count == 0) return never();
  Workspace& workspace = builder_.workspace();
  // A state with a single predecessor is written inside the predecessor, and a short state inside each of its
  // predecessors. All other states become rules.
  auto* rules = workspace.take<uint32_t>(count);
  auto* bodies = workspace.take<uint32_t>(count);
  auto* sources = workspace.take<uint32_t>(count);
  auto* order = workspace.take<uint32_t>(count);
  auto* is_short = workspace.take<bool>(count);
  if (rules == nullptr || bodies == nullptr || sources == nullptr || order == nullptr || is_short == nullptr) {
    return builder_.empty();
  }
  std::fill(rules, rules + count, kNoIndex);
  std::fill(bodies, bodies + count, kNoIndex);
  std::fill(sources, sources + count, kNoIndex);
  sources[0] = count;  // stands for the place before the start of the automaton
  const auto each_target = [&](uint32_t state, auto&& visit) {
    for (uint32_t kind = 0; kind < automaton.class_count; ++kind) {
      const uint32_t target = automaton.step(state, kind);
      if (target == CharacterAutomaton::kDead || target == state || is_short[target]) continue;
      visit(target);
    }
  };
  for (uint32_t state = 0; state < count; ++state) {
    is_short[state] = little_follows(automaton, state);
  }
  for (uint32_t state = 0; state < count; ++state) {
    each_target(state, [&](uint32_t target) {
      if (sources[target] == kNoIndex) sources[target] = state;
      if (sources[target] != state && rules[target] == kNoIndex) rules[target] = builder_.anonymous_rule(kNoIndex);
    });
  }
  // In `order`, every state comes before the states that are written inside it.
  uint32_t ordered = 0;
  for (uint32_t root = 0; root < count; ++root) {
    if (root != 0 && rules[root] == kNoIndex) continue;
    uint32_t next = ordered;
    order[ordered++] = root;
    for (; next < ordered; ++next) {
      each_target(order[next], [&](uint32_t target) {
        if (rules[target] != kNoIndex || bodies[target] == 0) return;
        bodies[target] = 0;  // marks the state as visited
        order[ordered++] = target;
      });
    }
  }
  while (ordered > 0) {
    if (workspace.exhausted()) return builder_.empty();
    const uint32_t at = order[--ordered];
    bodies[at] = state(automaton, at, rules, bodies);
    if (rules[at] != kNoIndex) builder_.define(rules[at], bodies[at], 0);
  }
  return rules[0] == kNoIndex ? bodies[0] : builder_.reference(rules[0]);
}

// Appends characters, which must be greater than all characters so far.
void RegexGrammar::join(Interval characters) {
  if (!intervals_.empty() && intervals_.back().last + 1 == characters.first) {
    intervals_.back().last = characters.last;
  } else {
    intervals_.push(characters);
  }
}

uint32_t RegexGrammar::state(const CharacterAutomaton& automaton, uint32_t state, const uint32_t* rules,
                             const uint32_t* bodies) {
  arcs_.truncate(0);
  for (size_t i = 0; i < automaton.ranges.size(); ++i) {
    const uint32_t target = automaton.step(state, automaton.ranges[i].kind);
    if (target == CharacterAutomaton::kDead) continue;
    arcs_.push({target, automaton.characters(i)});
  }
  std::sort(arcs_.begin(), arcs_.end(), [](const Arc& a, const Arc& b) {
    return a.target != b.target ? a.target < b.target : a.characters.first < b.characters.first;
  });
  GrammarBuilder::List whole;
  GrammarBuilder::List alternatives;
  if (automaton.accepts[state] != 0) builder_.append(alternatives, builder_.empty());
  for (uint32_t i = 0; i < arcs_.size();) {
    const uint32_t target = arcs_[i].target;
    intervals_.truncate(0);
    for (; i < arcs_.size() && arcs_[i].target == target; ++i) {
      join(arcs_[i].characters);
    }
    const uint32_t characters = this->characters(intervals_.span());
    if (target == state) {
      builder_.append(whole, builder_.repeat(characters, 0, kUnbounded));
      continue;
    }
    GrammarBuilder::List step;
    builder_.append(step, characters);
    builder_.append(step, rules[target] != kNoIndex    ? builder_.reference(rules[target])
                          : bodies[target] != kNoIndex ? bodies[target]
                                                       : rest(automaton, target));
    builder_.append(alternatives, builder_.sequence(step));
  }
  if (alternatives.first != kNoIndex) builder_.append(whole, builder_.choice(alternatives));
  return builder_.sequence(whole);
}

// Builds the remaining text of a state with little_follows().
uint32_t RegexGrammar::rest(const CharacterAutomaton& automaton, uint32_t state) {
  GrammarBuilder::List parts;
  uint32_t last = state;
  if (automaton.accepts[state] == 0) {
    last = only_target(automaton, state);
    const uint32_t characters = characters_between(automaton, state, last);
    if (characters == kNoIndex) return builder_.empty();  // the workspace is exhausted
    builder_.append(parts, characters);
  }
  const uint32_t repeated = characters_between(automaton, last, last);
  if (repeated != kNoIndex) builder_.append(parts, builder_.repeat(repeated, 0, kUnbounded));
  return builder_.sequence(parts);
}

// Returns the characters that lead from one state to another, or kNoIndex if there are none.
uint32_t RegexGrammar::characters_between(const CharacterAutomaton& automaton, uint32_t from, uint32_t to) {
  intervals_.truncate(0);
  for (size_t i = 0; i < automaton.ranges.size(); ++i) {
    if (automaton.step(from, automaton.ranges[i].kind) == to) join(automaton.characters(i));
  }
  return intervals_.empty() ? kNoIndex : characters(intervals_.span());
}

Status build_regex(std::span<const char> pattern, GrammarBuilder& builder, uint32_t* expression, Error* error) {
  RegexTree tree(builder.workspace());
  SOTTO_TRY(parse_regex(pattern, tree, builder.workspace(), error));
  RegexGrammar grammar(builder, CharacterForm::kRaw);
  *expression = grammar.regex(tree, false);
  if (*expression != kNoIndex) return Status::kOk;
  CharacterAutomaton automaton;
  if (!automaton_of_regex(tree, false, builder.workspace(), &automaton)) {
    if (builder.workspace().exhausted()) return fail_too_large(error);
    return fail(error, Status::kGrammarUnsupported,
                "the regular expression is too large for anchors, word boundaries or look-ahead");
  }
  *expression = grammar.automaton(automaton);
  return Status::kOk;
}

Status build_regex_grammar(std::span<const char> pattern, std::span<const char> name, GrammarBuilder& builder,
                           Error* error) {
  uint32_t expression = kNoIndex;
  SOTTO_TRY(build_regex(pattern, builder, &expression, error));
  builder.define(builder.rule(name, 0), expression, 0);
  return Status::kOk;
}

}  // namespace sotto
