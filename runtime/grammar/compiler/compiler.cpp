#include "runtime/grammar/compiler/compiler.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "runtime/grammar/automata/dfa.h"
#include "runtime/grammar/compiler/lookahead.h"
#include "runtime/grammar/compiler/rule_nfa.h"
#include "runtime/grammar/compiler/source_error.h"

namespace sotto {

// Collects the automata of all rules, merges symbol classes that no state distinguishes, and writes the compiled
// grammar.
class GrammarWriter {
 public:
  GrammarWriter(const RuleNfa& nfa, const Symbols& symbols, Workspace& workspace);

  // Adds `flags` to all states of the rule.
  void add_rule(uint32_t rule, uint32_t flags, Dfa* dfa);
  // Returns null if the workspace is exhausted.
  const CompiledGrammar* write(uint32_t root);

 private:
  // The moves of a state that read one class, as a range of moves_.
  struct ClassMoves {
    uint32_t joined;  // the class that it has been merged into so far
    uint32_t symbol_class;
    uint32_t first;
    uint32_t count;
  };

  void join_classes();
  void refine(uint32_t first_move, uint32_t end_move);
  bool same_targets(const ClassMoves& a, const ClassMoves& b) const;
  void number_classes();
  void apply_classes();
  void link_calls(uint32_t root);
  void fill(CompiledGrammar* grammar, uint32_t root) const;

  const RuleNfa& nfa_;
  const Symbols& symbols_;
  Workspace& workspace_;
  GrowingArray<GrammarState> states_;
  GrowingArray<GrammarMove> moves_;
  GrowingArray<GrammarCall> calls_;     // before link_calls(), rule_start contains a rule instead of a state
  GrowingArray<uint32_t> rule_starts_;  // start state of each rule
  GrowingArray<uint32_t> joined_;       // for each class of Symbols, the class into which it is merged
  // Number of classes in each merged class. number_classes() and apply_classes() reuse the memory for other numbers per
  // merged class.
  GrowingArray<uint32_t> joined_counts_;
  GrowingArray<ClassMoves> groups_;
  GrowingArray<TokenRange> ranges_;
  uint32_t byte_class_count_ = 0;
  uint32_t class_count_ = 0;
};

namespace {

void warn(const GrammarBuilder& builder, uint32_t rule, const RuleWarnings& warnings) {
  if (warnings.unreachable == nullptr || builder.rule_at(rule).name_size == 0) return;
  warnings.unreachable(warnings.self, builder.rule_name(rule), builder.rule_at(rule).defined);
}

// Returns the maximum number of states in the DFA of a rule: `allowance` plus eight times the number of states in its
// NFA.
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
    return fail_in_source(error, source, builder.rule_at(start.text).defined, "start rule matches no finite text");
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
    writer.add_rule(rule, builder.rule_at(rule).prefers_literals ? GrammarState::kPrefersLiterals : 0u, &dfa);
  }
  *grammar = workspace.exhausted() ? nullptr : writer.write(start.first);
  return *grammar == nullptr ? fail_too_large(error) : Status::kOk;
}

GrammarWriter::GrammarWriter(const RuleNfa& nfa, const Symbols& symbols, Workspace& workspace)
    : nfa_(nfa),
      symbols_(symbols),
      workspace_(workspace),
      states_(workspace),
      moves_(workspace),
      calls_(workspace),
      rule_starts_(workspace),
      joined_(workspace),
      joined_counts_(workspace),
      groups_(workspace),
      ranges_(workspace) {
  constexpr uint8_t kEndOfRule = GrammarState::kFinal | GrammarState::kLast;
  states_.push({0, 0, kEndOfRule, 0, 0, 0});  // kAcceptState
  states_.push({0, 0, kEndOfRule, 0, 0, 0});  // kUnknownState
  rule_starts_.resize(nfa.rules.size());
}

