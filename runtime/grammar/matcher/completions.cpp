#include "runtime/grammar/matcher/completions.h"

#include <algorithm>

namespace sotto {
namespace {

uint32_t multiply(uint32_t completion, uint32_t times) {
  return static_cast<uint32_t>(std::min<uint64_t>(uint64_t{completion} * times, kNoCompletion));
}

bool is_final(const CompiledGrammar& grammar, uint32_t state) {
  return (grammar.flags(state) & GrammarState::kFinal) != 0;
}

// Returns the cost of a possibly empty string from the state to the end of its rule.
uint32_t to_end(const CompiledGrammar& grammar, const uint32_t* costs, uint32_t state) {
  return is_final(grammar, state) ? 0 : costs[state];
}

// Returns the cost of the members that a set requires and `read` does not contain.
uint32_t cost_of_members(const CompiledGrammar& grammar, const uint32_t* costs, uint32_t set, uint64_t read) {
  uint32_t cost = 0;
  uint64_t bit = 1;
  for (const GrammarLoop& member : grammar.members(set)) {
    if (member.minimum == 1 && (read & bit) == 0) cost = add_completions(cost, costs[member.rule_start]);
    bit <<= 1;
  }
  return cost;
}

// Returns the set of members that have been read after one that belongs to the loop.
uint64_t add_member(const CompiledGrammar& grammar, uint32_t loop, uint64_t read) {
  const GrammarLoop& member = grammar.loop(loop);
  return member.maximum == 1 ? read | uint64_t{1} << (loop - member.set) : read;
}

// Returns the cost of a call and of everything after it in the rule.
uint32_t cost_of_call(const CompiledGrammar& grammar, const uint32_t* costs, const GrammarCall& call) {
  uint32_t cost = costs[call.rule_start];
  if (call.loop != kNoLoop) {
    const GrammarLoop& loop = grammar.loop(call.loop);
    if (loop.set == kNoSet) {
      cost = multiply(cost, std::max(loop.minimum, 1u));
    } else {
      const uint64_t read = add_member(grammar, call.loop, 0);
      cost = add_completions(cost, cost_of_members(grammar, costs, loop.set, read));
    }
  }
  return add_completions(cost, to_end(grammar, costs, call.target));
}

// Finds the completions of all states. The edges of the search are first the moves and then the calls. An edge can be
// used once the completions of its target and of its called rule are known.
class CompletionSearch {
 public:
  void layout(Arena& arena, const CompiledGrammar& grammar);
  void run(const CompiledGrammar& grammar, const Vocabulary& vocabulary, uint32_t* tokens);

 private:
  struct Candidate {
    uint32_t bytes;
    uint32_t edge;
  };
  static constexpr uint32_t kNone = UINT32_MAX;

  static bool costs_more(const Candidate& a, const Candidate& b) { return a.bytes > b.bytes; }
  const GrammarMove& move(uint32_t edge) const { return grammar_->moves(0).data()[edge]; }
  bool is_move(uint32_t edge) const { return edge < grammar_->counts().moves; }
  const GrammarCall& call(uint32_t edge) const { return grammar_->calls(0).data()[edge - grammar_->counts().moves]; }
  template <typename Use>
  void for_each_dependency(uint32_t edge, Use use) const;
  void find_edges();
  void find_bytes(const Vocabulary& vocabulary);
  uint32_t cost_in_bytes(uint32_t edge) const;
  uint32_t cost_in_tokens(uint32_t edge, const uint32_t* tokens) const;
  uint32_t read_moves(uint32_t edge, const uint32_t* tokens) const;
  uint32_t child(uint32_t begin, uint32_t end, uint8_t byte) const;
  void push(uint32_t edge);

