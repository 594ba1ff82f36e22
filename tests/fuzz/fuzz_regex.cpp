// Fuzzes regular expressions. A pattern is accepted or rejected with a message, and the grammar and the automaton of an
// accepted pattern agree on every text.

#include <string>

#include "runtime/base/utf8.h"
#include "runtime/grammar/regex/automaton.h"
#include "runtime/grammar/regex/grammar.h"
#include "tests/fuzz/fuzz_grammar.h"

namespace {

using sotto::Status;

constexpr size_t kWorkspaceSize = size_t{256} << 10;
constexpr uint32_t kSteps = 24;

// Builds a pattern as a grammar that matches it as a whole or searches for it.
Status build(std::string_view pattern, bool search, sotto::GrammarBuilder& builder, sotto::Error* error) {
  const auto name = sotto::as_span("root");
  if (!search) {
    return sotto::build_regex_grammar(sotto::as_span(pattern), name, builder, error);
  }
  sotto::RegexTree tree(builder.workspace());
  SOTTO_TRY(sotto::parse_regex(sotto::as_span(pattern), tree, builder.workspace(), error));
  sotto::RegexGrammar grammar(builder, sotto::CharacterForm::kRaw);
  const uint32_t expression = grammar.regex(tree, true);
  if (expression == sotto::kNoIndex) return sotto::fail_too_large(error);
  builder.define(builder.rule(name, 0), expression, 0);
  return Status::kOk;
}

bool is_utf8(std::string_view text) { return sotto::find_invalid_utf8(sotto::as_span(text)) == text.size(); }

bool make_automaton(std::string_view pattern, bool search, bool minimize, sotto::Workspace& workspace,
                    sotto::CharacterAutomaton* automaton) {
  sotto::RegexTree tree(workspace);
  const Status status = sotto::parse_regex(sotto::as_span(pattern), tree, workspace, nullptr);
  REQUIRE(status == Status::kOk || workspace.exhausted());
  if (status != Status::kOk || !sotto::automaton_of_regex(tree, search, workspace, automaton)) {
    return false;
  }
  sotto::CharacterAutomaton smaller;
  if (minimize && sotto::minimize_automaton(*automaton, workspace, &smaller)) *automaton = smaller;
  return !workspace.exhausted();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static sotto::FuzzMemory memory(kWorkspaceSize);
  static sotto::FuzzMemory other_memory(kWorkspaceSize);
  sotto::FuzzInput input(data, size);
  const bool search = input.rest.below(4) == 1;
  const bool minimize = input.rest.below(2) == 1;
  const auto block = memory.last(kWorkspaceSize >> input.rest.below(5));
  sotto::Workspace workspace(block.data(), block.size());
  sotto::GrammarBuilder builder(workspace);
  sotto::Error error;
  const sotto::CompiledGrammar* grammar =
      sotto::compile_built(build(input.text, search, builder, &error), input.text, builder, error);
  if (grammar == nullptr) return 0;
  const auto other_block = other_memory.last(kWorkspaceSize);
  sotto::Workspace other(other_block.data(), other_block.size());
  sotto::CharacterAutomaton automaton;
  const bool known = make_automaton(input.text, search, minimize, other, &automaton);
  sotto::GrammarWalk walk(*grammar, input.rest);
  for (uint32_t i = 0; i < kSteps; ++i) {
    if (known && walk.is_open() && is_utf8(walk.text())) {
      REQUIRE(automaton.matches(walk.text()) == walk.accepts());
    }
    if (!walk.step()) break;
  }
  return 0;
}
