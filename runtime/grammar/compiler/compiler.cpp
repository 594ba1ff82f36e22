#include "runtime/grammar/compiler/compiler.h"

#include <cstring>

#include "runtime/grammar/automata/nfa.h"
#include "runtime/grammar/automata/nfa_analysis.h"
#include "runtime/grammar/compiler/grammar_writer.h"

namespace sotto {
namespace {

void warn(const GrammarBuilder& builder, uint32_t rule, const RuleWarnings& warnings) {
  if (warnings.unreachable == nullptr || builder.rule_at(rule).name_size == 0) return;
  warnings.unreachable(warnings.self, builder.rule_name(rule), builder.rule_at(rule).defined);
}

}  // namespace

Status compile_grammar(GrammarBuilder& builder, std::span<const char> source, const StartRules& start,
                       const CompileTuning& tuning, const RuleWarnings& warnings, const CompiledGrammar** grammar,
                       Error* error) {
  Workspace& workspace = builder.workspace();
  if (workspace.exhausted()) return fail_too_large(error);
  Nfa nfa(workspace);
  build_nfa(builder, tuning.unrolled_states, nfa);
  if (workspace.exhausted()) return fail_too_large(error);
  NfaAnalysis analysis(workspace);
  analyze_nfa(nfa, start.first, workspace, &analysis);
  if (workspace.exhausted()) return fail_too_large(error);
  if (analysis.productive[start.text] == 0) {
    constexpr char kWhat[] = "start rule that no text can complete";
    return fail_in_source(error, source, builder.rule_at(start.text).defined, {kWhat, sizeof kWhat - 1});
  }
  Symbols symbols(workspace);
  symbols.init(builder, nfa);
  GrammarWriter writer(nfa, symbols, workspace);
  Determinizer determinizer(builder, nfa, symbols, workspace);
  Minimizer minimizer(workspace);
  RuleGraph graph(workspace);
  for (uint32_t rule = 0; rule < builder.rule_count(); ++rule) {
    if (workspace.exhausted()) return fail_too_large(error);
    if (analysis.reachable[rule] == 0) {
      warn(builder, rule, warnings);
      continue;
    }
    if (determinizer.determinize(rule, tuning.determinized_states, &graph)) {
      if (workspace.exhausted()) return fail_too_large(error);
      minimizer.minimize(&graph);
    } else {
      determinizer.remove_epsilons(rule, &graph);
    }
    writer.add_rule(rule, &graph);
  }
  *grammar = workspace.exhausted() ? nullptr : writer.write(start.first);
  return *grammar == nullptr ? fail_too_large(error) : Status::kOk;
}

Status compile_gbnf(std::span<const char> text, const CompileOptions& options, const RuleWarnings& warnings,
                    std::span<uint8_t> workspace_memory, const CompiledGrammar** grammar, Error* error) {
  Workspace workspace(workspace_memory.data(), workspace_memory.size());
  GrammarBuilder builder(workspace);
  SOTTO_TRY(parse_gbnf(text, options.tokens, builder, error));
  const uint32_t root = builder.find_rule(options.root);
  if (root == kNone) {
    return fail_at(error, Status::kGrammarSyntax, 0, "1:1: no rule named '", options.root, "'");
  }
  return compile_grammar(builder, text, root, options.tuning, warnings, grammar, error);
}

}  // namespace sotto