// Appends the states, moves and calls of a rule. The moves of a state are sorted by symbol.
void GrammarWriter::add_rule(uint32_t rule, uint32_t flags, Dfa* dfa) {
  std::sort(dfa->edges.begin(), dfa->edges.end(), [](const DfaEdge& a, const DfaEdge& b) {
    return a.from != b.from ? a.from < b.from : a.symbol != b.symbol ? a.symbol < b.symbol : a.to < b.to;
  });
  const uint32_t base = states_.size();
  rule_starts_[rule] = base;
  uint32_t e = 0;
  for (uint32_t state = 0; state < dfa->state_count(); ++state) {
    const uint32_t first = e;
    const uint32_t first_move = moves_.size();
    const uint32_t first_call = calls_.size();
    for (; e < dfa->edges.size() && dfa->edges[e].from == state; ++e) {
      const DfaEdge& edge = dfa->edges[e];
      if (!symbols_.is_call(edge.symbol)) {
        moves_.push({edge.symbol, base + edge.to});
        continue;
      }
      uint32_t callee = 0;
      uint32_t loop = 0;
      symbols_.call_of(nfa_, edge.symbol, &callee, &loop);
      calls_.push({callee, loop, base + edge.to});
    }
    const uint32_t final_flag = dfa->finals[state] != 0 ? GrammarState::kFinal : 0;
    const uint32_t last_flag = e == first ? GrammarState::kLast : 0;
    states_.push({first_move, first_call, static_cast<uint8_t>(flags | final_flag | last_flag), 0, 0, 0});
  }
}

bool GrammarWriter::same_targets(const ClassMoves& a, const ClassMoves& b) const {
  if (a.count != b.count) return false;
  for (uint32_t i = 0; i < a.count; ++i) {
    if (moves_[a.first + i].target != moves_[b.first + i].target) return false;
  }
  return true;
}

// Splits merged classes whose moves in this state differ.
void GrammarWriter::refine(uint32_t first_move, uint32_t end_move) {
  groups_.truncate(0);
  for (uint32_t m = first_move; m < end_move; ++m) {
    const uint32_t symbol_class = moves_[m].symbol_class;
    if (!groups_.empty() && groups_.back().symbol_class == symbol_class) {
      ++groups_.back().count;
    } else {
      groups_.push({joined_[symbol_class], symbol_class, m, 1});
    }
  }
  std::sort(groups_.begin(), groups_.end(), [&](const ClassMoves& a, const ClassMoves& b) {
    if (a.joined != b.joined) return a.joined < b.joined;
    if (a.count != b.count) return a.count < b.count;
    for (uint32_t i = 0; i < a.count; ++i) {
      const uint32_t target_a = moves_[a.first + i].target;
      const uint32_t target_b = moves_[b.first + i].target;
      if (target_a != target_b) return target_a < target_b;
    }
    return false;
  });
  for (uint32_t begin = 0; begin < groups_.size();) {
    uint32_t end = begin + 1;
    while (end < groups_.size() && groups_[end].joined == groups_[begin].joined &&
           same_targets(groups_[begin], groups_[end])) {
      ++end;
    }
    const uint32_t joined = groups_[begin].joined;
    if (end - begin < joined_counts_[joined]) {
      joined_counts_[joined] -= end - begin;
      const uint32_t added = joined_counts_.push(end - begin);
      for (uint32_t i = begin; i < end; ++i) joined_[groups_[i].symbol_class] = added;
    }
    begin = end;
  }
}

// Merges classes by partition refinement: at first, all classes of bytes are merged into one, and those of tokens into
// another. Then each state splits the classes that it distinguishes.
void GrammarWriter::join_classes() {
  const uint32_t byte_classes = symbols_.byte_class_count();
  if (!joined_.resize(symbols_.class_count())) return;
  for (uint32_t c = byte_classes; c < symbols_.class_count(); ++c) joined_[c] = 1;
  joined_counts_.push(byte_classes);
  joined_counts_.push(symbols_.token_class_count());
  for (uint32_t s = 0; s < states_.size() && !workspace_.exhausted(); ++s) {
    const bool is_last = s + 1 == states_.size();
    refine(states_[s].first_move, is_last ? moves_.size() : states_[s + 1].first_move);
  }
}

