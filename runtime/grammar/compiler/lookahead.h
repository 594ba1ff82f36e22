// Per-state lookahead, computed once when a grammar is compiled, so that no mask has to search for it: which character
// classes may repeat freely after a state, and how many arbitrary characters may follow at least.
//
// Each fact about a state follows from its own moves and from facts about the states they lead to. Facts of unlimited
// length are a greatest fixed point: they are assumed of all states and withdrawn where they do not hold. Counts are a
// least fixed point: they grow from 0. Sweeps over the states, backwards and forwards in turn, compute both. The
// verifier checks the facts of a loaded grammar in the same way.
#pragma once

#include <cstdint>

#include "runtime/grammar/compiler/compiled_grammar.h"
#include "runtime/grammar/compiler/utf8_transitions.h"

namespace sotto {

class Lookahead {
 public:
  explicit Lookahead(const CompiledGrammar& grammar);

  // Computes the lookahead of all states and writes it into the grammar.
  static void find(CompiledGrammar* grammar);
  // Returns whether the lookahead of the state follows from that of the states it leads to.
  bool holds(uint32_t state) const;

 private:
  template <typename Accepts>
  bool takes(uint32_t state, uint8_t classes, Accepts accepts) const;
  bool is_final(uint32_t state) const;
  bool is_single(uint32_t state, uint8_t classes) const;
  bool is_endless(uint32_t state, uint8_t classes) const;
  template <typename Accepts>
  bool takes_only(uint32_t state, Accepts accepts) const;
  void mark(GrammarState* states) const;
  bool is_only_single(uint32_t state) const;
  bool is_exact(uint32_t state) const;
  bool repeats(uint32_t state) const;
  bool has_count(uint32_t state, uint32_t count) const;
  uint32_t longest_count(uint32_t state, uint32_t known) const;
  void find_singles(GrammarState* states) const;
  void find_endless(GrammarState* states, uint8_t classes) const;
  void find_counts(GrammarState* states) const;
  void find_exact(GrammarState* states) const;
  void find_repeating(GrammarState* states) const;

  static constexpr uint32_t kMostSteps = 256 + 64 * (kUtf8States - 1);

  const CompiledGrammar& grammar_;
  Utf8Transitions steps_;
  Utf8Transition memory_[kMostSteps];
};

}  // namespace sotto
