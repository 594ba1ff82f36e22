// Numbers: bounds, multiples and lists of values, combined in one automaton.
#include <algorithm>
#include <string_view>

#include "runtime/grammar/json_schema/compiler.h"
#include "runtime/grammar/json_schema/decimal.h"

namespace sotto {
namespace {

// Builds the numbers that satisfy bounds, multiples and lists of values together, as one automaton over their digits.
class NumberBuilder {
 public:
  NumberBuilder(SchemaCompiler& compiler, std::span<const Literal> atoms)
      : compiler_(compiler),
        schema_(compiler.schema()),
        document_(schema_.document()),
        workspace_(schema_.workspace()),
        atoms_(atoms) {}

  Status build(uint32_t* expression) {
    *expression = kNoIndex;
    NumberShape shape = NumberShape::kNumber;
    bool only_integers = true;  // true if the type "integer" is the only restriction
    for (const Literal& atom : atoms_) {
      if (atom.kind != LiteralKind::kInteger) {
        only_integers = false;
        if (is_listing(atom) && !atom.negated && listing_ == nullptr) listing_ = &atom;
        continue;
      }
      const NumberShape wanted = atom.negated ? NumberShape::kFraction : NumberShape::kInteger;
      if (shape != NumberShape::kNumber && shape != wanted) return Status::kOk;
      shape = wanted;
    }
    if (only_integers && shape == NumberShape::kInteger) {
      *expression = compiler_.json().integer();
      return Status::kOk;
    }
    if (!automaton_of_shape(shape, workspace_, &automaton_)) return too_large(atoms_[0].node);
    for (const Literal& atom : atoms_) {
      if (atom.kind == LiteralKind::kInteger || &atom == listing_) continue;
      SOTTO_TRY(restrict_by(atom));
    }
    if (listing_ != nullptr) return listed(expression);
    if (schema_.options().max_digits != 0) {
      CharacterAutomaton digits;
      if (!automaton_of_digits(schema_.options().max_digits, workspace_, &digits)) return too_large(atoms_[0].node);
      SOTTO_TRY(intersect(digits, false, atoms_[0].node));
    }
    if (automaton_.state_count > 0) *expression = compiler_.json().characters().automaton(automaton_);
    return schema_.check_limits();
  }

 private:
  bool is_listing(const Literal& atom) const {
    if (atom.kind == LiteralKind::kEquals) return true;
    const Keyword keyword = schema_.keyword(atom.node);
    return keyword == Keyword::kEnum || keyword == Keyword::kConst;
  }

  Status too_large(uint32_t node) {
    SOTTO_TRY(schema_.check_limits());
    return schema_.unsupported(node, "the number has too many digits for an exact grammar");
  }

  Status intersect(const CharacterAutomaton& other, bool negated, uint32_t node) {
    CharacterAutomaton result;
    if (!intersect_automata(automaton_, false, other, negated, workspace_, &result)) return too_large(node);
    automaton_ = result;
    return Status::kOk;
  }

  // Intersects the automaton with the numbers that the atom allows.
  Status restrict_by(const Literal& atom) {
    if (is_listing(atom)) return restrict_by_values(atom);
    const uint32_t node = atom.node;
    Decimal number(workspace_);
    if (document_.kind(node) != JsonKind::kNumber || !number.parse(document_.text(node))) {
      return schema_.reject(node, "must be a number");
    }
    const Keyword keyword = schema_.keyword(node);
    CharacterAutomaton other;
    if (keyword == Keyword::kMultipleOf) {
      if (number.negative() || number.is_zero()) return schema_.reject(node, "must be greater than 0");
      if (!automaton_of_multiples(number, workspace_, &other)) return too_large(node);
      return intersect(other, atom.negated, node);
    }
    bool upper = keyword == Keyword::kMaximum || keyword == Keyword::kExclusiveMaximum;
    bool exclusive = keyword == Keyword::kExclusiveMinimum || keyword == Keyword::kExclusiveMaximum;
    if (!exclusive) {
      // In draft 4, a flag next to the bound makes it exclusive.
      const uint32_t flag =
          schema_.assertion(document_[node].parent, upper ? Keyword::kExclusiveMaximum : Keyword::kExclusiveMinimum);
      exclusive = flag != kNoIndex && document_.kind(flag) == JsonKind::kTrue;
    }
    if (atom.negated) {
      upper = !upper;
      exclusive = !exclusive;
    }
    if (!automaton_of_bound(number, upper, exclusive, workspace_, &other)) return too_large(node);
    return intersect(other, false, node);
  }

