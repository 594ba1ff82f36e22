// The shortest completions of a grammar, in tokens. With finish_within, the matcher allows a token only if the text can
// still be completed in the remaining tokens.
//
// The completion of a state is the number of tokens that complete its rule: the sum along the shortest path. A move
// costs a token, a call costs the completion of the called rule, and a loop or set costs its missing repetitions or
// members. Knuth's generalization of Dijkstra's algorithm ("A Generalization of Dijkstra's Algorithm", 1977) finds
// these costs of a context-free grammar in ascending order.
//
// The search finds the shortest path in bytes, and then covers the path with as few tokens of the vocabulary as
// possible. The result is the length of a real completion, so it is an upper bound of the shortest one. The invariant:
// from a state with completion n, some token leads to a state with completion at most n - 1. A text within its budget
// therefore never gets stuck.
//
// The stack store (stack_store.h) adds up the completions of the states on a stack.
//
// Example, with a token per byte: in root ::= "[" [0-9]* "]", the completion after "[" is 1, the token "]". With two
// tokens left, "]" and the digits are allowed; with one token left, only "]" is.
#pragma once

#include <cstdint>

#include "runtime/base/arena.h"
#include "runtime/grammar/compiler/compiled_grammar.h"
#include "runtime/grammar/vocabulary/vocabulary.h"

namespace sotto {

inline constexpr uint32_t kNoCompletion = UINT32_MAX;

constexpr uint32_t add_completions(uint32_t a, uint32_t b) { return a > kNoCompletion - b ? kNoCompletion : a + b; }

class Completions {
 public:
  void layout(Arena& arena, const CompiledGrammar& grammar);
  // Takes the memory that only init() uses.
  void layout_search(Arena& arena, const CompiledGrammar& grammar);
  void init(const CompiledGrammar& grammar, const Vocabulary& vocabulary);

  // Returns the number of tokens of a non-empty string from the state to the end of its rule, or kNoCompletion.
  uint32_t completion_of(uint32_t state) const { return state_completions_[state]; }
  // Returns the number of tokens between the end of a called rule and the end of the caller's rule, which continues in
  // `state`. `count` is the number of repetitions that a loop has read before, or the set of members (GrammarLoop).
  uint32_t after_call(uint32_t state, uint32_t loop, uint64_t count) const;

 private:
  const CompiledGrammar* grammar_ = nullptr;
  uint32_t* state_completions_ = nullptr;
  Arena search_memory_;
};

}  // namespace sotto
