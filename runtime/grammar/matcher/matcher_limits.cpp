#include "runtime/grammar/matcher/matcher_limits.h"

#include <algorithm>

#include "runtime/grammar/matcher/stack_store.h"

namespace sotto {
namespace {

constexpr uint32_t kSmallStates = 200;
constexpr uint32_t kTinyStates = 50;
constexpr uint32_t kNarrowRules = 32;       // rules that begin at the same place and need no further memory
constexpr uint32_t kMaxWideRules = 512;     // more of them get no further memory
constexpr uint32_t kMaxRepeatedCalls = 64;  // more of them get no further memory
constexpr uint32_t kMaxRules = 64;          // maximum number of rules that are followed from one rule
constexpr uint32_t kMaxCalls = 512;         // if a rule has more calls, it is assumed not to be left-recursive

// Returns whether a string of the rule may begin with a string of the same rule.
bool is_left_recursive(const CompiledGrammar& grammar, uint32_t rule_start) {
  uint32_t visited[kMaxRules] = {rule_start};
  uint32_t count = 1;
  for (uint32_t i = 0; i < count; ++i) {
    for (const GrammarCall& call : grammar.calls(visited[i])) {
      if (call.rule_start == rule_start) return true;
      if (std::find(visited, visited + count, call.rule_start) != visited + count) continue;
      if (count == kMaxRules) return false;
      visited[count++] = call.rule_start;
    }
  }
  return false;
}

bool has_left_recursion(const CompiledGrammar& grammar) {
  if (grammar.counts().calls > kMaxCalls) return false;
  for (uint32_t state = 0; state < grammar.counts().states; ++state) {
    for (const GrammarCall& call : grammar.calls(state)) {
      if (is_left_recursive(grammar, call.rule_start)) return true;
    }
  }
  return false;
}

// Returns how many calls of a rule directly follow a call of the same rule. In a text of such a rule's strings, it is
// often open where one ends and the next begins.
uint32_t count_repeated_calls(const CompiledGrammar& grammar) {
  if (grammar.counts().calls > kMaxCalls) return 0;
  uint32_t count = 0;
  for (uint32_t state = 0; state < grammar.counts().states; ++state) {
    for (const GrammarCall& call : grammar.calls(state)) {
      for (const GrammarCall& next : grammar.calls(call.target)) count += next.rule_start == call.rule_start;
    }
  }
  return count;
}

// The estimates are fitted to measurements of GBNF files, JSON schemas and random grammars. As long as a text can be
// parsed in only one way, the memory is proportional to the size of the grammar. A small grammar may have many parses
// at the same time; the memory for them decreases with the square of the number of states. Left recursion and counting
// at run time need much more, because many nodes and counts may be in use at the same time.
MatcherParams suggest(const MatcherParams& given, const CompiledGrammar& grammar, uint32_t token_count) {
  const CompiledGrammar::Counts& counts = grammar.counts();
  const uint32_t states = std::min(counts.states, 1u << 14);
  const uint32_t calls = std::min(counts.calls, 1u << 14);
  // In the worst case every rule starts at one position, e.g. an object whose members are all optional. Each rule is
  // then visited several times, on nodes of its own, and is part of several sets.
  const uint32_t rules = std::min(grammar.rule_count(), calls);
  const uint32_t wide_rules = std::min(rules - std::min(rules, kNarrowRules), kMaxWideRules);
  const uint32_t visits = 2 * rules + 3 * wide_rules;
  const auto faded = [=](uint32_t most, uint32_t small = kSmallStates) {
    const uint32_t divisor = std::max(states, small);
    return static_cast<uint32_t>(uint64_t{most} * small * small / divisor / divisor);
  };
  constexpr uint32_t kMax = 2048;
  constexpr uint32_t kMaxSets = 1024;
  MatcherParams limits = given;
  const uint32_t more_calls = calls - std::min(visits, calls);
  limits.work_count = std::min(96 + visits + faded(64 + states / 16 + more_calls), kMax);
  limits.state_set_count = std::min(40 + (states + calls) / 8 + faded(28), kMaxSets);
  const uint32_t nodes = std::max(96 + calls / 4, 64 + rules + 3 * wide_rules / 2) + faded(128);
  limits.node_count = calls == 0 ? 32 : std::min(nodes, kMax);
  limits.frame_count = limits.node_count + limits.node_count / 8 + faded(limits.node_count) + 6 * wide_rules;
  limits.state_count =
      limits.state_set_count * 3 / 2 + 96 + faded(limits.state_set_count * 3 / 2 + 32) + 24 * wide_rules;
  const uint32_t repeated = std::min(count_repeated_calls(grammar), kMaxRepeatedCalls);
  limits.frame_count += 32 * repeated;
  limits.state_count += 80 * repeated;
  if (counts.loops > 0) {
    limits.work_count = 2048;
    limits.state_set_count = 768;
    limits.node_count = 1536;
    limits.frame_count = 6144;
    limits.state_count = 3072;
  }
  if (has_left_recursion(grammar)) {
    // In a large grammar, any rule may be open inside any other.
    const uint32_t growth = 1 + std::min(calls * calls / (1u << 14), 7u);
    limits.work_count = 4096 * growth;
    limits.state_set_count = 2048 * growth;
    limits.node_count = 4096 * growth;
    limits.frame_count = 16384 * growth * std::min(growth, 2u);
    limits.state_count = 8192 * growth;
  }
  // The sets in the rollback ring stay in use, and each sequence of a search has its own stacks.
  const uint32_t sequences = std::min(limits.sequence_count, kMaxStateSets / 4);
  const uint32_t kept = std::min(limits.rollback_count, kMaxStateSets / 2) + sequences;
  limits.state_set_count += kept;
  limits.state_count += (2 + faded(16, kTinyStates)) * kept;
  if (calls > 0 && sequences > 1) {
    limits.node_count += 64 * (sequences - 1);
    limits.frame_count += 96 * (sequences - 1);
  }
  const uint32_t words_size = (token_count + 63) / 64 * static_cast<uint32_t>(sizeof(uint64_t));
  // Grammars such as JSON use all of their masks after a short time.
  const bool is_dense = states <= 256 && calls >= states / 3 && calls > 0;
  const uint32_t lists_size = is_dense ? 3072 : 256 + 3 * std::min(states, 4096u);
  limits.mask_bytes = std::max(4096u, (is_dense ? 4 : 2) * words_size + lists_size);
  return limits;
}

}  // namespace

MatcherParams resolve_limits(const MatcherParams& given, const CompiledGrammar& grammar, uint32_t token_count) {
  const MatcherParams suggested = suggest(given, grammar, token_count);
  MatcherParams limits = given;
  for (const auto limit : {&MatcherParams::node_count, &MatcherParams::frame_count, &MatcherParams::state_set_count,
                           &MatcherParams::state_count, &MatcherParams::work_count, &MatcherParams::mask_bytes}) {
    if (limits.*limit == 0) limits.*limit = suggested.*limit;
  }
  return limits;
}

}  // namespace sotto