  void collect(const Literal& atom, GrowingArray<uint32_t>& values) const {
    const bool is_list = atom.kind == LiteralKind::kKeyword && schema_.keyword(atom.node) == Keyword::kEnum;
    for (const uint32_t v : document_.values(atom.node, is_list)) {
      if (document_.kind(v) == JsonKind::kNumber) values.push(v);
    }
  }

  // Removes the values of a negated list; listed() handles lists that are not negated.
  Status restrict_by_values(const Literal& atom) {
    if (!atom.negated) return Status::kOk;
    GrowingArray<uint32_t> values(workspace_);
    collect(atom, values);
    for (const uint32_t value : values.span()) {
      Decimal number(workspace_);
      CharacterAutomaton to;
      CharacterAutomaton from;
      CharacterAutomaton equal;
      if (!number.parse(document_.text(value)) || !automaton_of_bound(number, true, false, workspace_, &to) ||
          !automaton_of_bound(number, false, false, workspace_, &from) ||
          !intersect_automata(to, false, from, false, workspace_, &equal)) {
        return too_large(value);
      }
      SOTTO_TRY(intersect(equal, true, value));
    }
    return Status::kOk;
  }

  bool in_all_lists(uint32_t value) {
    for (const Literal& atom : atoms_) {
      if (atom.kind == LiteralKind::kInteger || !is_listing(atom) || atom.negated) continue;
      GrowingArray<uint32_t> values(workspace_);
      collect(atom, values);
      bool found = false;
      for (const uint32_t other : values.span()) found = found || schema_.same_value(value, other);
      if (!found) return false;
    }
    return true;
  }

  // Builds the listed values that all other atoms allow, as the schema writes them and without an exponent.
  Status listed(uint32_t* expression) {
    GrowingArray<uint32_t> values(workspace_);
    collect(*listing_, values);
    GrammarBuilder::List choices;
    for (const uint32_t value : values.span()) {
      Decimal number(workspace_);
      if (!number.parse(document_.text(value)) || number.whole_digits() > 400 || number.fraction_digits() > 400) {
        return too_large(value);
      }
      GrowingArray<char> plain(workspace_);
      write(number, plain);
      const std::string_view text(plain.begin(), plain.size());
      SOTTO_TRY(schema_.check_limits());
      if (!automaton_.matches(text) || !in_all_lists(value)) continue;
      compiler_.builder().append(choices, compiler_.json().text(text));
      const std::string_view own = document_.text(value);
      if (own != text) compiler_.builder().append(choices, compiler_.json().text(own));
    }
    if (choices.first != kNoIndex) *expression = compiler_.builder().choice(choices);
    return Status::kOk;
  }

  static void write(const Decimal& number, GrowingArray<char>& text) {
    if (number.negative()) text.push('-');
    const uint32_t whole = number.whole_digits();
    if (whole == 0) text.push('0');
    for (uint32_t i = 0; i < whole + number.fraction_digits(); ++i) {
      if (i == whole) text.push('.');
      text.push(static_cast<char>('0' + number.digit(i)));
    }
  }

  SchemaCompiler& compiler_;
  const Schema& schema_;
  const JsonDocument& document_;
  Workspace& workspace_;
  std::span<const Literal> atoms_;
  const Literal* listing_ = nullptr;
  CharacterAutomaton automaton_;
};

}  // namespace

Status build_number(SchemaCompiler& compiler, Atoms atoms, uint32_t* expression) {
  return NumberBuilder(compiler, atoms).build(expression);
}

}  // namespace sotto
