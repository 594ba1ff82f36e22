#include "runtime/grammar/json_schema/decimal.h"

#include <algorithm>
#include <string_view>

#include "runtime/grammar/regex/automaton.h"

namespace sotto {
namespace {

constexpr int64_t kMaxExponent = 1000000;
constexpr uint32_t kMaxDigits = 400;
constexpr uint32_t kNoState = CharacterAutomaton::kDead;

// Character classes: 0 for other characters, then '-', '.', and the ten digits.
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
    if (cell < next_.size()) next_[cell] = target;  // otherwise the workspace is exhausted
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

// Builds the states that compare a magnitude with a bound, digit by digit: less, equal or greater so far.
class Magnitudes {
 public:
  Magnitudes(Table& table, const Decimal& bound, bool less, bool equal, bool greater)
      : table_(table), bound_(bound), less_(less), equal_(equal), greater_(greater) {}

  // Adds the transitions for the digits of a magnitude that begins in `state`.
  void build(uint32_t state) {
    const uint32_t whole = bound_.whole_digits();
    below_ = absorbing(less_);
    above_ = absorbing(greater_);
    build_fraction();
    // An integer part of zero has no digits. A state is a pair of the number of digits and the relation to the bound so
    // far.
    const uint32_t zero = table_.add(verdict_without_fraction(whole > 0 ? -1 : 0));
    table_.set(zero, kPoint, whole > 0 ? below_ : equal_states_);
    table_.set_digit(state, 0, zero);
    const uint32_t overflow = table_.add(greater_);
    table_.set_digits(overflow, overflow);
    table_.set(overflow, kPoint, above_);
    uint32_t previous[3] = {kNoState, state, kNoState};
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
        for (uint32_t digit = count == 1 ? 1 : 0; digit < 10 && from != kNoState; ++digit) {
          const uint32_t own = bound_.digit(count - 1);
          const int after = relation != 0 ? relation : digit < own ? -1 : digit > own ? 1 : 0;
          table_.set_digit(from, digit, states[after + 1]);
        }
      }
      std::copy(states, states + 3, previous);
    }
    for (const uint32_t from : previous) {
      for (uint32_t digit = from == state ? 1 : 0; digit < 10 && from != kNoState; ++digit) {
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

  // Returns the verdict on integer parts in this relation, if no fraction follows.
  bool verdict_without_fraction(int relation) const {
    if (relation < 0) return less_;
    if (relation > 0) return greater_;
    return bound_.fraction_digits() > 0 ? less_ : equal_;
  }

  // Adds the states that compare a fraction with the bound's fraction, digit by digit.
  void build_fraction() {
    const uint32_t whole = bound_.whole_digits();
    const uint32_t count = bound_.fraction_digits();
    uint32_t last = kNoState;
    for (uint32_t i = 0; i <= count; ++i) {
      const uint32_t state = table_.add(i < count ? less_ : equal_);
      if (i == 0) equal_states_ = state;
      if (last != kNoState) table_.set_digit(last, bound_.digit(whole + i - 1), state);
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
  uint32_t below_ = kNoState;
  uint32_t above_ = kNoState;
  uint32_t equal_states_ = kNoState;  // states after the decimal point while all digits are equal
};

}  // namespace

bool Decimal::parse(std::string_view text) {
  digits_.truncate(0);
  size_t at = 0;
  negative_ = !text.empty() && text[0] == '-';
  if (negative_) ++at;
  int64_t exponent = 0;
  bool fraction = false;
  for (; at < text.size() && text[at] != 'e' && text[at] != 'E'; ++at) {
    if (text[at] == '.') {
      fraction = true;
      continue;
    }
    if (text[at] < '0' || text[at] > '9') return false;
    const auto digit = static_cast<uint8_t>(text[at] - '0');
    const bool leading = digits_.empty() && digit == 0;
    if (!fraction && !leading) ++exponent;
    if (fraction && leading) --exponent;
    if (!leading) digits_.push(digit);
  }
  if (at < text.size()) {
    ++at;
    const bool minus = at < text.size() && text[at] == '-';
    if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
    int64_t power = 0;
    for (; at < text.size(); ++at) {
      if (text[at] < '0' || text[at] > '9') return false;
      power = std::min<int64_t>(power * 10 + (text[at] - '0'), 2 * kMaxExponent);
    }
    exponent += minus ? -power : power;
  }
  while (!digits_.empty() && digits_.back() == 0) digits_.pop();
  if (digits_.empty()) {
    exponent = 0;
    negative_ = false;
  }
  if (exponent > kMaxExponent || exponent < -kMaxExponent) return false;
  exponent_ = static_cast<int32_t>(exponent);
  return true;
}

uint64_t Decimal::to_integer() const {
  uint64_t value = 0;
  for (uint32_t i = 0; i < whole_digits(); ++i) {
    if (value > (UINT64_MAX - 9) / 10) return UINT64_MAX;
    value = value * 10 + digit(i);
  }
  return value;
}

uint32_t Decimal::fraction_digits() const {
  const int32_t count = static_cast<int32_t>(digits_.size()) - exponent_;
  return is_zero() || count < 0 ? 0 : static_cast<uint32_t>(count);
}

uint32_t Decimal::digit(uint32_t position) const {
  // Numbers below 0.1 begin with -exponent_ zeros after the point.
  const int64_t index = static_cast<int64_t>(position) + (exponent_ < 0 ? exponent_ : 0);
  return index < 0 || index >= static_cast<int64_t>(digits_.size()) ? 0 : digits_[static_cast<size_t>(index)];
}

void Decimal::copy(const Decimal& other) {
  digits_.truncate(0);
  for (const uint8_t digit : other.digits_.span()) digits_.push(digit);
  exponent_ = other.exponent_;
  negative_ = other.negative_;
}

int Decimal::compare_magnitude(const Decimal& other) const {
  if (is_zero() || other.is_zero()) return (is_zero() ? 0 : 1) - (other.is_zero() ? 0 : 1);
  if (exponent_ != other.exponent_) return exponent_ < other.exponent_ ? -1 : 1;
  const uint32_t count = std::max(digits_.size(), other.digits_.size());
  for (uint32_t i = 0; i < count; ++i) {
    const int a = i < digits_.size() ? digits_[i] : 0;
    const int b = i < other.digits_.size() ? other.digits_[i] : 0;
    if (a != b) return a < b ? -1 : 1;
  }
  return 0;
}

int Decimal::compare(const Decimal& other) const {
  if (negative_ != other.negative_) return negative_ ? -1 : 1;
  const int magnitude = compare_magnitude(other);
  return negative_ ? -magnitude : magnitude;
}

bool same_number(std::string_view a, std::string_view b, Workspace& workspace) {
  Decimal first(workspace);
  Decimal second(workspace);
  return first.parse(a) && second.parse(b) ? first.compare(second) == 0 : a == b;
}

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

bool automaton_of_digits(uint32_t count, Workspace& workspace, CharacterAutomaton* automaton) {
  Table table(workspace);
  const uint32_t start = table.add(false);
  const uint32_t minus = table.add(false);
  table.set(start, kMinus, minus);
  for (uint32_t i = 0, whole = minus; i < count; ++i) {
    const uint32_t next = table.add(true);
    table.set_digits(whole, next);
    if (i == 0) table.set_digits(start, next);
    whole = next;
  }
  const uint32_t first = minus + 1;
  const uint32_t point = table.add(false);
  for (uint32_t i = 0; i < count; ++i) table.set(first + i, kPoint, point);
  for (uint32_t i = 0, fraction = point; i < count; ++i) {
    const uint32_t next = table.add(true);
    table.set_digits(fraction, next);
    fraction = next;
  }
  if (workspace.exhausted()) return false;
  CharacterAutomaton raw;
  table.give(&raw);
  return minimize_automaton(raw, workspace, automaton);
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
  // On the bound's side of zero, the magnitude decides. On the other side, all numbers satisfy the bound or none does.
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
  if (period == 0 || period > kMaxStates / (scale + 2)) return false;
  // A state is a pair: the number of digits after the point so far, and the residue of the number times 10^scale.
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
