// One rule's automaton on its way to the compiled grammar: determinized if that stays
// small, then minimized.
#pragma once

#include <cstdint>

#include "runtime/grammar/automata/nfa.h"
#include "runtime/grammar/automata/symbols.h"

namespace sotto {

struct RuleEdge {
  uint32_t from;
  uint32_t symbol;
  uint32_t to;
};

// State 0 is the start.
struct RuleGraph {
  explicit RuleGraph(Workspace& workspace) : finals(workspace), edges(workspace) {}
  void clear() {
    finals.truncate(0);
    edges.truncate(0);
  }
  uint32_t state_count() const { return finals.size(); }

  GrowingArray<uint8_t> finals;  // by state
  GrowingArray<RuleEdge> edges;
};

// Subset construction, with buffers that serve one rule after the other.
class Determinizer {
 public:
  Determinizer(const GrammarBuilder& grammar, const Nfa& nfa, const Symbols& symbols, Workspace& workspace);

  // False if the automaton would become too large; `graph` is undefined then.
  // `allowance`: states that are never too many.
  bool determinize(uint32_t rule, uint32_t allowance, RuleGraph* graph);
  // The same automaton without epsilon edges, several of whose edges may share a symbol.
  void remove_epsilons(uint32_t rule, RuleGraph* graph);

 private:
  struct Subset {
    uint32_t first;
    uint32_t count;
    uint32_t hash;
  };

  void visit(uint32_t state);
  void close(std::span<const uint64_t> steps);
  uint32_t intern(RuleGraph* graph);
  bool rehash();
  void add_steps(uint32_t nfa_state);
  void begin(uint32_t rule, RuleGraph* graph);
  void collect_steps(const Subset& subset);
  void add_edges(uint32_t state, RuleGraph* graph);

  const GrammarBuilder& grammar_;
  const Nfa& nfa_;
  const Symbols& symbols_;
  Workspace& workspace_;
  GrowingArray<uint32_t> visited_;  // by NFA state: the round that met it
  GrowingArray<uint32_t> stack_;
  GrowingArray<uint32_t> closure_;  // sorted NFA states that matter
  GrowingArray<uint32_t> members_;  // of all subsets
  GrowingArray<Subset> subsets_;
  GrowingArray<uint32_t> slots_;  // subset + 1 by hash
  GrowingArray<uint64_t> steps_;  // symbol << 32 | NFA target
  uint32_t round_ = 0;
  uint32_t exit_ = 0;
};

// Joins equivalent states (Valmari and Lehtinen, "Efficient Minimization of DFAs with
// Partial Transition Functions", STACS 2008). Every state reaches a final one.
class Minimizer {
 public:
  explicit Minimizer(Workspace& workspace);
  void minimize(RuleGraph* graph);

 private:
  // A partition of 0..count-1 into sets, refined by marking elements.
  class Partition {
   public:
    explicit Partition(Workspace& workspace);
    bool init(uint32_t count);
    void mark(uint32_t element);
    void split();

    uint32_t set_count = 0;
    GrowingArray<uint32_t> elements;
    GrowingArray<uint32_t> location;
    GrowingArray<uint32_t> set_of;
    GrowingArray<uint32_t> first;
    GrowingArray<uint32_t> past;
    GrowingArray<uint32_t> marked;
    GrowingArray<uint32_t> touched;
  };

  bool init(const RuleGraph& graph);
  void refine(const RuleGraph& graph);
  void rewrite(RuleGraph* graph);

  Partition blocks_;  // of states
  Partition cords_;   // of edges
  GrowingArray<uint32_t> incoming_first_;
  GrowingArray<uint32_t> incoming_;
};

}  // namespace sotto
