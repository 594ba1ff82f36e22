#include "runtime/grammar/compiler/compiler.h"

#include <cstring>

#include "runtime/grammar/compiler/grammar_writer.h"
#include "runtime/grammar/compiler/rule_nfa.h"

namespace sotto {
namespace {

void warn(const GrammarBuilder& builder, uint32_t rule, const RuleWarnings& warnings) {
  if (warnings.unreachable == nullptr || builder.rule_at(rule).name_size == 0) return;
  warnings.unreachable(warnings.self, builder.rule_name(rule), builder.rule_at(rule).defined);
}

// Returns how many states the DFA of a rule may have: `allowance`, and eight times those of its NFA.
uint64_t state_limit(const RuleNfa& nfa, uint32_t rule, uint32_t allowance) {
  constexpr uint64_t kStateGrowth = 8;
  const bool is_last = rule + 1 == nfa.rules.size();
  const uint32_t end = is_last ? nfa.states.size() : nfa.rules[rule + 1].start;
  return allowance == 0 ? 0 : allowance + kStateGrowth * (end - nfa.rules[rule].start);
}

}  // namespace

Status compile_grammar(GrammarBuilder& builder, std::span<const char> source, const StartRules& start,
                       const CompileTuning& tuning, const RuleWarnings& warnings, const CompiledGrammar** grammar,
                       Error* error) {
  Workspace& workspace = builder.workspace();
  if (workspace.exhausted()) return fail_too_large(error);
  RuleNfa nfa(workspace);
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
  SubsetConstruction<Symbols> subsets(nfa, symbols, workspace);
  Minimizer minimizer(workspace);
  Dfa dfa(workspace);
  for (uint32_t rule = 0; rule < builder.rule_count(); ++rule) {
    if (workspace.exhausted()) return fail_too_large(error);
    if (analysis.reachable[rule] == 0) {
      warn(builder, rule, warnings);
      continue;
    }
    const auto [start_state, exit_state] = nfa.rules[rule];
    if (subsets.determinize(start_state, exit_state, {state_limit(nfa, rule, tuning.determinized_states)}, &dfa)) {
      if (workspace.exhausted()) return fail_too_large(error);
      minimizer.minimize(&dfa);
    } else {
      subsets.remove_epsilons(start_state, exit_state, &dfa);
    }
    writer.add_rule(rule, &dfa);
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
  if (root == kNoIndex) {
    return fail_at(error, Status::kGrammarSyntax, 0, "1:1: no rule named '", options.root, "'");
  }
  return compile_grammar(builder, text, root, options.tuning, warnings, grammar, error);
}

}  // namespace sotto
