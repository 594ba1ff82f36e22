#include <algorithm>

#include "runtime/grammar/automata/rule_graph.h"

namespace sotto {

Minimizer::Partition::Partition(Workspace& workspace)
    : elements(workspace),
      location(workspace),
      set_of(workspace),
      first(workspace),
      past(workspace),
      marked(workspace),
      touched(workspace) {}

bool Minimizer::Partition::init(uint32_t count) {
  for (GrowingArray<uint32_t>* array : {&elements, &location, &set_of, &first, &past, &marked}) {
    array->truncate(0);
    if (!array->resize(count)) return false;
  }
  touched.truncate(0);
  if (!touched.resize(count)) return false;
  touched.truncate(0);
  for (uint32_t i = 0; i < count; ++i) elements[i] = location[i] = i;
  set_count = count > 0 ? 1 : 0;
  past[0] = count;
  return true;
}

void Minimizer::Partition::mark(uint32_t element) {
  const uint32_t set = set_of[element];
  const uint32_t from = location[element];
  const uint32_t to = first[set] + marked[set];
  elements[from] = elements[to];
  location[elements[from]] = from;
  elements[to] = element;
  location[element] = to;
  if (marked[set]++ == 0) touched.push(set);
}

// Separates the marked elements of each set from the others; the smaller part becomes a new
// set.
void Minimizer::Partition::split() {
  while (!touched.empty()) {
    const uint32_t set = touched.back();
    touched.pop();
    const uint32_t middle = first[set] + marked[set];
    if (middle == past[set]) {
      marked[set] = 0;
      continue;
    }
    const uint32_t added = set_count++;
    if (marked[set] <= past[set] - middle) {
      first[added] = first[set];
      past[added] = first[set] = middle;
    } else {
      past[added] = past[set];
      first[added] = past[set] = middle;
    }
    for (uint32_t i = first[added]; i < past[added]; ++i) set_of[elements[i]] = added;
    marked[set] = marked[added] = 0;
  }
}

Minimizer::Minimizer(Workspace& workspace)
    : blocks_(workspace), cords_(workspace), incoming_first_(workspace), incoming_(workspace) {}

bool Minimizer::init(const RuleGraph& graph) {
  const uint32_t edge_count = graph.edges.size();
  if (!blocks_.init(graph.state_count()) || !cords_.init(edge_count)) return false;
  incoming_first_.truncate(0);
  incoming_.truncate(0);
  if (!incoming_first_.resize(graph.state_count() + 1) || !incoming_.resize(edge_count)) {
    return false;
  }
  for (uint32_t e = 0; e < edge_count; ++e) ++incoming_first_[graph.edges[e].to];
  for (uint32_t i = 1; i <= graph.state_count(); ++i) incoming_first_[i] += incoming_first_[i - 1];
  for (uint32_t e = 0; e < edge_count; ++e) incoming_[--incoming_first_[graph.edges[e].to]] = e;

  // The edges, in sets of equal symbols.
  std::sort(cords_.elements.begin(), cords_.elements.end(),
            [&](uint32_t a, uint32_t b) { return graph.edges[a].symbol < graph.edges[b].symbol; });
  uint32_t set = 0;
  for (uint32_t i = 0; i < edge_count; ++i) {
    const uint32_t edge = cords_.elements[i];
    if (i > 0 && graph.edges[edge].symbol != graph.edges[cords_.elements[i - 1]].symbol) {
      cords_.past[set++] = i;
      cords_.first[set] = i;
    }
    cords_.set_of[edge] = set;
    cords_.location[edge] = i;
  }
  cords_.past[set] = edge_count;
  cords_.set_count = edge_count > 0 ? set + 1 : 0;
  return true;
}

void Minimizer::refine(const RuleGraph& graph) {
  for (uint32_t state = 0; state < graph.state_count(); ++state) {
    if (graph.finals[state] != 0) blocks_.mark(state);
  }
  blocks_.split();
  uint32_t block = 1;
  for (uint32_t cord = 0; cord < cords_.set_count; ++cord) {
    for (uint32_t i = cords_.first[cord]; i < cords_.past[cord]; ++i) {
      blocks_.mark(graph.edges[cords_.elements[i]].from);
    }
    blocks_.split();
    for (; block < blocks_.set_count; ++block) {
      for (uint32_t i = blocks_.first[block]; i < blocks_.past[block]; ++i) {
        const uint32_t state = blocks_.elements[i];
        for (uint32_t k = incoming_first_[state]; k < incoming_first_[state + 1]; ++k) {
          cords_.mark(incoming_[k]);
        }
      }
      cords_.split();
    }
  }
}

// Numbers the blocks from that of the start; keeps the edges of one state of each.
void Minimizer::rewrite(RuleGraph* graph) {
  const uint32_t start = blocks_.set_of[0];
  const auto number = [&](uint32_t state) {
    const uint32_t block = blocks_.set_of[state];
    return block == start ? 0 : block == 0 ? start : block;
  };
  const auto represents = [&](uint32_t state) {
    return blocks_.elements[blocks_.first[blocks_.set_of[state]]] == state;
  };
  uint32_t kept = 0;
  for (uint32_t e = 0; e < graph->edges.size(); ++e) {
    const RuleEdge edge = graph->edges[e];
    if (!represents(edge.from)) continue;
    graph->edges[kept++] = {number(edge.from), edge.symbol, number(edge.to)};
  }
  graph->edges.truncate(kept);
  // Finals by block; incoming_first_ is free by now and has room for them.
  for (uint32_t s = 0; s < graph->state_count(); ++s) incoming_first_[number(s)] = graph->finals[s];
  for (uint32_t b = 0; b < blocks_.set_count; ++b) {
    graph->finals[b] = static_cast<uint8_t>(incoming_first_[b]);
  }
  graph->finals.truncate(blocks_.set_count);
}

void Minimizer::minimize(RuleGraph* graph) {
  if (!init(*graph)) return;
  refine(*graph);
  rewrite(graph);
}

}  // namespace sotto
