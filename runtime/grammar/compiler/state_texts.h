// What every state of a grammar lets follow at least, so that no mask has to find it out: of
// which sorts of characters texts of any length are possible, and of all sorts how long ones.
// Found once, when a grammar is compiled, from each state's own moves and what is known of
// the states behind them.
#pragma once

#include <cstdint>

#include "runtime/grammar/compiler/character_steps.h"
#include "runtime/grammar/compiler/compiled_grammar.h"

namespace sotto {

class StateTexts {
 public:
  explicit StateTexts(const CompiledGrammar& grammar);

  // Writes what is true of all states.
  static void find(CompiledGrammar* grammar);
  // Whether what the state's fields say follows from what those of others say.
  bool holds(uint32_t state) const;

 private:
  template <typename Accepts>
  bool takes(uint32_t state, uint8_t sorts, Accepts accepts) const;
  bool is_final(uint32_t state) const;
  bool is_single(uint32_t state, uint8_t sorts) const;
  bool is_endless(uint32_t state, uint8_t sorts) const;
  template <typename Accepts>
  bool takes_only(uint32_t state, Accepts accepts) const;
  void mark(GrammarState* states) const;
  bool is_only_single(uint32_t state) const;
  bool is_exact(uint32_t state) const;
  bool repeats(uint32_t state) const;
  bool has_count(uint32_t state, uint32_t count) const;
  uint32_t longest_count(uint32_t state, uint32_t known) const;
  void find_singles(GrammarState* states) const;
  void find_endless(GrammarState* states, uint8_t sorts) const;
  void find_counts(GrammarState* states) const;
  void find_exact(GrammarState* states) const;
  void find_repeating(GrammarState* states) const;

  static constexpr uint32_t kMostSteps = 256 + 64 * (kSliceStates - 1);

  const CompiledGrammar& grammar_;
  CharacterSteps steps_;
  CharacterStep memory_[kMostSteps];
};

}  // namespace sotto
