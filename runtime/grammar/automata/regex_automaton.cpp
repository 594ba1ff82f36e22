// The subset construction over classes of characters.
#include "runtime/grammar/automata/regex_automaton.h"

#include <algorithm>

#include "runtime/base/sort.h"
#include "runtime/grammar/automata/regex_nfa.h"
#include "runtime/grammar/automata/regex_sets.h"

namespace sotto {
namespace {

using EdgeKind = RegexNfa::EdgeKind;

constexpr uint32_t kMaxSetItems = 3000000;
constexpr uint64_t kMaxClassWork = 50000000;

// Characters that belong to the same sets are of one class.
class Classes {
 public:
  Classes(const RegexNfa& nfa, Workspace& workspace)
      : nfa_(nfa), workspace_(workspace), ranges_(workspace), points_(workspace) {}

  bool build() {
    points_.push(0);
    for (uint32_t set = 0; set < nfa_.set_count(); ++set) {
      for (const Interval interval : nfa_.set(set)) {
        points_.push(interval.first);
        if (interval.last < kMaxCodePoint) points_.push(interval.last + 1);
      }
    }
    if (workspace_.exhausted()) return false;
    sort_numbers(points_.begin(), points_.end());
    points_.truncate(static_cast<size_t>(std::unique(points_.begin(), points_.end()) - points_.begin()));
    if (uint64_t{points_.size()} * nfa_.set_count() > kMaxClassWork) return false;
    kinds_ = workspace_.take<uint32_t>(points_.size());
    if (kinds_ == nullptr) return false;
    std::fill(kinds_, kinds_ + points_.size(), 0);
    for (uint32_t set = 0; set < nfa_.set_count(); ++set) {
      if (!refine(nfa_.set(set))) return false;
    }
    join();
    if (workspace_.exhausted()) return false;
    return mark_members();
  }

  std::span<const CharacterAutomaton::Range> ranges() const { return ranges_.span(); }
  uint32_t count() const { return count_; }
  bool has(uint32_t set, uint32_t kind) const { return members_[set * count_ + kind] != 0; }

 private:
  // Splits every class into what lies in the set and what does not.
  bool refine(std::span<const Interval> set) {
    const size_t mark = workspace_.size();
    auto* inside = workspace_.take<uint32_t>(2 * size_t{count_});
    if (inside == nullptr) return false;
    std::fill(inside, inside + 2 * size_t{count_}, kNone);
    uint32_t fresh = 0;
    size_t at = 0;
    for (uint32_t i = 0; i < points_.size(); ++i) {
      while (at < set.size() && set[at].last < points_[i]) ++at;
      const bool is_inside = at < set.size() && set[at].first <= points_[i];
      uint32_t& kind = inside[2 * kinds_[i] + (is_inside ? 1 : 0)];
      if (kind == kNone) kind = fresh++;
      kinds_[i] = kind;
    }
    count_ = fresh;
    workspace_.release(mark);
    return true;
  }

  void join() {
    for (uint32_t i = 0; i < points_.size(); ++i) {
      if (i == 0 || kinds_[i] != kinds_[i - 1]) ranges_.push({points_[i], kinds_[i]});
    }
  }

  bool mark_members() {
    members_ = workspace_.take<uint8_t>(size_t{nfa_.set_count()} * count_);
    if (members_ == nullptr) return false;
    std::fill(members_, members_ + size_t{nfa_.set_count()} * count_, 0);
    for (uint32_t set = 0; set < nfa_.set_count(); ++set) {
      const auto intervals = nfa_.set(set);
      size_t at = 0;
      for (const auto range : ranges_.span()) {
        while (at < intervals.size() && intervals[at].last < range.first) ++at;
        if (at < intervals.size() && intervals[at].first <= range.first) {
          members_[set * count_ + range.kind] = 1;
        }
      }
    }
    return true;
  }

  const RegexNfa& nfa_;
  Workspace& workspace_;
  GrowingArray<CharacterAutomaton::Range> ranges_;
  GrowingArray<uint32_t> points_;
  uint32_t* kinds_ = nullptr;
  uint8_t* members_ = nullptr;  // (set, class)
  uint32_t count_ = 1;
};

class Determinizer {
 public:
  Determinizer(const RegexNfa& nfa, const Classes& classes, Workspace& workspace)
      : nfa_(nfa),
        classes_(classes),
        workspace_(workspace),
        sets_(workspace),
        next_(workspace),
        accepts_(workspace),
        set_(workspace),
        marks_(workspace) {}

