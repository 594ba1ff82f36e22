// Exact decimal numbers, and automata over numbers of the form "-?digits(.digits)?", for JSON Schema. The automaton of
// a bound compares a number with the bound digit by digit. The automaton of multiples tracks a residue. Both are
// therefore exact for numbers of any length.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/grammar/automata/character_automaton.h"

namespace sotto {

// The decimal number 0.d1 d2 d3 ... times a power of ten.
class Decimal {
 public:
  explicit Decimal(Workspace& workspace) : digits_(workspace) {}

  // Returns false if the text is not a JSON number, or if its exponent exceeds a million.
  bool parse(std::string_view text);
  bool negative() const { return negative_; }
  bool is_zero() const { return digits_.empty(); }
  bool is_integer() const { return digits_.empty() || static_cast<int32_t>(digits_.size()) <= exponent_; }
  // Returns the integer part of the magnitude, or UINT64_MAX if it is larger.
  uint64_t to_integer() const;
  // Return the number of digits before the decimal point (0 for numbers below 1) and after it.
  uint32_t whole_digits() const { return exponent_ > 0 && !is_zero() ? static_cast<uint32_t>(exponent_) : 0; }
  uint32_t fraction_digits() const;
  // Returns a digit. Position 0 is the first of whole_digits(). The digits after the decimal point follow.
  uint32_t digit(uint32_t position) const;

  void negate() { negative_ = !negative_ && !is_zero(); }
  void copy(const Decimal& other);
  int compare_magnitude(const Decimal& other) const;
  int compare(const Decimal& other) const;

 private:
  GrowingArray<uint8_t> digits_;  // neither the first nor the last digit is 0
  int32_t exponent_ = 0;
  bool negative_ = false;
};

bool same_number(std::string_view a, std::string_view b, Workspace& workspace);

enum class NumberShape : uint8_t { kNumber, kInteger, kFraction };

// Accepts the numbers of this shape, without an exponent. Zero has no sign, an integer has no fraction, and with
// kFraction the fraction is not zero.
bool automaton_of_shape(NumberShape shape, Workspace& workspace, CharacterAutomaton* automaton);

// Accepts the numbers with at most `count` digits before the decimal point, and at most as many after it.
bool automaton_of_digits(uint32_t count, Workspace& workspace, CharacterAutomaton* automaton);

// Accepts the numbers that are at most `bound` (upper) or at least `bound`. Returns false if the bound has too many
// digits.
bool automaton_of_bound(const Decimal& bound, bool upper, bool exclusive, Workspace& workspace,
                        CharacterAutomaton* automaton);

// Accepts the multiples of a positive number. Returns false if that number has too many digits.
bool automaton_of_multiples(const Decimal& divisor, Workspace& workspace, CharacterAutomaton* automaton);

}  // namespace sotto
