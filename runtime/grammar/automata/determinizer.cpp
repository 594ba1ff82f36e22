#include <algorithm>
#include <bit>

#include "runtime/base/sort.h"
#include "runtime/base/xxhash64.h"
#include "runtime/grammar/automata/rule_graph.h"

namespace sotto {
namespace {

// States for each of the NFA that are not too many.
constexpr uint32_t kStateGrowth = 8;

}  // namespace

Determinizer::Determinizer(const GrammarBuilder& grammar, const Nfa& nfa, const Symbols& symbols, Workspace& workspace)
    : grammar_(grammar),
      nfa_(nfa),
      symbols_(symbols),
      workspace_(workspace),
      visited_(workspace),
      stack_(workspace),
      closure_(workspace),
      members_(workspace),
      subsets_(workspace),
      slots_(workspace),
      steps_(workspace) {
  visited_.resize(nfa.states.size());
}

void Determinizer::visit(uint32_t state) {
  if (visited_[state] == round_) return;
  visited_[state] = round_;
  stack_.push(state);
}

// Everything that epsilon edges reach from the targets, without states that only pass on.
void Determinizer::close(std::span<const uint64_t> steps) {
  ++round_;
  closure_.truncate(0);
  for (const uint64_t step : steps) visit(static_cast<uint32_t>(step));
  while (!stack_.empty()) {
    const uint32_t state = stack_.back();
    stack_.pop();
    bool matters = state == exit_;
    for (uint32_t e = nfa_.states[state].first_edge; e != 0; e = nfa_.edges[e].next) {
      const NfaEdge& edge = nfa_.edges[e];
      if (edge.label == NfaLabel::kEpsilon) {
        visit(edge.target);
      } else if (edge.label != NfaLabel::kRemoved) {
        matters = true;
      }
    }
    if (matters) closure_.push(state);
  }
  sort_numbers(closure_.begin(), closure_.end());
}

bool Determinizer::rehash() {
  // Also after a failure there is room for all subsets.
  const uint32_t count = std::bit_ceil(std::max(64u, 4 * subsets_.size()));
  slots_.truncate(0);
  if (!slots_.resize(count)) return false;
  for (uint32_t i = 0; i < subsets_.size(); ++i) {
    uint32_t slot = subsets_[i].hash & (count - 1);
    while (slots_[slot] != 0) slot = (slot + 1) & (count - 1);
    slots_[slot] = i + 1;
  }
  return true;
}

// The graph's state for the closure.
uint32_t Determinizer::intern(RuleGraph* graph) {
  const auto set = closure_.span();
  const auto hash = static_cast<uint32_t>(xxhash64(set.data(), set.size_bytes()));
  if (2 * (subsets_.size() + 1) > slots_.size() && !rehash()) return 0;
  const uint32_t mask = slots_.size() - 1;
  uint32_t slot = hash & mask;
  for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const Subset& known = subsets_[slots_[slot] - 1];
    const auto members = members_.span(known.first, known.count);
    if (known.hash == hash && std::equal(set.begin(), set.end(), members.begin(), members.end())) {
      return slots_[slot] - 1;
    }
  }
  const uint32_t first = members_.size();
  for (const uint32_t state : set) members_.push(state);
  if (workspace_.exhausted()) return 0;
  const uint32_t index = subsets_.push({first, static_cast<uint32_t>(set.size()), hash});
  graph->finals.push(std::find(set.begin(), set.end(), exit_) != set.end());
  slots_[slot] = index + 1;
  return index;
}

void Determinizer::add_steps(uint32_t nfa_state) {
  const auto add = [&](Interval symbols, uint32_t target) {
    for (uint64_t symbol = symbols.first; symbol <= symbols.last; ++symbol) {
      steps_.push(symbol << 32 | target);
    }
  };
  for (uint32_t e = nfa_.states[nfa_state].first_edge; e != 0; e = nfa_.edges[e].next) {
    const NfaEdge& edge = nfa_.edges[e];
    if (edge.label == NfaLabel::kEpsilon || edge.label == NfaLabel::kRemoved) continue;
    if (edge.label != NfaLabel::kTokens) {
      add(symbols_.of_edge(edge), edge.target);
      continue;
    }
    for (const Interval& tokens : grammar_.intervals(grammar_.expression(edge.value))) {
      add(symbols_.of_tokens(tokens), edge.target);
    }
  }
}

void Determinizer::begin(uint32_t rule, RuleGraph* graph) {
  graph->clear();
  members_.truncate(0);
  subsets_.truncate(0);
  slots_.truncate(0);
  exit_ = nfa_.rules[rule].exit;
  const uint64_t start = nfa_.rules[rule].start;
  close({&start, 1});
  intern(graph);
}

void Determinizer::collect_steps(const Subset& subset) {
  steps_.truncate(0);
  for (uint32_t i = 0; i < subset.count; ++i) add_steps(members_[subset.first + i]);
  sort_numbers(steps_.begin(), steps_.end());
  const auto* end = std::unique(steps_.begin(), steps_.end());
  steps_.truncate(static_cast<size_t>(end - steps_.begin()));
}

bool Determinizer::determinize(uint32_t rule, uint32_t allowance, RuleGraph* graph) {
  begin(rule, graph);
  const bool is_last = rule + 1 == nfa_.rules.size();
  const uint32_t end = is_last ? nfa_.states.size() : nfa_.rules[rule + 1].start;
  const uint64_t growth = allowance == 0 ? 0 : kStateGrowth;
  const uint64_t limit = allowance + growth * (end - nfa_.rules[rule].start);
  for (uint32_t state = 0; state < subsets_.size() && !workspace_.exhausted(); ++state) {
    if (subsets_.size() > limit) return false;
    collect_steps(subsets_[state]);
    add_edges(state, graph);
  }
  return true;
}

// One edge for each symbol, to the closure of its targets. Neighbouring symbols often have
// the same targets.
void Determinizer::add_edges(uint32_t state, RuleGraph* graph) {
  const auto same_targets = [&](size_t a, size_t b, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      if (static_cast<uint32_t>(steps_[a + i]) != static_cast<uint32_t>(steps_[b + i])) return false;
    }
    return true;
  };
  size_t previous = 0;
  size_t previous_count = 0;
  uint32_t target = 0;
  for (size_t i = 0; i < steps_.size();) {
    size_t end = i;
    while (end < steps_.size() && steps_[end] >> 32 == steps_[i] >> 32) ++end;
    if (end - i != previous_count || !same_targets(i, previous, previous_count)) {
      close(steps_.span(i, end - i));
      target = intern(graph);
      previous = i;
      previous_count = end - i;
    }
    graph->edges.push({state, static_cast<uint32_t>(steps_[i] >> 32), target});
    i = end;
  }
}

void Determinizer::remove_epsilons(uint32_t rule, RuleGraph* graph) {
  begin(rule, graph);
  for (uint32_t state = 0; state < subsets_.size() && !workspace_.exhausted(); ++state) {
    collect_steps(subsets_[state]);
    for (size_t i = 0; i < steps_.size() && !workspace_.exhausted(); ++i) {
      close(steps_.span(i, 1));
      // One state for each member; the stack keeps them while the closure is used for that.
      for (const uint32_t member : closure_.span()) stack_.push(member);
      while (!stack_.empty()) {
        closure_.truncate(0);
        closure_.push(stack_.back());
        stack_.pop();
        graph->edges.push({state, static_cast<uint32_t>(steps_[i] >> 32), intern(graph)});
      }
    }
  }
}

}  // namespace sotto
