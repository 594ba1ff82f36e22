#include "runtime/grammar/automata/dfa.h"

namespace sotto {
namespace {

// Lists the edges into each state, by their numbers, in one array.
bool index_incoming(const Dfa& dfa, GrowingArray<uint32_t>* first, GrowingArray<uint32_t>* edges) {
  first->truncate(0);
  edges->truncate(0);
  if (!first->resize(dfa.state_count() + 1) || !edges->resize(dfa.edges.size())) return false;
  for (uint32_t e = 0; e < dfa.edges.size(); ++e) ++(*first)[dfa.edges[e].to];
  for (uint32_t i = 1; i <= dfa.state_count(); ++i) (*first)[i] += (*first)[i - 1];
  for (uint32_t e = 0; e < dfa.edges.size(); ++e) (*edges)[--(*first)[dfa.edges[e].to]] = e;
  return true;
}

}  // namespace

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

// Separates the marked elements of each set from the others. The smaller part becomes the new set, so each element
// moves at most log2(count) times.
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

bool Minimizer::init(const Dfa& dfa) {
  const uint32_t edge_count = dfa.edges.size();
  if (!blocks_.init(dfa.state_count()) || !cords_.init(edge_count)) return false;
  if (!index_incoming(dfa, &incoming_first_, &incoming_)) return false;
  // At first, all edges of a symbol form one set (a "cord").
  std::sort(cords_.elements.begin(), cords_.elements.end(),
            [&](uint32_t a, uint32_t b) { return dfa.edges[a].symbol < dfa.edges[b].symbol; });
  uint32_t set = 0;
  for (uint32_t i = 0; i < edge_count; ++i) {
    const uint32_t edge = cords_.elements[i];
    if (i > 0 && dfa.edges[edge].symbol != dfa.edges[cords_.elements[i - 1]].symbol) {
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

// Splits blocks by cords and cords by blocks until nothing changes. All edges of a cord then lead from one block to one
// block, so the states of a block are equivalent.
void Minimizer::refine(const Dfa& dfa) {
  for (uint32_t state = 0; state < dfa.state_count(); ++state) {
    if (dfa.finals[state] != 0) blocks_.mark(state);
  }
  blocks_.split();
  uint32_t block = 1;
  for (uint32_t cord = 0; cord < cords_.set_count; ++cord) {
    for (uint32_t i = cords_.first[cord]; i < cords_.past[cord]; ++i) {
      blocks_.mark(dfa.edges[cords_.elements[i]].from);
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

// Numbers the blocks so that the block of the start state is 0, and keeps the edges of one state per block.
void Minimizer::rewrite(Dfa* dfa) {
  const uint32_t start = blocks_.set_of[0];
  const auto number = [&](uint32_t state) {
    const uint32_t block = blocks_.set_of[state];
    return block == start ? 0 : block == 0 ? start : block;
  };
  const auto represents = [&](uint32_t state) {
    return blocks_.elements[blocks_.first[blocks_.set_of[state]]] == state;
  };
  uint32_t kept = 0;
  for (uint32_t e = 0; e < dfa->edges.size(); ++e) {
    const DfaEdge edge = dfa->edges[e];
    if (!represents(edge.from)) continue;
    dfa->edges[kept++] = {number(edge.from), edge.symbol, number(edge.to)};
  }
  dfa->edges.truncate(kept);
  // incoming_first_ is no longer needed and is large enough to hold `finals` by block.
  for (uint32_t s = 0; s < dfa->state_count(); ++s) incoming_first_[number(s)] = dfa->finals[s];
  for (uint32_t b = 0; b < blocks_.set_count; ++b) dfa->finals[b] = static_cast<uint8_t>(incoming_first_[b]);
  dfa->finals.truncate(blocks_.set_count);
}

void Minimizer::minimize(Dfa* dfa) {
  if (!init(*dfa)) return;
  refine(*dfa);
  rewrite(dfa);
}

uint32_t Minimizer::number_blocks(const Dfa& dfa, std::span<const uint8_t> live, uint32_t* numbers) {
  if (!init(dfa)) return 0;
  refine(dfa);
  GrowingArray<uint32_t>& number_of_block = incoming_first_;
  for (uint32_t b = 0; b < blocks_.set_count; ++b) number_of_block[b] = kUnnumbered;
  uint32_t count = 0;
  for (uint32_t state = 0; state < dfa.state_count(); ++state) {
    uint32_t& number = number_of_block[blocks_.set_of[state]];
    if (live[state] != 0 && number == kUnnumbered) number = count++;
    numbers[state] = live[state] != 0 ? number : kUnnumbered;
  }
  return count;
}

bool remove_dead_ends(Dfa* dfa, Workspace& workspace, GrowingArray<uint8_t>* live) {
  GrowingArray<uint32_t> incoming_first(workspace);
  GrowingArray<uint32_t> incoming(workspace);
  GrowingArray<uint32_t> stack(workspace);
  if (!index_incoming(*dfa, &incoming_first, &incoming) || !live->resize(dfa->state_count())) return false;
  if (!stack.resize(dfa->state_count())) return false;
  stack.truncate(0);
  const auto mark = [&](uint32_t state) {
    if ((*live)[state] != 0) return;
    (*live)[state] = 1;
    stack.push(state);
  };
  for (uint32_t state = 0; state < dfa->state_count(); ++state) {
    if (dfa->finals[state] != 0) mark(state);
  }
  while (!stack.empty()) {
    const uint32_t state = stack.back();
    stack.pop();
    for (uint32_t i = incoming_first[state]; i < incoming_first[state + 1]; ++i) mark(dfa->edges[incoming[i]].from);
  }
  uint32_t kept = 0;
  for (uint32_t e = 0; e < dfa->edges.size(); ++e) {
    const DfaEdge edge = dfa->edges[e];
    if ((*live)[edge.to] != 0) dfa->edges[kept++] = edge;
  }
  dfa->edges.truncate(kept);
  return true;
}

}  // namespace sotto
