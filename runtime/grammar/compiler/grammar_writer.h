// Collects the automata of all rules, joins symbol classes that no state distinguishes, and writes the compiled
// grammar.
#pragma once

#include <cstdint>

#include "runtime/grammar/automata/dfa.h"
#include "runtime/grammar/compiler/compiled_grammar.h"
#include "runtime/grammar/compiler/rule_nfa.h"

namespace sotto {

class GrammarWriter {
 public:
  GrammarWriter(const RuleNfa& nfa, const Symbols& symbols, Workspace& workspace);

  void add_rule(uint32_t rule, Dfa* dfa);
  // Returns null if the workspace is exhausted.
  const CompiledGrammar* write(uint32_t root);

 private:
  // The moves of a state by one class: a range of moves_.
  struct ClassMoves {
    uint32_t joined;  // the class it has been joined with so far
    uint32_t symbol_class;
    uint32_t first;
    uint32_t count;
  };

  void join_classes();
  void refine(uint32_t first_move, uint32_t end_move);
  bool same_targets(const ClassMoves& a, const ClassMoves& b) const;
  void number_classes();
  void apply_classes();
  void link_calls(uint32_t root);
  void fill(CompiledGrammar* grammar, uint32_t root) const;

  const RuleNfa& nfa_;
  const Symbols& symbols_;
  Workspace& workspace_;
  GrowingArray<GrammarState> states_;
  GrowingArray<GrammarMove> moves_;
  GrowingArray<GrammarCall> calls_;       // rule_start: a rule until link_calls
  GrowingArray<uint32_t> rule_starts_;    // by rule
  GrowingArray<uint32_t> joined_;         // by class of Symbols: the class it is joined with
  GrowingArray<uint32_t> joined_counts_;  // classes in each joined class
  GrowingArray<ClassMoves> groups_;
  GrowingArray<TokenRange> ranges_;
  uint32_t byte_class_count_ = 0;
  uint32_t class_count_ = 0;
};

}  // namespace sotto
