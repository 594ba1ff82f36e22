#include "runtime/grammar/json_schema/schema_digits.h"

#include <algorithm>
#include <string_view>

namespace sotto {
namespace {

constexpr uint32_t kMaxDigits = 400;
constexpr uint32_t kDead = CharacterAutomaton::kDead;

// Classes of characters: others, '-', '.', and the digits.
constexpr uint32_t kMinus = 1;
constexpr uint32_t kPoint = 2;
constexpr uint32_t kDigits = 3;
constexpr uint32_t kClassCount = 13;
constexpr CharacterAutomaton::Range kRanges[] = {{0, 0},   {'-', 1},  {'.', 2},  {'/', 0},  {'0', 3},
                                                 {'1', 4}, {'2', 5},  {'3', 6},  {'4', 7},  {'5', 8},
                                                 {'6', 9}, {'7', 10}, {'8', 11}, {'9', 12}, {':', 0}};

class Table {
 public:
  explicit Table(Workspace& workspace) : next_(workspace), accepts_(workspace) {}

  uint32_t add(bool accepts) {
    next_.resize(next_.size() + kClassCount, 0xFF);
    return accepts_.push(accepts ? 1 : 0);
  }
  void set(uint32_t state, uint32_t kind, uint32_t target) {
    const size_t cell = size_t{state} * kClassCount + kind;
    if (cell < next_.size()) next_[cell] = target;  // else out of memory
  }
  void set_digit(uint32_t state, uint32_t digit, uint32_t target) { set(state, kDigits + digit, target); }
  void set_digits(uint32_t state, uint32_t target) {
    for (uint32_t digit = 0; digit < 10; ++digit) set_digit(state, digit, target);
  }
  void give(CharacterAutomaton* automaton) {
    *automaton = {kRanges, kClassCount, accepts_.size(), next_.begin(), accepts_.begin()};
  }

 private:
  GrowingArray<uint32_t> next_;
  GrowingArray<uint8_t> accepts_;
};

// The magnitudes that stand in a relation to a bound, digit by digit.
class Magnitudes {
 public:
  Magnitudes(Table& table, const Decimal& bound, bool less, bool equal, bool greater)
      : table_(table), bound_(bound), less_(less), equal_(equal), greater_(greater) {}

  // The transitions of digits from `state`, where a magnitude begins.
  void build(uint32_t state) {
    const uint32_t whole = bound_.whole_digits();
    below_ = absorbing(less_);
    above_ = absorbing(greater_);
    build_fraction();
    // A whole part of zero is one of no digits. States (digits so far, relation so far).
    const uint32_t zero = table_.add(verdict_without_fraction(whole > 0 ? -1 : 0));
    table_.set(zero, kPoint, whole > 0 ? below_ : equal_states_);
    table_.set_digit(state, 0, zero);
    const uint32_t overflow = table_.add(greater_);
    table_.set_digits(overflow, overflow);
    table_.set(overflow, kPoint, above_);
    uint32_t previous[3] = {kDead, state, kDead};
    for (uint32_t count = 1; count <= whole; ++count) {
      uint32_t states[3];
      for (int relation = -1; relation <= 1; ++relation) {
        const int settled = count < whole ? -1 : relation;
        const uint32_t fresh = table_.add(verdict_without_fraction(settled));
        states[relation + 1] = fresh;
        table_.set(fresh, kPoint, settled < 0 ? below_ : settled > 0 ? above_ : equal_states_);
      }
      for (int relation = -1; relation <= 1; ++relation) {
        const uint32_t from = previous[relation + 1];
        for (uint32_t digit = count == 1 ? 1 : 0; digit < 10 && from != kDead; ++digit) {
          const uint32_t own = bound_.digit(count - 1);
          const int after = relation != 0 ? relation : digit < own ? -1 : digit > own ? 1 : 0;
          table_.set_digit(from, digit, states[after + 1]);
        }
      }
      std::copy(states, states + 3, previous);
    }
    for (const uint32_t from : previous) {
      for (uint32_t digit = from == state ? 1 : 0; digit < 10 && from != kDead; ++digit) {
        table_.set_digit(from, digit, overflow);
      }
    }
  }

 private:
  uint32_t absorbing(bool accepts) {
    const uint32_t state = table_.add(accepts);
    table_.set_digits(state, state);
    return state;
  }

  // Whole parts in this relation, nothing after them.
  bool verdict_without_fraction(int relation) const {
    if (relation < 0) return less_;
    if (relation > 0) return greater_;
    return bound_.fraction_digits() > 0 ? less_ : equal_;
  }