  bool build(CharacterAutomaton* automaton) {
    if (!marks_.resize(nfa_.state_count())) return false;
    begin_set();
    add(nfa_.start());
    close(true, false);
    add_state(true);
    for (uint32_t state = 0; state < sets_.count(); ++state) {
      if (sets_.count() > kMaxAutomatonStates || item_count_ > kMaxSetItems) return false;
      for (uint32_t kind = 0; kind < classes_.count(); ++kind) next_.push(target(state, kind));
      if (workspace_.exhausted()) return false;
    }
    automaton->ranges = classes_.ranges();
    automaton->class_count = classes_.count();
    automaton->state_count = sets_.count();
    automaton->next = next_.begin();
    automaton->accepts = accepts_.begin();
    return true;
  }

 private:
  void begin_set() {
    set_.truncate(0);
    ++stamp_;
  }
  void add(uint32_t state) {
    if (marks_[state] == stamp_) return;
    marks_[state] = stamp_;
    set_.push(state);
  }

  // Follows edges without characters, from all of set_.
  void close(bool at_begin, bool at_end) {
    for (uint32_t i = 0; i < set_.size(); ++i) {
      for (uint32_t e = nfa_.first_edge(set_[i]); e != kNone; e = nfa_.edge(e).next) {
        const auto& edge = nfa_.edge(e);
        const bool passes = edge.kind == EdgeKind::kEpsilon || (edge.kind == EdgeKind::kBegin && at_begin) ||
                            (edge.kind == EdgeKind::kEnd && at_end);
        if (passes) add(edge.target);
      }
    }
  }

  bool matters(uint32_t state) const {
    if (state == nfa_.accept()) return true;
    for (uint32_t e = nfa_.first_edge(state); e != kNone; e = nfa_.edge(e).next) {
      if (nfa_.edge(e).kind == EdgeKind::kCharacters || nfa_.edge(e).kind == EdgeKind::kEnd) return true;
    }
    return false;
  }

  // The closed set_ as a state. The start is never shared: only there ^ holds.
  uint32_t add_state(bool is_start) {
    if (nfa_.accepts_more() && marks_[nfa_.accept()] == stamp_) {
      set_.truncate(0);
      set_.push(nfa_.accept());
    } else {
      const auto* kept = std::remove_if(set_.begin(), set_.end(), [&](uint32_t s) { return !matters(s); });
      set_.truncate(static_cast<size_t>(kept - set_.begin()));
      sort_numbers(set_.begin(), set_.end());
    }
    if (set_.empty() && !is_start) return CharacterAutomaton::kDead;
    const uint32_t before = sets_.count();
    const uint32_t state = sets_.intern(set_.span(), is_start);
    if (sets_.count() == before) return state;
    item_count_ += set_.size();
    ++stamp_;
    for (const uint32_t s : set_.span()) marks_[s] = stamp_;
    close(is_start, true);
    accepts_.push(marks_[nfa_.accept()] == stamp_ ? 1 : 0);
    return state;
  }

  uint32_t target(uint32_t state, uint32_t kind) {
    begin_set();
    for (const uint32_t s : sets_[state]) {
      for (uint32_t e = nfa_.first_edge(s); e != kNone; e = nfa_.edge(e).next) {
        const auto& edge = nfa_.edge(e);
        if (edge.kind == EdgeKind::kCharacters && classes_.has(edge.set, kind)) add(edge.target);
      }
    }
    close(false, false);
    return add_state(false);
  }

  const RegexNfa& nfa_;
  const Classes& classes_;
  Workspace& workspace_;
  InternedSets sets_;
  GrowingArray<uint32_t> next_;
  GrowingArray<uint8_t> accepts_;
  GrowingArray<uint32_t> set_;
  GrowingArray<uint32_t> marks_;
  uint32_t stamp_ = 0;
  uint64_t item_count_ = 0;
};

}  // namespace

bool automaton_of_regex(const RegexTree& tree, bool search, Workspace& workspace, CharacterAutomaton* automaton) {
  RegexNfa nfa(tree, workspace);
  if (!nfa.build(search)) return false;
  Classes classes(nfa, workspace);
  if (!classes.build()) return false;
  CharacterAutomaton raw;
  if (!Determinizer(nfa, classes, workspace).build(&raw)) return false;
  return minimize_automaton(raw, workspace, automaton);
}

}  // namespace sotto
