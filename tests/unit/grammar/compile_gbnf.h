// Compiles GBNF for tests and fuzzers, with thresholds that the C interface does not offer.
#pragma once

#include "runtime/grammar/compiler/compiler.h"
#include "runtime/grammar/gbnf/parser.h"

namespace sotto {

struct GbnfOptions {
  std::span<const char> root{"root", 4};
  TokenNames tokens;
  CompileTuning tuning;
};

// The grammar is stored in `memory`, which is aligned to 8.
inline Status compile_gbnf(std::span<const char> text, const GbnfOptions& options, const RuleWarnings& warnings,
                           std::span<uint8_t> memory, const CompiledGrammar** grammar, Error* error) {
  Workspace workspace(memory.data(), memory.size());
  GrammarBuilder builder(workspace);
  SOTTO_TRY(parse_gbnf(text, options.tokens, builder, error));
  const uint32_t root = builder.find_rule(options.root);
  if (root == kNoIndex) {
    return fail_at(error, Status::kGrammarSyntax, 0, "1:1: undefined start rule: ", options.root);
  }
  return compile_grammar(builder, text, root, options.tuning, warnings, grammar, error);
}

}  // namespace sotto
