// A compiled grammar: the automata of all rules in one block of memory. The block refers to itself only by offsets and
// never changes, so it can be moved, stored, and shared between threads.
//
// A state has moves and calls. A move reads one byte or token. A call reads a string of another rule, so the matcher
// (matcher/) runs these automata with a stack. Every state also describes strings that are certainly allowed after it
// (lookahead.h), so most masks need no search.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

namespace sotto {

// The states of all rules are numbered together, and the first two belong to no rule.
inline constexpr uint32_t kAcceptState = 0;   // the text is complete
inline constexpr uint32_t kUnknownState = 1;  // stands for the rest of a stack that was truncated
inline constexpr uint32_t kNoLoop = UINT32_MAX;

// A state of a rule, with its lookahead.
struct GrammarState {
  static constexpr uint8_t kFinal = 1;  // the rule may end here
  static constexpr uint8_t kLast = 2;   // the rule must end here: the state has no moves and no calls
  // The rule ends after any character that has a class and can be read here, without an alternative.
  static constexpr uint8_t kSingle = 4;
  // Among the strings over all character classes, exactly those of at most any_count characters are allowed.
  static constexpr uint8_t kExact = 8;
  // Each character of endless_classes leads back to this state and to no other, by a move or as a string of the only
  // rule called.
  static constexpr uint8_t kRepeats = 16;
  static constexpr uint8_t kStart = 32;  // the start state of the root or of a rule that is called
  // In a set with this state, a token that a literal allows is read only as this literal, and not as its bytes.
  static constexpr uint8_t kPrefersLiterals = 64;

  uint32_t first_move;  // index of the first move; the moves end at the next state's first move
  uint32_t first_call;
  uint8_t flags;
  // Lower bounds of the strings that may follow (lookahead.h).
  uint8_t single_classes;   // the rule may end after each character of these classes
  uint8_t endless_classes;  // strings of any length are allowed, of characters of these classes
  // All strings of up to this number of characters of any class are allowed. 0 if all classes are endless.
  uint8_t any_count;
};

// A move reads one byte or token of a class. The moves of a state are sorted by class. Several of them may have the
// same class, because large rules stay nondeterministic.
struct GrammarMove {
  uint32_t symbol_class;
  uint32_t target;
};

// A call reads one string of a rule, and never the empty one. A call with a loop reads several: (a b){2,3} calls the
// rule "a b" in a loop with the minimum 2 and the maximum 3. A call of a member of an unordered set reads that member
// first, and then the missing ones in any order.
struct GrammarCall {
  uint32_t rule_start;  // start of the loop's rule; for a member of a set, of the member's rule at the beginning
  uint32_t loop;        // kNoLoop if the call does not belong to a loop
  uint32_t target;
};

inline constexpr uint32_t kNoSet = UINT32_MAX;

// A counted repetition of a rule, or a member of a set.
//
// The members of a set are consecutive loops, each of which occurs `minimum` (0 or 1) to `maximum` times. The maximum
// is 1, except that the last member may have UINT32_MAX and is then read only after all required members. The count in
// a stack frame of a member is the set of members read before: bit i stands for member i.
struct GrammarLoop {
  uint32_t rule_start;  // kAcceptState for a member that matches nothing
  uint32_t minimum;
  uint32_t maximum;  // UINT32_MAX if there is no maximum
  uint32_t set;      // index of the first member of the set, or kNoSet for a counted repetition
};

// A range of tokens that the grammar names by literals. Tokens outside all ranges have no class.
struct TokenRange {
  uint32_t first;
  uint32_t last;
  uint32_t symbol_class;
};

class CompiledGrammar {
 public:
  // The sizes of all arrays of a grammar.
  struct Counts {
    uint32_t states;
    uint32_t moves;
    uint32_t calls;
    uint32_t loops;
    uint32_t token_ranges;
    uint32_t byte_classes;
    uint32_t classes;  // number of classes: classes of bytes, followed by classes of tokens
  };

  uint64_t size() const { return size_; }
  const Counts& counts() const { return counts_; }
  uint32_t class_count() const { return counts_.classes; }
  uint32_t byte_class_count() const { return counts_.byte_classes; }
  uint8_t byte_class(uint8_t byte) const { return byte_classes_[byte]; }
  uint32_t root_start() const { return root_start_; }
  uint32_t rule_count() const { return rule_count_; }  // number of states with kStart

