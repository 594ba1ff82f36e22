// The rules of a grammar as nondeterministic automata over bytes, tokens and calls of other rules.
//
// Each rule becomes an automaton with one start and one exit (Thompson's construction; character classes become UTF-8
// byte sequences). The call of a rule is one edge, so recursion needs no special treatment here. The matcher handles it
// with a stack. A counted repetition is written out if that takes few states. Otherwise it becomes a loop: a call of
// its body that the matcher counts.
//
// The analysis ensures that every path leads to an exit. So as long as a matcher's set of states is not empty, the text
// read so far is a prefix of some text. A call of a rule that can be empty gets an epsilon edge in parallel, and edges
// that cannot be completed are removed.
#pragma once

#include <cstdint>

#include "runtime/grammar/automata/nfa.h"
#include "runtime/grammar/compiler/grammar_builder.h"

namespace sotto {

// A loop that counts calls of `rule`.
struct Loop {
  uint32_t rule;
  uint32_t minimum;
  uint32_t maximum;  // kUnbounded for no limit
};

struct RuleAutomaton {
  uint32_t start;
  uint32_t exit;
};

struct RuleNfa : Nfa {
  explicit RuleNfa(Workspace& workspace) : Nfa(workspace), loops(workspace), rules(workspace) {}

  GrowingArray<Loop> loops;
  GrowingArray<RuleAutomaton> rules;
};

// Adds an automaton for every rule of the builder. A repetition that takes more than `unrolled_states` becomes a loop,
// whose body is a rule added to the builder.
void build_nfa(GrammarBuilder& builder, uint32_t unrolled_states, RuleNfa& nfa);

struct NfaAnalysis {
  explicit NfaAnalysis(Workspace& workspace) : productive(workspace), reachable(workspace), live(workspace) {}

  GrowingArray<uint8_t> productive;  // for each rule, whether some text completes it
  GrowingArray<uint8_t> reachable;   // for each rule, whether it may occur in a text of the root
  GrowingArray<uint8_t> live;        // for each state, whether the exit can be reached from it
};

// Analyzes the automata and removes edges that cannot be completed. Loops whose bodies can be empty get the minimum 0.
// After the analysis, the edge of a call or a loop stands only for texts that are not empty.
void analyze_nfa(RuleNfa& nfa, uint32_t root, Workspace& workspace, NfaAnalysis* analysis);

// The alphabet of rule automata: classes of bytes, classes of tokens, calls, and loops, numbered in this order.
class Symbols {
 public:
  explicit Symbols(Workspace& workspace) : token_cuts_(workspace) {}

  // Splits bytes and tokens so that every edge of the automata covers whole classes.
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

  // The symbols of an edge are one interval, except for token sets, which have several.
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
