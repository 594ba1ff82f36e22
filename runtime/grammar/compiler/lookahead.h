// What every state of a grammar lets follow at least, so that no mask has to find it out: of
// which classes of characters texts of any length are possible, and of all classes how long ones.
// Found once, when a grammar is compiled, from each state's own moves and what is known of
// the states behind them.
#pragma once

#include <cstdint>

#include "runtime/grammar/compiler/compiled_grammar.h"
#include "runtime/grammar/compiler/utf8_transitions.h"

namespace sotto {

class Lookahead {
 public:
  explicit Lookahead(const CompiledGrammar& grammar);

  // Writes what is true of all states.
  static void find(CompiledGrammar* grammar);
  // Whether what the state's fields say follows from what those of others say.
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
