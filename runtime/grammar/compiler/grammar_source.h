// From the source text of a grammar, in any language, to the compiled grammar. The languages are a table in the source
// file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/grammar/compiler/compiler.h"
#include "runtime/grammar/compiler/triggers.h"
#include "runtime/grammar/gbnf/parser.h"
#include "runtime/grammar/json_schema/json_schema.h"

namespace sotto {

// Numbered as sotto_grammar_language.
enum class GrammarLanguage : int32_t {
  kGbnf = 0,
  kJsonSchema = 1,
  kRegex = 2,
  kJson = 3,
  kJsonObject = 4,
  kChoices = 5,
  kNumber = 6,
  kTools = 7,
};

// As sotto_grammar_params.
struct GrammarSource {
  std::span<const char> text;
  GrammarLanguage language = GrammarLanguage::kGbnf;
  std::span<const char> root{"root", 4};
  const Vocabulary* vocabulary = nullptr;
  Triggers triggers;
  SchemaOptions schema;
  ToolChoice tools = ToolChoice::kOne;
};

// Compiles in `memory`, aligned to 8. The grammar is at its beginning then, `(*grammar)->size()` bytes. Errors carry
// the offset in the text where one is known.
Status compile_source(const GrammarSource& source, const RuleWarnings& warnings, std::span<uint8_t> memory,
                      const CompiledGrammar** grammar, Error* error);

// Returns how much memory is enough for most sources of that size.
size_t typical_compile_memory(size_t source_size);

// Finds the tokens of token literals in the vocabulary, which must outlive the result; null: there are no tokens.
TokenNames token_names(const Vocabulary* vocabulary);

}  // namespace sotto