  void build_fraction() {
    const uint32_t whole = bound_.whole_digits();
    const uint32_t count = bound_.fraction_digits();
    uint32_t last = kDead;
    for (uint32_t i = 0; i <= count; ++i) {
      const uint32_t state = table_.add(i < count ? less_ : equal_);
      if (i == 0) equal_states_ = state;
      if (last != kDead) table_.set_digit(last, bound_.digit(whole + i - 1), state);
      last = state;
      const uint32_t own = i < count ? bound_.digit(whole + i) : 0;
      for (uint32_t digit = 0; digit < 10; ++digit) {
        if (digit != own) table_.set_digit(state, digit, digit < own ? below_ : above_);
      }
    }
    table_.set_digit(last, 0, last);
  }

  Table& table_;
  const Decimal& bound_;
  bool less_;
  bool equal_;
  bool greater_;
  uint32_t below_ = kDead;
  uint32_t above_ = kDead;
  uint32_t equal_states_ = kDead;  // after a point, all digits equal so far
};

}  // namespace

bool automaton_of_shape(NumberShape shape, Workspace& workspace, CharacterAutomaton* automaton) {
  constexpr std::string_view kShapes[] = {
      "0(?:\\.0+)?|-?[1-9]\\d*(?:\\.\\d+)?|-?0\\.\\d*[1-9]\\d*",
      "0|-?[1-9]\\d*",
      "-?(?:0|[1-9]\\d*)\\.\\d*[1-9]\\d*",
  };
  RegexTree tree(workspace);
  const std::string_view expression = kShapes[static_cast<uint32_t>(shape)];
  if (parse_regex(expression, tree, workspace, nullptr) != Status::kOk) return false;
  return automaton_of_regex(tree, false, workspace, automaton);
}

bool automaton_of_bound(const Decimal& bound, bool upper, bool exclusive, Workspace& workspace,
                        CharacterAutomaton* automaton) {
  if (bound.whole_digits() > kMaxDigits || bound.fraction_digits() > kMaxDigits) return false;
  Table table(workspace);
  const uint32_t start = table.add(false);
  const uint32_t minus = table.add(false);
  const uint32_t any = table.add(true);
  table.set_digits(any, any);
  table.set(any, kPoint, any);
  // On the bound's own side of zero magnitudes decide; the other side is all or nothing.
  const bool negative = bound.negative();
  table.set(start, kMinus, minus);
  const bool up_to = upper != negative;
  Magnitudes(table, bound, up_to, !exclusive, !up_to).build(negative ? minus : start);
  if (upper && !negative) table.set_digits(minus, any);
  if (!upper && negative) table.set_digits(start, any);
  if (workspace.exhausted()) return false;
  CharacterAutomaton raw;
  table.give(&raw);
  return minimize_automaton(raw, workspace, automaton);
}

bool automaton_of_multiples(const Decimal& divisor, Workspace& workspace, CharacterAutomaton* automaton) {
  constexpr uint32_t kMaxScale = 15;
  constexpr uint64_t kMaxStates = 24000;
  const uint32_t scale = divisor.fraction_digits();
  if (divisor.whole_digits() > kMaxScale || scale > kMaxScale) return false;
  uint64_t period = divisor.to_integer();
  for (uint32_t i = 0; i < scale; ++i) {
    if (period > UINT64_MAX / 20) return false;
    period = period * 10 + divisor.digit(divisor.whole_digits() + i);
  }
  if (period == 0 || period * (scale + 2) > kMaxStates) return false;
  // States (digits after the point so far, or none yet; residue of the number times 10^scale).
  const auto count = static_cast<uint32_t>(period);
  Table table(workspace);
  const uint32_t start = table.add(false);
  for (uint32_t phase = 0; phase <= scale + 1; ++phase) {
    for (uint32_t residue = 0; residue < count; ++residue) table.add(residue == 0);
  }
  const auto state = [&](uint32_t phase, uint64_t residue) {
    return 1 + phase * count + static_cast<uint32_t>(residue % count);
  };
  uint64_t unit = 1;
  for (uint32_t i = 0; i < scale; ++i) unit = unit * 10 % count;
  if (workspace.exhausted()) return false;
  table.set(start, kMinus, start);
  for (uint32_t digit = 0; digit < 10; ++digit) table.set_digit(start, digit, state(0, digit * unit));
  for (uint32_t residue = 0; residue < count; ++residue) {
    table.set(state(0, residue), kPoint, state(1, residue));
    for (uint32_t digit = 0; digit < 10; ++digit) {
      table.set_digit(state(0, residue), digit, state(0, residue * 10ull + digit * unit));
    }
    table.set_digit(state(scale + 1, residue), 0, state(scale + 1, residue));
  }
  uint64_t weight = 1;
  for (uint32_t phase = scale; phase >= 1; --phase, weight = weight * 10 % count) {
    for (uint32_t residue = 0; residue < count; ++residue) {
      for (uint32_t digit = 0; digit < 10; ++digit) {
        table.set_digit(state(phase, residue), digit, state(phase + 1, residue + digit * weight));
      }
    }
  }
  if (workspace.exhausted()) return false;
  CharacterAutomaton raw;
  table.give(&raw);
  return minimize_automaton(raw, workspace, automaton);
}

}  // namespace sotto