  const CompiledGrammar* grammar_ = nullptr;
  const TrieNode* nodes_ = nullptr;
  uint32_t node_count_ = 0;
  uint32_t candidate_count_ = 0;
  uint32_t roots_[256] = {};  // the first node of each byte in the trie, or kNone
  uint8_t bytes_of_classes_[256] = {};
  uint32_t* costs_ = nullptr;        // in bytes
  uint32_t* sources_ = nullptr;      // the state of each edge
  uint32_t* paths_ = nullptr;        // for each state, the first edge of its shortest completion
  uint32_t* ends_ = nullptr;         // for each state, the end of its part of users_
  uint32_t* users_ = nullptr;        // the edges that depend on each state
  Candidate* candidates_ = nullptr;  // a binary heap
};

template <typename Use>
void CompletionSearch::for_each_dependency(uint32_t edge, Use use) const {
  const uint32_t target = is_move(edge) ? move(edge).target : call(edge).target;
  if (!is_final(*grammar_, target)) use(target);
  if (is_move(edge)) return;
  const GrammarCall& c = call(edge);
  use(c.rule_start);
  if (c.loop == kNoLoop || grammar_->loop(c.loop).set == kNoSet) return;
  for (const GrammarLoop& member : grammar_->members(grammar_->loop(c.loop).set)) {
    if (member.minimum == 1) use(member.rule_start);
  }
}

void CompletionSearch::layout(Arena& arena, const CompiledGrammar& grammar) {
  grammar_ = &grammar;
  const CompiledGrammar::Counts& counts = grammar.counts();
  const size_t edges = size_t{counts.moves} + counts.calls;
  uint64_t dependencies = 0;
  for (uint32_t edge = 0; edge < edges; ++edge) for_each_dependency(edge, [&](uint32_t) { ++dependencies; });
  const size_t users = dependencies > UINT32_MAX ? SIZE_MAX : static_cast<size_t>(dependencies);
  costs_ = arena.take<uint32_t>(counts.states);
  sources_ = arena.take<uint32_t>(edges);
  paths_ = arena.take<uint32_t>(counts.states);
  ends_ = arena.take<uint32_t>(counts.states);
  users_ = arena.take<uint32_t>(users);
  candidates_ = arena.take<Candidate>(users + edges);
}

// Lists the source of each edge and, with a counting sort, the edges that depend on each state.
void CompletionSearch::find_edges() {
  const uint32_t states = grammar_->counts().states;
  const uint32_t edges = grammar_->counts().moves + grammar_->counts().calls;
  for (uint32_t state = 0; state < states; ++state) {
    const auto first = static_cast<size_t>(grammar_->moves(state).data() - grammar_->moves(0).data());
    const auto first_call = static_cast<size_t>(grammar_->calls(state).data() - grammar_->calls(0).data());
    std::fill_n(sources_ + first, grammar_->moves(state).size(), state);
    std::fill_n(sources_ + grammar_->counts().moves + first_call, grammar_->calls(state).size(), state);
  }
  std::fill_n(ends_, states, 0u);
  for (uint32_t edge = 0; edge < edges; ++edge) for_each_dependency(edge, [&](uint32_t state) { ++ends_[state]; });
  uint32_t begin = 0;
  for (uint32_t state = 0; state < states; ++state) {
    const uint32_t count = ends_[state];
    ends_[state] = begin;
    begin += count;
  }
  for (uint32_t edge = 0; edge < edges; ++edge) {
    for_each_dependency(edge, [&](uint32_t state) { users_[ends_[state]++] = edge; });
  }
}

// Chooses a byte for each class: one that is a token by itself, if there is one.
void CompletionSearch::find_bytes(const Vocabulary& vocabulary) {
  nodes_ = vocabulary.nodes.data();
  node_count_ = static_cast<uint32_t>(vocabulary.nodes.size() - 1);
  std::fill_n(roots_, 256, kNone);
  for (uint32_t i = 0; i < node_count_; i = nodes_[i].next()) roots_[nodes_[i].byte()] = i;
  const auto is_token = [&](uint32_t byte) {
    const uint32_t node = roots_[byte];
    return node != kNone && nodes_[node].first_token() < nodes_[node + 1].first_token();
  };
  bool has_byte[256] = {};
  for (uint32_t byte = 256; byte-- > 0;) {
    const uint8_t byte_class = grammar_->byte_class(static_cast<uint8_t>(byte));
    uint8_t& chosen = bytes_of_classes_[byte_class];
    if (!has_byte[byte_class] || is_token(byte) || !is_token(chosen)) chosen = static_cast<uint8_t>(byte);
    has_byte[byte_class] = true;
  }
}

uint32_t CompletionSearch::cost_in_bytes(uint32_t edge) const {
  return is_move(edge) ? add_completions(1, to_end(*grammar_, costs_, move(edge).target))
                       : cost_of_call(*grammar_, costs_, call(edge));
}

uint32_t CompletionSearch::cost_in_tokens(uint32_t edge, const uint32_t* tokens) const {
  if (!is_move(edge)) return cost_of_call(*grammar_, tokens, call(edge));
  if (move(edge).symbol_class < grammar_->byte_class_count()) return read_moves(edge, tokens);
  return add_completions(1, to_end(*grammar_, tokens, move(edge).target));
}

uint32_t CompletionSearch::child(uint32_t begin, uint32_t end, uint8_t byte) const {
  if (begin == 0) return roots_[byte];
  while (begin < end && nodes_[begin].byte() != byte) begin = nodes_[begin].next();
  return begin < end ? begin : kNone;
}

// Returns the smallest number of tokens that read the moves of the shortest path, from `edge` on, and the rest of the
// rule. Follows the path as long as some token begins with its bytes.
uint32_t CompletionSearch::read_moves(uint32_t edge, const uint32_t* tokens) const {
  uint32_t fewest = kNoCompletion;
  uint32_t begin = 0;
  uint32_t end = node_count_;
  while (is_move(edge) && move(edge).symbol_class < grammar_->byte_class_count()) {
    const uint32_t node = child(begin, end, bytes_of_classes_[move(edge).symbol_class]);
    if (node == kNone) break;
    const uint32_t target = move(edge).target;
    if (nodes_[node].first_token() < nodes_[node + 1].first_token()) {
      fewest = std::min(fewest, add_completions(1, to_end(*grammar_, tokens, target)));
    }
    if (is_final(*grammar_, target)) break;
    edge = paths_[target];
    begin = node + 1;
    end = nodes_[node].next();
  }
  return fewest;
}

// Adds an edge to the heap if everything that it depends on is known.
void CompletionSearch::push(uint32_t edge) {
  const uint32_t bytes = cost_in_bytes(edge);
  if (bytes == kNoCompletion || costs_[sources_[edge]] != kNoCompletion) return;
  candidates_[candidate_count_++] = {bytes, edge};
  std::push_heap(candidates_, candidates_ + candidate_count_, costs_more);
}

void CompletionSearch::run(const CompiledGrammar& grammar, const Vocabulary& vocabulary, uint32_t* tokens) {
  grammar_ = &grammar;
  find_edges();
  find_bytes(vocabulary);
  const uint32_t states = grammar.counts().states;
  std::fill_n(costs_, states, kNoCompletion);
  std::fill_n(tokens, states, kNoCompletion);
  for (uint32_t edge = 0; edge < grammar.counts().moves; ++edge) {
    if (is_final(grammar, move(edge).target)) push(edge);
  }
  while (candidate_count_ > 0) {
    std::pop_heap(candidates_, candidates_ + candidate_count_, costs_more);
    const Candidate next = candidates_[--candidate_count_];
    const uint32_t state = sources_[next.edge];
    if (costs_[state] != kNoCompletion) continue;
    // Avoid an edge whose byte is not a token by itself.
    const uint32_t count = cost_in_tokens(next.edge, tokens);
    if (count == kNoCompletion) continue;
    costs_[state] = next.bytes;
    tokens[state] = count;
    paths_[state] = next.edge;
    for (uint32_t i = state == 0 ? 0 : ends_[state - 1]; i < ends_[state]; ++i) push(users_[i]);
  }
}

}  // namespace

void Completions::layout(Arena& arena, const CompiledGrammar& grammar) {
  state_completions_ = arena.take<uint32_t>(grammar.counts().states);
}

void Completions::layout_search(Arena& arena, const CompiledGrammar& grammar) {
  search_memory_ = arena;
  CompletionSearch().layout(arena, grammar);
}

void Completions::init(const CompiledGrammar& grammar, const Vocabulary& vocabulary) {
  grammar_ = &grammar;
  CompletionSearch search;
  search.layout(search_memory_, grammar);
  search.run(grammar, vocabulary, state_completions_);
}

uint32_t Completions::after_call(uint32_t state, uint32_t loop, uint64_t count) const {
  const uint32_t rest = to_end(*grammar_, state_completions_, state);
  if (loop == kNoLoop) return rest;
  const GrammarLoop& bounds = grammar_->loop(loop);
  if (bounds.set != kNoSet) {
    return add_completions(
        rest, cost_of_members(*grammar_, state_completions_, bounds.set, add_member(*grammar_, loop, count)));
  }
  const auto missing = static_cast<uint32_t>(bounds.minimum > count ? bounds.minimum - count - 1 : 0);
  return add_completions(rest, multiply(state_completions_[bounds.rule_start], missing));
}

}  // namespace sotto