  const GrammarState& state(uint32_t state) const { return states()[state]; }
  uint8_t flags(uint32_t state) const { return states()[state].flags; }
  std::span<const GrammarMove> moves(uint32_t state) const {
    const GrammarState* s = states() + state;
    return {at<GrammarMove>(moves_) + s->first_move, s[1].first_move - s->first_move};
  }
  std::span<const GrammarCall> calls(uint32_t state) const {
    const GrammarState* s = states() + state;
    return {at<GrammarCall>(calls_) + s->first_call, s[1].first_call - s->first_call};
  }
  // Returns the moves that read a class, found by binary search.
  std::span<const GrammarMove> moves(uint32_t state, uint32_t symbol_class) const {
    const auto all = moves(state);
    const GrammarMove* begin = all.data();
    const GrammarMove* end = begin + all.size();
    // If a state has at most one move per class, the number of classes before and after this one bounds the index of
    // its move.
    const size_t rest = counts_.classes - symbol_class;
    const size_t min_index = all.size() > rest ? all.size() - rest : 0;
    const size_t max_index = all.size() < symbol_class ? all.size() : symbol_class;
    const GrammarMove* first = begin + min_index;
    if (min_index < max_index) first = lower_bound(first, max_index - min_index, symbol_class);
    const bool is_found = (first == begin || first[-1].symbol_class < symbol_class) &&
                          (first == end || first->symbol_class >= symbol_class);
    if (!is_found) first = lower_bound(begin, all.size(), symbol_class);
    const GrammarMove* last = first;
    while (last != end && last->symbol_class == symbol_class) ++last;
    return {first, last};
  }
  const GrammarLoop& loop(uint32_t index) const { return at<GrammarLoop>(loops_)[index]; }
  // Returns the members of a set.
  std::span<const GrammarLoop> members(uint32_t set) const {
    uint32_t end = set;
    while (end < counts_.loops && loop(end).set == set) ++end;
    return {at<GrammarLoop>(loops_) + set, end - set};
  }
  // Returns whether a set has more than 32 members, so that counts in frames need more than 32 bits.
  bool has_large_sets() const {
    for (uint32_t i = 0; i < counts_.loops; ++i) {
      if (loop(i).set != kNoSet && i - loop(i).set >= 32) return true;
    }
    return false;
  }
  // Returns the token ranges, sorted and disjoint.
  std::span<const TokenRange> token_ranges() const { return {at<TokenRange>(token_ranges_), counts_.token_ranges}; }
  // The class of a token that no literal names.
  static constexpr uint32_t kNoClass = UINT32_MAX;
  uint32_t token_class(uint32_t token) const { return token_ranges().empty() ? kNoClass : named_token_class(token); }

 private:
  friend class GrammarWriter;
  friend class GrammarVerifier;

  uint32_t named_token_class(uint32_t token) const {
    const auto ranges = token_ranges();
    const auto range = std::lower_bound(ranges.begin(), ranges.end(), token,
                                        [](const TokenRange& r, uint32_t t) { return r.last < t; });
    return range == ranges.end() || token < range->first ? kNoClass : range->symbol_class;
  }
  template <typename T>
  const T* at(uint32_t offset) const {
    return reinterpret_cast<const T*>(reinterpret_cast<const uint8_t*>(this) + offset);
  }
  // Searches without data-dependent branches: they would be mispredicted.
  static const GrammarMove* lower_bound(const GrammarMove* first, size_t count, uint32_t symbol_class) {
    while (count > 0) {
      const size_t half = (count + 1) / 2;
      first += half & (size_t{0} - size_t{first[half - 1].symbol_class < symbol_class});
      count -= half;
    }
    return first;
  }
  const GrammarState* states() const { return at<GrammarState>(states_); }

  uint64_t size_;
  Counts counts_;
  uint32_t root_start_;
  uint32_t states_;  // offsets of the arrays
  uint32_t moves_;
  uint32_t calls_;
  uint32_t loops_;
  uint32_t token_ranges_;
  uint8_t byte_classes_[256];
  uint32_t rule_count_;
};
static_assert(sizeof(CompiledGrammar) == 320);  // images have the same size on all platforms

}  // namespace sotto