// Numbers the merged classes in the order of their first byte or token.
void GrammarWriter::number_classes() {
  GrowingArray<uint32_t>& numbers = joined_counts_;
  for (uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = kNoIndex;
  for (uint32_t c = 0; c < symbols_.class_count(); ++c) {
    if (c == symbols_.byte_class_count()) byte_class_count_ = class_count_;
    uint32_t& number = numbers[joined_[c]];
    if (number == kNoIndex) number = class_count_++;
    joined_[c] = number;
  }
  if (symbols_.token_class_count() == 0) byte_class_count_ = class_count_;
}

// Rewrites the moves with the merged classes. The moves of a merged class are equal, so they become one move.
void GrammarWriter::apply_classes() {
  uint32_t kept = 0;
  uint32_t next = 0;
  for (uint32_t s = 0; s < states_.size(); ++s) {
    const bool is_last = s + 1 == states_.size();
    const uint32_t end = is_last ? moves_.size() : states_[s + 1].first_move;
    const uint32_t first = kept;
    for (; next < end; ++next) {
      moves_[kept++] = {joined_[moves_[next].symbol_class], moves_[next].target};
    }
    auto* begin = moves_.begin() + first;
    auto* past = moves_.begin() + kept;
    std::sort(begin, past, [](const GrammarMove& a, const GrammarMove& b) {
      return a.symbol_class != b.symbol_class ? a.symbol_class < b.symbol_class : a.target < b.target;
    });
    past = std::unique(begin, past, [](const GrammarMove& a, const GrammarMove& b) {
      return a.symbol_class == b.symbol_class && a.target == b.target;
    });
    kept = static_cast<uint32_t>(past - moves_.begin());
    states_[s].first_move = first;
  }
  moves_.truncate(kept);
  GrowingArray<uint32_t>& is_used = joined_counts_;
  is_used.truncate(0);
  if (!is_used.resize(class_count_)) return;
  for (const GrammarMove& move : moves_.span()) is_used[move.symbol_class] = 1;
  for (uint32_t c = 0; c < symbols_.token_class_count(); ++c) {
    const uint32_t number = joined_[symbols_.byte_class_count() + c];
    const Interval tokens = symbols_.tokens(c);
    if (is_used[number] != 0) ranges_.push({tokens.first, tokens.last, number});
  }
}

// Replaces the rules of calls by their start states, and marks the start states that calls, sets or the root refer to.
void GrammarWriter::link_calls(uint32_t root) {
  for (uint32_t i = 0; i < calls_.size(); ++i) {
    calls_[i].rule_start = rule_starts_[calls_[i].rule_start];
    states_[calls_[i].rule_start].flags |= GrammarState::kStart;
  }
  for (const Loop& loop : nfa_.loops.span()) {
    const uint32_t start = rule_starts_[loop.rule];
    if (loop.set != kNoIndex && start != kAcceptState) states_[start].flags |= GrammarState::kStart;
  }
  states_[rule_starts_[root]].flags |= GrammarState::kStart;
}

const CompiledGrammar* GrammarWriter::write(uint32_t root) {
  join_classes();
  if (workspace_.exhausted()) return nullptr;
  number_classes();
  apply_classes();
  link_calls(root);
  states_.push({moves_.size(), calls_.size(), 0, 0, 0, 0});  // marks the end of the last state
  if (workspace_.exhausted()) return nullptr;
  const size_t size = sizeof(CompiledGrammar) + states_.span().size_bytes() + moves_.span().size_bytes() +
                      calls_.span().size_bytes() + nfa_.loops.size() * sizeof(GrammarLoop) +
                      ranges_.span().size_bytes();
  if (size > UINT32_MAX) return nullptr;
  auto* memory = workspace_.take<uint8_t>(size);
  if (memory == nullptr) return nullptr;
  auto* grammar = new (memory) CompiledGrammar;
  grammar->size_ = size;
  fill(grammar, root);
  Lookahead::find(grammar);
  return grammar;
}

// Copies all arrays to the memory after the grammar, and stores their offsets and sizes.
void GrammarWriter::fill(CompiledGrammar* grammar, uint32_t root) const {
  auto* memory = reinterpret_cast<uint8_t*>(grammar);
  auto offset = static_cast<uint32_t>(sizeof(CompiledGrammar));
  const auto put = [&](auto elements) {
    const uint32_t at = offset;
    if (!elements.empty()) std::memcpy(memory + at, elements.data(), elements.size_bytes());
    offset += static_cast<uint32_t>(elements.size_bytes());
    return at;
  };
  grammar->states_ = put(states_.span());
  grammar->moves_ = put(moves_.span());
  grammar->calls_ = put(calls_.span());
  grammar->loops_ = offset;
  for (const Loop& loop : nfa_.loops.span()) {
    const GrammarLoop linked{rule_starts_[loop.rule], loop.minimum, loop.maximum, loop.set};
    put(std::span(&linked, 1));
  }
  grammar->token_ranges_ = put(ranges_.span());
  grammar->counts_ = {states_.size() - 1, moves_.size(),     calls_.size(), nfa_.loops.size(),
                      ranges_.size(),     byte_class_count_, class_count_};
  grammar->root_start_ = rule_starts_[root];
  const auto begins = [](const GrammarState& s) { return (s.flags & GrammarState::kStart) != 0; };
  const auto states = states_.span();
  grammar->rule_count_ = static_cast<uint32_t>(std::count_if(states.begin(), states.end(), begins));
  for (uint32_t byte = 0; byte < 256; ++byte) {
    grammar->byte_classes_[byte] = static_cast<uint8_t>(joined_[symbols_.byte_class(byte)]);
  }
}

}  // namespace sotto
