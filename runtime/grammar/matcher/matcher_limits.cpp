#include "runtime/grammar/matcher/matcher_limits.h"

#include <algorithm>

#include "runtime/base/token_mask.h"

namespace sotto {
namespace {

// The memory of a matcher follows from one number: how many stack nodes a text may need at the same time. The store
// shares its block between nodes, frames, sets and states, so the proportions below need to be right only roughly.
//
// This depends on the text, so the summands are measured, not derived. JSON nested 160 deep needs 96 nodes, and the
// texts of most real schemas 16 to 64. default_limits_test.cpp and adversarial_test.cpp (tests/unit/grammar) contain
// texts that must fit, and the oracle test bounds the failures of random grammars. grammar_measure replays real texts
// with these limits, or with a fraction of them, and names the grammars that need more. Too large estimates cost
// memory; too small ones fail with a status.
//
// After each summand follows what it is for, and a text that needs it.
constexpr uint32_t kNodes = 128;            // any grammar: JSON nested 160 deep
constexpr uint32_t kNodesPerRule = 2;       // rules that begin at the same place: an object of 300 optional members
constexpr uint32_t kNodesPerMember = 4;     // a member in any order has a node of its own at every position
constexpr uint32_t kNodesPerRepeat = 16;    // boundaries between strings of one rule: x{0,50} of "a"{0,50}
constexpr uint32_t kNodesOfLoops = 512;     // a node per count: ("a" | "aa"){150,200} in {150,200}
constexpr uint32_t kNodesPerSequence = 64;  // the stacks of another sequence of a search
constexpr uint32_t kMinNodesOfRecursion = 512;
constexpr uint32_t kMaxNodesOfRecursion = 1 << 15;
constexpr uint32_t kCallPairsPerNode = 4;  // with left recursion, any rule may be open inside any other: Elixir

// Proportions to the number of nodes. A step visits at most as many states as there are nodes.
constexpr uint32_t kFramesPerNode = 2;
constexpr uint32_t kStatesPerNode = 2;
constexpr uint32_t kNodesPerSet = 2;
constexpr uint32_t kStatesPerKeptSet = 4;  // in each set that can be rolled back

// Cached masks. The masks of JSON and similar grammars, in which many states call a rule, differ most.
constexpr uint32_t kMasks = 2;  // masks that are stored as words
constexpr uint32_t kMasksOfManyCalls = 3;
constexpr uint32_t kStatesPerCall = 3;  // at most, for such a grammar
constexpr uint32_t kListBytes = 256;
constexpr uint32_t kListBytesPerState = 3;

// Limits of the analyses of the grammar.
constexpr uint32_t kMaxFollowedRules = 64;   // rules that are followed from one rule
constexpr uint32_t kMaxAnalyzedCalls = 512;  // with more, neither left recursion nor repeats are assumed
constexpr uint32_t kMaxCounted = 1024;       // rules, members and states that the estimates count

// Returns whether a string of the rule may begin with a string of the same rule.
bool is_left_recursive(const CompiledGrammar& grammar, uint32_t rule_start) {
  uint32_t visited[kMaxFollowedRules] = {rule_start};
  uint32_t count = 1;
  for (uint32_t i = 0; i < count; ++i) {
    for (const GrammarCall& call : grammar.calls(visited[i])) {
      if (call.rule_start == rule_start) return true;
      if (std::find(visited, visited + count, call.rule_start) != visited + count) continue;
      if (count == kMaxFollowedRules) return false;
      visited[count++] = call.rule_start;
    }
  }
  return false;
}

bool has_left_recursion(const CompiledGrammar& grammar) {
  if (grammar.counts().calls > kMaxAnalyzedCalls) return false;
  for (uint32_t state = 0; state < grammar.counts().states; ++state) {
    for (const GrammarCall& call : grammar.calls(state)) {
      if (is_left_recursive(grammar, call.rule_start)) return true;
    }
  }
  return false;
}

// Returns how many calls of a rule directly follow a call of the same rule. In a text of such strings, the boundary
// between two strings is often undecided.
uint32_t count_repeated_calls(const CompiledGrammar& grammar) {
  if (grammar.counts().calls > kMaxAnalyzedCalls) return 0;
  uint32_t count = 0;
  for (uint32_t state = 0; state < grammar.counts().states; ++state) {
    for (const GrammarCall& call : grammar.calls(state)) {
      for (const GrammarCall& next : grammar.calls(call.target)) count += next.rule_start == call.rule_start;
    }
  }
  return count;
}

bool has_counted_loop(const CompiledGrammar& grammar) {
  for (uint32_t index = 0; index < grammar.counts().loops; ++index) {
    if (grammar.loop(index).set == kNoSet) return true;
  }
  return false;
}

// Returns the number of members that come in any order.
uint32_t count_members(const CompiledGrammar& grammar) {
  uint32_t count = 0;
  for (uint32_t index = 0; index < grammar.counts().loops; ++index) count += grammar.loop(index).set != kNoSet ? 1 : 0;
  return count;
}

uint32_t estimate_nodes(const CompiledGrammar& grammar) {
  const uint32_t calls = grammar.counts().calls;
  const auto counted = [](uint32_t count) { return std::min(count, kMaxCounted); };
  uint32_t nodes = kNodes + kNodesPerRule * counted(std::min(grammar.rule_count(), calls)) +
                   kNodesPerMember * counted(count_members(grammar)) +
                   kNodesPerRepeat * counted(count_repeated_calls(grammar));
  if (has_counted_loop(grammar)) nodes += kNodesOfLoops;
  if (has_left_recursion(grammar)) {
    nodes += std::clamp(calls * calls / kCallPairsPerNode, kMinNodesOfRecursion, kMaxNodesOfRecursion);
  }
  return nodes;
}

uint32_t estimate_mask_bytes(const CompiledGrammar& grammar, uint32_t token_count) {
  const auto words_size = static_cast<uint32_t>(TokenMask::word_count(token_count) * sizeof(uint64_t));
  const uint32_t states = grammar.counts().states;
  const bool has_many_calls = grammar.counts().calls > states / kStatesPerCall;
  const uint32_t masks = has_many_calls ? kMasksOfManyCalls : kMasks;
  return masks * words_size + kListBytes + kListBytesPerState * std::min(states, kMaxCounted);
}

MatcherParams estimate(const MatcherParams& given, const CompiledGrammar& grammar, uint32_t token_count) {
  // The bounds keep the sums in range.
  const uint32_t sequences = std::min(given.sequence_count, MatcherParams::kMaxStateSetCount / 4);
  const uint32_t kept = std::min(given.rollback_count, MatcherParams::kMaxStateSetCount / 2) + sequences;
  const uint32_t nodes = estimate_nodes(grammar) + kNodesPerSequence * (sequences - 1);
  MatcherParams limits = given;
  limits.node_count = nodes;
  limits.visit_count = nodes;
  limits.frame_count = kFramesPerNode * nodes;
  limits.state_count = kStatesPerNode * nodes + kStatesPerKeptSet * kept;
  limits.state_set_count = std::min(nodes / kNodesPerSet + kept, MatcherParams::kMaxStateSetCount);
  limits.mask_bytes = estimate_mask_bytes(grammar, token_count);
  return limits;
}

}  // namespace

MatcherParams resolve_limits(const MatcherParams& given, const CompiledGrammar& grammar, uint32_t token_count) {
  const MatcherParams estimates = estimate(given, grammar, token_count);
  MatcherParams limits = given;
  for (const auto limit : {&MatcherParams::node_count, &MatcherParams::frame_count, &MatcherParams::state_set_count,
                           &MatcherParams::state_count, &MatcherParams::visit_count, &MatcherParams::mask_bytes}) {
    if (limits.*limit == 0) limits.*limit = estimates.*limit;
  }
  return limits;
}

}  // namespace sotto
