#include "runtime/grammar/automata/nfa.h"

#include <algorithm>

namespace sotto {
namespace {

class NfaBuilder {
 public:
  NfaBuilder(GrammarBuilder& grammar, uint32_t unrolled_states, Nfa& nfa)
      : grammar_(grammar),
        unrolled_states_(unrolled_states),
        nfa_(nfa),
        tasks_(grammar.workspace()),
        suffixes_(grammar.workspace()),
        loop_of_(grammar.workspace()) {}

  void build() {
    // Loops add rules at the end while this goes on.
    for (uint32_t rule = 0; rule < grammar_.rule_count(); ++rule) {
      if (grammar_.workspace().exhausted()) return;
      const RuleAutomaton automaton{nfa_.add_state(), nfa_.add_state()};
      nfa_.states[automaton.exit].exit_of = rule + 1;
      nfa_.rules.push(automaton);
      tasks_.push({grammar_.rule_at(rule).body, automaton.start, automaton.exit});
      while (!tasks_.empty() && !grammar_.workspace().exhausted()) {
        const Task task = tasks_.back();
        tasks_.pop();
        build(task);
      }
    }
  }

 private:
  // No edge is added into `entry` or out of `exit`.
  struct Task {
    uint32_t expression;
    uint32_t entry;
    uint32_t exit;
  };

  struct Suffix {
    uint8_t lo;
    uint8_t hi;
    uint32_t target;
    uint32_t state;
  };

  void build(const Task& task) {
    const Expression expression = grammar_.expression(task.expression);
    switch (expression.kind) {
      case ExpressionKind::kEmpty:
        nfa_.add_edge(task.entry, NfaLabel::kEpsilon, 0, task.exit);
        break;
      case ExpressionKind::kText:
        text(expression, task);
        break;
      case ExpressionKind::kCharacters:
        characters(expression, task);
        break;
      case ExpressionKind::kTokens:
        nfa_.add_edge(task.entry, NfaLabel::kTokens, task.expression, task.exit);
        break;
      case ExpressionKind::kReference:
        nfa_.add_edge(task.entry, NfaLabel::kCall, expression.first, task.exit);
        break;
      case ExpressionKind::kSequence:
        sequence(expression, task);
        break;
      case ExpressionKind::kChoice:
        for (uint32_t child = expression.first; child != kNone; child = grammar_.expression(child).next) {
          tasks_.push({child, task.entry, task.exit});
        }
        break;
      case ExpressionKind::kRepeat:
        repeat(expression, task);
        break;
    }
  }

  void text(const Expression& expression, const Task& task) {
    const auto bytes = grammar_.bytes(expression);
    uint32_t from = task.entry;
    for (size_t i = 0; i < bytes.size(); ++i) {
      const uint32_t to = i + 1 == bytes.size() ? task.exit : nfa_.add_state();
      const auto byte = static_cast<uint8_t>(bytes[i]);
      nfa_.add_bytes(from, byte, byte, to);
      from = to;
    }
  }

  void characters(const Expression& expression, const Task& task) {
    suffixes_.truncate(0);
    for (const Interval& interval : grammar_.intervals(expression)) {
      Utf8Sequences sequences(interval);
      ByteSequence bytes;
      while (sequences.next(&bytes)) {
        uint32_t target = task.exit;
        for (uint32_t i = bytes.size - 1; i > 0; --i) {
          target = suffix(bytes.first[i], bytes.last[i], target);
        }
        nfa_.add_bytes(task.entry, bytes.first[0], bytes.last[0], target);
      }
    }
  }

  // A state from which the bytes lead to `target`; shared between the newest sequences.
  uint32_t suffix(uint8_t lo, uint8_t hi, uint32_t target) {
    constexpr uint32_t kRemembered = 16;
    for (uint32_t i = 0; i < std::min(suffixes_.size(), kRemembered); ++i) {
      const Suffix& known = suffixes_[suffixes_.size() - 1 - i];
      if (known.lo == lo && known.hi == hi && known.target == target) return known.state;
    }
    const uint32_t state = nfa_.add_state();
    nfa_.add_bytes(state, lo, hi, target);
    suffixes_.push({lo, hi, target, state});
    return state;
  }

  void sequence(const Expression& expression, const Task& task) {
    uint32_t from = task.entry;
    for (uint32_t child = expression.first; child != kNone;) {
      const uint32_t next = grammar_.expression(child).next;
      const uint32_t to = next == kNone ? task.exit : nfa_.add_state();
      tasks_.push({child, from, to});
      from = to;
      child = next;
    }
  }

  void repeat(const Expression& expression, const Task& task) {
    if (expression.minimum <= 1 && expression.maximum == kUnbounded) {
      star(expression.first, task.entry, task.exit, expression.minimum == 1);
    } else if (expression.size <= unrolled_states_) {
      unroll(expression, task);
    } else {
      loop(expression, task);
    }
  }

  // entry -> inside -body-> behind -> exit, and back from behind to inside.
  void star(uint32_t body, uint32_t entry, uint32_t exit, bool at_least_once) {
    const uint32_t inside = nfa_.add_state();
    const uint32_t behind = nfa_.add_state();
    nfa_.add_edge(entry, NfaLabel::kEpsilon, 0, inside);
    nfa_.add_edge(behind, NfaLabel::kEpsilon, 0, inside);
    nfa_.add_edge(behind, NfaLabel::kEpsilon, 0, exit);
    if (!at_least_once) nfa_.add_edge(inside, NfaLabel::kEpsilon, 0, exit);
    tasks_.push({body, inside, behind});
  }

  void unroll(const Expression& expression, const Task& task) {
    const bool bounded = expression.maximum != kUnbounded;
    const uint32_t copies = bounded ? expression.maximum : expression.minimum;
    uint32_t from = task.entry;
    for (uint32_t i = 0; i < copies; ++i) {
      if (i >= expression.minimum) nfa_.add_edge(from, NfaLabel::kEpsilon, 0, task.exit);
      const uint32_t to = nfa_.add_state();
      tasks_.push({expression.first, from, to});
      from = to;
    }
    if (bounded) {
      nfa_.add_edge(from, NfaLabel::kEpsilon, 0, task.exit);
    } else {
      star(expression.first, from, task.exit, false);
    }
  }

  // The body as a rule of its own. A body that unrolling copies is still one rule.
  void loop(const Expression& expression, const Task& task) {
    if (!loop_of_.resize(grammar_.expression_count())) return;
    uint32_t& known = loop_of_[expression.first];
    if (known == 0) {
      const Expression& body = grammar_.expression(expression.first);
      const uint32_t rule =
          body.kind == ExpressionKind::kReference ? body.first : grammar_.anonymous_rule(expression.first);
      known = nfa_.loops.push({rule, expression.minimum, expression.maximum}) + 1;
    }
    nfa_.add_edge(task.entry, NfaLabel::kLoop, known - 1, task.exit);
  }

  GrammarBuilder& grammar_;
  uint32_t unrolled_states_;
  Nfa& nfa_;
  GrowingArray<Task> tasks_;
  GrowingArray<Suffix> suffixes_;
  GrowingArray<uint32_t> loop_of_;  // loop + 1 by the body's expression
};

}  // namespace

void build_nfa(GrammarBuilder& builder, uint32_t unrolled_states, Nfa& nfa) {
  NfaBuilder(builder, unrolled_states, nfa).build();
}

}  // namespace sotto
