#include "runtime/grammar/automata/symbols.h"

#include <algorithm>

#include "runtime/base/sort.h"

namespace sotto {

void Symbols::init(const GrammarBuilder& grammar, const Nfa& nfa) {
  bool starts[257] = {};
  for (const NfaEdge& edge : nfa.edges.span()) {
    if (edge.label == NfaLabel::kByte) {
      starts[edge.lo] = true;
      starts[edge.hi + 1] = true;
    } else if (edge.label == NfaLabel::kTokens) {
      for (const Interval& tokens : grammar.intervals(grammar.expression(edge.value))) {
        token_cuts_.push(tokens.first);
        token_cuts_.push(tokens.last + 1);
      }
    }
  }
  uint32_t byte_class = 0;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if (byte > 0 && starts[byte]) ++byte_class;
    byte_classes_[byte] = static_cast<uint8_t>(byte_class);
  }
  byte_class_count_ = byte_class + 1;
  sort_numbers(token_cuts_.begin(), token_cuts_.end());
  const auto* end = std::unique(token_cuts_.begin(), token_cuts_.end());
  token_cuts_.truncate(static_cast<size_t>(end - token_cuts_.begin()));
  rule_count_ = nfa.rules.size();
}

uint32_t Symbols::cut_index(uint32_t token) const {
  const auto cuts = token_cuts_.span();
  return static_cast<uint32_t>(std::lower_bound(cuts.begin(), cuts.end(), token) - cuts.begin());
}

Interval Symbols::of_tokens(Interval tokens) const {
  return {byte_class_count_ + cut_index(tokens.first), byte_class_count_ + cut_index(tokens.last + 1) - 1};
}

Interval Symbols::of_edge(const NfaEdge& edge) const {
  if (edge.label == NfaLabel::kByte) return {byte_classes_[edge.lo], byte_classes_[edge.hi]};
  const uint32_t call = class_count() + edge.value;
  if (edge.label == NfaLabel::kCall) return {call, call};
  return {call + rule_count_, call + rule_count_};
}

void Symbols::call_of(const Nfa& nfa, uint32_t symbol, uint32_t* rule, uint32_t* loop) const {
  const uint32_t call = symbol - class_count();
  const bool is_loop = call >= rule_count_;
  *loop = is_loop ? call - rule_count_ : kNone;
  *rule = is_loop ? nfa.loops[*loop].rule : call;
}

}  // namespace sotto
