#include "runtime/grammar/matcher/matcher_limits.h"

#include <algorithm>

#include "runtime/base/token_mask.h"

namespace sotto {
namespace {

// Limits of the analyses of the grammar.
constexpr uint32_t kMaxFollowedRules = 64;   // rules that are followed from one rule
constexpr uint32_t kMaxAnalysedCalls = 512;  // with more, neither left recursion nor repeated calls are assumed
constexpr uint32_t kMaxCounted = 1 << 14;    // states and calls that the estimates count

// Grammars with more states than these get less memory for several parses at the same time (see ambiguous()).
constexpr uint32_t kSmallStateCount = 200;
constexpr uint32_t kTinyStateCount = 50;  // for the sets that rollback keeps

// Visits of one step.
constexpr uint32_t kMinVisits = 96;
constexpr uint32_t kVisitsPerRule = 2;
constexpr uint32_t kVisitsPerWideRule = 3;  // in addition
constexpr uint32_t kAmbiguousVisits = 64;
constexpr uint32_t kStatesPerAmbiguousVisit = 16;
constexpr uint32_t kMaxVisits = 2048;

// State sets, and the states in them.
constexpr uint32_t kMinSets = 40;
constexpr uint32_t kStatesOrCallsPerSet = 8;
constexpr uint32_t kAmbiguousSets = 28;
constexpr uint32_t kMaxSets = 1024;
constexpr uint32_t kMinSetStates = 96;
constexpr uint32_t kAmbiguousSetStates = 32;
constexpr uint32_t kSetStatesPerWideRule = 24;
constexpr uint32_t kSetStatesPerRepeatedCall = 80;
constexpr uint32_t kStatesPerKeptSet = 2;
constexpr uint32_t kAmbiguousStatesPerKeptSet = 16;

// Stack nodes, and the frames in them.
constexpr uint32_t kNodesWithoutCalls = 32;
constexpr uint32_t kMinNodes = 96;
constexpr uint32_t kCallsPerNode = 4;
constexpr uint32_t kMinNodesWithoutRules = 64;  // a node per rule, and 3 nodes per 2 wide rules, come on top
constexpr uint32_t kAmbiguousNodes = 128;
constexpr uint32_t kMaxNodes = 2048;
constexpr uint32_t kNodesPerExtraFrame = 8;
constexpr uint32_t kFramesPerWideRule = 6;
constexpr uint32_t kFramesPerRepeatedCall = 32;
constexpr uint32_t kNodesPerSequence = 64;
constexpr uint32_t kFramesPerSequence = 96;

// Rules beyond the first kNarrowRules are wide: they may begin at the same place as many others.
constexpr uint32_t kNarrowRules = 32;
constexpr uint32_t kMaxWideRules = 512;
constexpr uint32_t kMaxRepeatedCalls = 64;

// Left-recursive grammars get the limits of very ambiguous ones, multiplied by up to kMaxGrowth: in a large grammar,
// any rule may be open inside any other.
constexpr uint32_t kSquaredCallsPerGrowth = 1 << 14;
constexpr uint32_t kMaxGrowth = 8;
constexpr uint32_t kMaxFrameGrowth = 2;  // in addition
// Grammars that count at run time get this fraction of those limits.
constexpr uint32_t kLoopEighths = 3;
constexpr uint32_t kLoopVisits = 2048;

// Members in any order need many nodes: at every position, each possible member has a stack node of its own, and every
// set that can be rolled back contains all of these nodes.
constexpr uint32_t kVisitsPerMember = 6;
constexpr uint32_t kMaxMembers = 512;

// Cached masks: their words, and lists of tokens, in bytes.
constexpr uint32_t kMinMaskBytes = 4096;
constexpr uint32_t kMaxDenseStates = 256;
constexpr uint32_t kDenseStatesPerCall = 3;
constexpr uint32_t kDenseMasks = 4;
constexpr uint32_t kDenseListBytes = 3072;
constexpr uint32_t kSparseMasks = 2;
constexpr uint32_t kSparseListBytes = 256;
constexpr uint32_t kListBytesPerState = 3;
constexpr uint32_t kMaxListStates = 4096;

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
  if (grammar.counts().calls > kMaxAnalysedCalls) return false;
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
  if (grammar.counts().calls > kMaxAnalysedCalls) return 0;
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

// The sets of members that come in any order.
struct MemberCounts {
  uint32_t all = 0;     // in all sets
  uint32_t widest = 0;  // in the largest set
};

MemberCounts count_members(const CompiledGrammar& grammar) {
  MemberCounts count;
  for (uint32_t index = 0; index < grammar.counts().loops; ++index) {
    const uint32_t set = grammar.loop(index).set;
    if (set == kNoSet) continue;
    ++count.all;
    count.widest = std::max(count.widest, index - set + 1);
  }
  return {std::min(count.all, kMaxMembers), count.widest};
}

// Estimates limits. As long as a text can be parsed in only one way, the memory is proportional to the size of the
// grammar. A small grammar may have many parses at the same time; the memory for them decreases with the square of the
// number of states. Left recursion and counting at run time need much more, because many nodes and counts may be in use
// at the same time.
//
// The number of states and nodes in use at the same time depends on the text, so the limits are fitted, not derived.
// grammar_measure (tests/unit/grammar/measure.cpp) replays texts of the shared test data with these limits, or with a
// fraction of them. It names the grammars whose limits do not suffice. The oracle test does the same for random
// grammars, and bounds the number of failures. Too large limits cost memory; too small ones fail with a status.
MatcherParams suggest(const MatcherParams& given, const CompiledGrammar& grammar, uint32_t token_count) {
  const CompiledGrammar::Counts& counts = grammar.counts();
  const uint32_t states = std::min(counts.states, kMaxCounted);
  const uint32_t calls = std::min(counts.calls, kMaxCounted);
  // In the worst case every rule starts at one position. An example is an object whose members are all optional. Each
  // rule is then visited several times, on nodes of its own, and is part of several sets.
  const uint32_t rules = std::min(grammar.rule_count(), calls);
  const uint32_t wide_rules = std::min(rules - std::min(rules, kNarrowRules), kMaxWideRules);
  const uint32_t rule_visits = kVisitsPerRule * rules + kVisitsPerWideRule * wide_rules;
  // Returns the addition for several parses at the same time: `most` in a small grammar, less in a larger one.
  const auto ambiguous = [=](uint32_t most, uint32_t small = kSmallStateCount) {
    const uint32_t divisor = std::max(states, small);
    return static_cast<uint32_t>(uint64_t{most} * small * small / divisor / divisor);
  };
  MatcherParams limits = given;
  const uint32_t more_calls = calls - std::min(rule_visits, calls);
  const uint32_t ambiguous_visits = kAmbiguousVisits + states / kStatesPerAmbiguousVisit + more_calls;
  limits.visit_count = std::min(kMinVisits + rule_visits + ambiguous(ambiguous_visits), kMaxVisits);
  limits.state_set_count =
      std::min(kMinSets + (states + calls) / kStatesOrCallsPerSet + ambiguous(kAmbiguousSets), kMaxSets);
  const uint32_t nodes =
      std::max(kMinNodes + calls / kCallsPerNode, kMinNodesWithoutRules + rules + 3 * wide_rules / 2);
  limits.node_count = calls == 0 ? kNodesWithoutCalls : std::min(nodes + ambiguous(kAmbiguousNodes), kMaxNodes);
  const uint32_t repeated = std::min(count_repeated_calls(grammar), kMaxRepeatedCalls);
  limits.frame_count = limits.node_count + limits.node_count / kNodesPerExtraFrame + ambiguous(limits.node_count) +
                       kFramesPerWideRule * wide_rules + kFramesPerRepeatedCall * repeated;
  const uint32_t states_in_sets = limits.state_set_count * 3 / 2;
  limits.state_count = states_in_sets + kMinSetStates + ambiguous(states_in_sets + kAmbiguousSetStates) +
                       kSetStatesPerWideRule * wide_rules + kSetStatesPerRepeatedCall * repeated;
  const MemberCounts members = count_members(grammar);
  if (has_counted_loop(grammar)) {
    limits.visit_count = kLoopVisits;
    limits.state_set_count = MatcherParams::kLargeStateSetCount * kLoopEighths / 8;
    limits.node_count = MatcherParams::kLargeNodeCount * kLoopEighths / 8;
    limits.frame_count = MatcherParams::kLargeFrameCount * kLoopEighths / 8;
    limits.state_count = MatcherParams::kLargeStateCount * kLoopEighths / 8;
  }
  if (has_left_recursion(grammar)) {
    const uint32_t growth = std::min(1 + calls * calls / kSquaredCallsPerGrowth, kMaxGrowth);
    limits.visit_count = MatcherParams::kLargeVisitCount * growth;
    limits.state_set_count = MatcherParams::kLargeStateSetCount * growth;
    limits.node_count = MatcherParams::kLargeNodeCount * growth;
    limits.frame_count = MatcherParams::kLargeFrameCount * growth * std::min(growth, kMaxFrameGrowth);
    limits.state_count = MatcherParams::kLargeStateCount * growth;
  }
  // The sets in the rollback ring stay in use, and each sequence of a search has its own stacks. The bounds keep the
  // sums in range.
  const uint32_t sequences = std::min(limits.sequence_count, MatcherParams::kMaxStateSetCount / 4);
  const uint32_t kept = std::min(limits.rollback_count, MatcherParams::kMaxStateSetCount / 2) + sequences;
  limits.state_set_count += kept;
  limits.state_count += (kStatesPerKeptSet + ambiguous(kAmbiguousStatesPerKeptSet, kTinyStateCount)) * kept;
  limits.visit_count += kVisitsPerMember * members.widest;
  limits.node_count += members.all;
  limits.frame_count += 2 * members.all;
  limits.state_set_count += members.all / 2;
  limits.state_count += members.widest * (kept / 2 + members.all / 8);
  if (calls > 0 && sequences > 1) {
    limits.node_count += kNodesPerSequence * (sequences - 1);
    limits.frame_count += kFramesPerSequence * (sequences - 1);
  }
  const auto words_size = static_cast<uint32_t>(TokenMask::word_count(token_count) * sizeof(uint64_t));
  // Grammars such as JSON use all of their masks after a short time.
  const bool is_dense = states <= kMaxDenseStates && calls >= states / kDenseStatesPerCall && calls > 0;
  const uint32_t mask_bytes =
      is_dense ? kDenseMasks * words_size + kDenseListBytes
               : kSparseMasks * words_size + kSparseListBytes + kListBytesPerState * std::min(states, kMaxListStates);
  limits.mask_bytes = std::max(kMinMaskBytes, mask_bytes);
  return limits;
}

}  // namespace

MatcherParams resolve_limits(const MatcherParams& given, const CompiledGrammar& grammar, uint32_t token_count) {
  const MatcherParams suggested = suggest(given, grammar, token_count);
  MatcherParams limits = given;
  for (const auto limit : {&MatcherParams::node_count, &MatcherParams::frame_count, &MatcherParams::state_set_count,
                           &MatcherParams::state_count, &MatcherParams::visit_count, &MatcherParams::mask_bytes}) {
    if (limits.*limit == 0) limits.*limit = suggested.*limit;
  }
  return limits;
}

}  // namespace sotto
