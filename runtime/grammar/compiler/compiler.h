// The grammar compiler turns the rules that a front end has built into a CompiledGrammar. README.md describes its
// passes: rules as nondeterministic automata and their analysis (rule_nfa.h), determinization and minimization
// (automata/dfa.h), and GrammarWriter, which writes the block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/grammar/compiler/compiled_grammar.h"
#include "runtime/grammar/compiler/grammar_builder.h"

namespace sotto {

// Thresholds for unrolling repetitions and for making automata deterministic.
struct CompileTuning {
  // Maximum number of states of an unrolled repetition. Larger repetitions are counted at run time.
  uint32_t unrolled_states = 64;
  // An automaton stays nondeterministic if its DFA would have more states than this number plus eight times the number
  // of NFA states.
  uint32_t determinized_states = 512;
};

// Receives the rules that no string of the root uses.
struct RuleWarnings {
  void* self = nullptr;
  void (*unreachable)(void* self, std::span<const char> rule, uint64_t source_offset) = nullptr;
};

// The rules that begin a text. The two differ if the grammar has triggers.
struct StartRules {
  StartRules() = default;
  StartRules(uint32_t rule) : first(rule), text(rule) {}

  uint32_t first = 0;  // the rule of the whole text
  uint32_t text = 0;   // the start rule of the source, which must match some string
};

// Compiles the rules in the workspace of the builder. The result stays there until the workspace is released. `source`
// is the text that the front end has read; error messages quote it.
Status compile_grammar(GrammarBuilder& builder, std::span<const char> source, const StartRules& start,
                       const CompileTuning& tuning, const RuleWarnings& warnings, const CompiledGrammar** grammar,
                       Error* error);

}  // namespace sotto
