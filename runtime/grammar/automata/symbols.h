// The alphabet of rule automata: classes of bytes, classes of tokens, calls and loops,
// numbered in this order.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/grammar/automata/nfa.h"

namespace sotto {

class Symbols {
 public:
  explicit Symbols(Workspace& workspace) : token_cuts_(workspace) {}

  // Splits bytes and tokens so that every edge of the automata covers whole classes.
  void init(const GrammarBuilder& grammar, const Nfa& nfa);

  uint32_t byte_class_count() const { return byte_class_count_; }
  uint32_t token_class_count() const { return token_cuts_.size() == 0 ? 0 : token_cuts_.size() - 1; }
  uint32_t class_count() const { return byte_class_count_ + token_class_count(); }
  uint8_t byte_class(uint32_t byte) const { return byte_classes_[byte]; }
  // The tokens of a token class, counted from 0.
  Interval tokens(uint32_t token_class) const { return {token_cuts_[token_class], token_cuts_[token_class + 1] - 1}; }

  // The symbols of an edge are an interval, except for token sets, which have several.
  Interval of_edge(const NfaEdge& edge) const;
  Interval of_tokens(Interval tokens) const;
  bool is_call(uint32_t symbol) const { return symbol >= class_count(); }
  // The rule and loop (or kNone) of a call.
  void call_of(const Nfa& nfa, uint32_t symbol, uint32_t* rule, uint32_t* loop) const;

 private:
  uint32_t cut_index(uint32_t token) const;

  GrowingArray<uint32_t> token_cuts_;
  uint8_t byte_classes_[256] = {};
  uint32_t byte_class_count_ = 1;
  uint32_t rule_count_ = 0;
};

}  // namespace sotto
