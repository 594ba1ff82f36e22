// Grammars, from any front end, to CompiledGrammar.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/grammar/compiler/compiled_grammar.h"
#include "runtime/grammar/compiler/grammar_builder.h"
#include "runtime/grammar/gbnf/parser.h"

namespace sotto {

// Where one way of saying the same gives way to another.
struct CompileTuning {
  uint32_t unrolled_states = 64;       // a repetition that takes more is counted at run time
  uint32_t determinized_states = 512;  // an automaton that takes more, and eight times more
                                       // than before, is left as it is
};

struct CompileOptions {
  std::span<const char> root{"root", 4};  // the start rule
  TokenNames tokens;
  CompileTuning tuning;
};

// Receives rules that no text of the root can use.
struct RuleWarnings {
  void* self = nullptr;
  void (*unreachable)(void* self, std::span<const char> rule, uint64_t source_offset) = nullptr;
};

struct StartRules {
  StartRules() = default;
  StartRules(uint32_t rule) : first(rule), text(rule) {}

  uint32_t first = 0;  // where texts begin
  uint32_t text = 0;   // the source's own, which must have texts
};

// Compiles into the builder's workspace; the result lies there until it is released.
// `source` is what the front end read: error messages quote it.
Status compile_grammar(GrammarBuilder& builder, std::span<const char> source, const StartRules& start,
                       const CompileTuning& tuning, const RuleWarnings& warnings, const CompiledGrammar** grammar,
                       Error* error);

// Parses and compiles GBNF. `workspace_memory`, aligned to 8, is free again once the grammar has
// been copied out of it (it is `(*grammar)->size()` bytes that can be moved anywhere, aligned to
// 8). About 16 KiB and 200 bytes a byte of source are enough for most grammars; if it is not,
// the status is kGrammarTooLarge.
Status compile_gbnf(std::span<const char> text, const CompileOptions& options, const RuleWarnings& warnings,
                    std::span<uint8_t> workspace_memory, const CompiledGrammar** grammar, Error* error);

}  // namespace sotto
