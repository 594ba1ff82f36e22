// The rules of a grammar as nondeterministic automata over bytes, tokens and calls of other rules.
//
// Each rule becomes an automaton with one start and one exit (Thompson's construction; characters become UTF-8 byte
// sequences). A call of a rule is a single edge, so recursion needs no special treatment here; the matcher handles it
// with a stack. A counted repetition is unrolled if that needs only a few states. Otherwise it becomes a loop: a call
// of its body that the matcher counts. The members of a set come in any order. They are loops as well, and the matcher
// remembers which of them it has read.
//
// The analysis removes edges that cannot be completed, so every path leads to an exit. As long as a matcher has any
// state left, the text read so far is therefore a prefix of some string of the language. The analysis also adds an
// epsilon edge in parallel to each call of a rule that can be empty.
//
// Example: item ::= "a"* can be empty. In list ::= "[" item "]", the call of item reads at least one "a", and the edge
// next to it reads nothing.
#pragma once

#include <cstdint>

#include "runtime/grammar/automata/nfa.h"
#include "runtime/grammar/compiler/grammar_builder.h"

namespace sotto {

// A loop that counts the calls of `rule`, or a member of a set.
struct Loop {
  uint32_t rule;
  uint32_t minimum;
  uint32_t maximum;  // kUnbounded if there is no maximum
  uint32_t first;    // rule of the first call
  uint32_t set;      // first of the consecutive loops that are the members of the set, or kNoIndex
};

// The first and the last state of a rule's automaton.
struct RuleAutomaton {
  uint32_t start;
  uint32_t exit;
};

// The automata of all rules.
struct RuleNfa : Nfa {
  explicit RuleNfa(Workspace& workspace) : Nfa(workspace), loops(workspace), rules(workspace) {}

  GrowingArray<Loop> loops;
  GrowingArray<RuleAutomaton> rules;
};

// Adds an automaton for every rule of the builder. A repetition that needs more than `unrolled_states` states becomes a
// loop; its body is added to the builder as a rule.
void build_nfa(GrammarBuilder& builder, uint32_t unrolled_states, RuleNfa& nfa);

// The results of the analysis of rules and states.
struct NfaAnalysis {
  explicit NfaAnalysis(Workspace& workspace) : productive(workspace), reachable(workspace), live(workspace) {}

  GrowingArray<uint8_t> productive;  // for each rule, whether it matches any string
  GrowingArray<uint8_t> reachable;   // for each rule, whether some string of the root uses it
  GrowingArray<uint8_t> live;        // for each state, whether the exit is reachable
};

// Analyzes the automata and removes edges that cannot be completed. A loop with a body that can be empty gets the
// minimum 0. After the analysis, the edge of a call or a loop stands only for non-empty strings.
void analyze_nfa(RuleNfa& nfa, uint32_t root, Workspace& workspace, NfaAnalysis* analysis);

// The alphabet of rule automata: classes of bytes, classes of tokens, calls, and loops, numbered in this order.
class Symbols {
 public:
  explicit Symbols(Workspace& workspace) : token_cuts_(workspace) {}

  // Divides bytes and tokens into classes such that every edge of the automata covers whole classes.
  void init(const GrammarBuilder& grammar, const RuleNfa& nfa);

  uint32_t byte_class_count() const { return byte_class_count_; }
  uint32_t token_class_count() const { return token_cuts_.size() == 0 ? 0 : token_cuts_.size() - 1; }
  uint32_t class_count() const { return byte_class_count_ + token_class_count(); }
  uint8_t byte_class(uint32_t byte) const { return byte_classes_[byte]; }
  // Returns the tokens of a token class. Token classes are numbered from 0 here.
  Interval tokens(uint32_t token_class) const { return {token_cuts_[token_class], token_cuts_[token_class + 1] - 1}; }

  bool is_call(uint32_t symbol) const { return symbol >= class_count(); }
  // Finds the rule of a call, and its loop or kNoIndex.
  void call_of(const RuleNfa& nfa, uint32_t symbol, uint32_t* rule, uint32_t* loop) const;

  // Calls visit(interval) for the symbols of an edge: one interval, or several for a set of tokens.
  template <typename Visit>
  void each_symbols(const NfaEdge& edge, Visit visit) const {
    switch (edge.label) {
      case NfaLabel::kByte:
        visit(Interval{byte_classes_[edge.lo], byte_classes_[edge.hi]});
        break;
      case NfaLabel::kTokens:
        for (const Interval& tokens : grammar_->intervals(grammar_->expression(edge.value))) visit(of_tokens(tokens));
        break;
      case NfaLabel::kCall:
        visit(Interval{class_count() + edge.value, class_count() + edge.value});
        break;
      case NfaLabel::kLoop:
        visit(Interval{class_count() + rule_count_ + edge.value, class_count() + rule_count_ + edge.value});
        break;
      default:
        break;
    }
  }

 private:
  uint32_t cut_index(uint32_t token) const;
  Interval of_tokens(Interval tokens) const;

  const GrammarBuilder* grammar_ = nullptr;
  GrowingArray<uint32_t> token_cuts_;
  uint8_t byte_classes_[256] = {};
  uint32_t byte_class_count_ = 1;
  uint32_t rule_count_ = 0;
};

}  // namespace sotto
