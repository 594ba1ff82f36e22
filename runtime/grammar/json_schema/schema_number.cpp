// Numbers: bounds, multiples and lists of values together, as one automaton over their digits.
#include <algorithm>

#include "runtime/grammar/json_schema/schema_compiler.h"
#include "runtime/grammar/json_schema/schema_digits.h"

namespace sotto {

class SchemaNumberBuilder {
 public:
  SchemaNumberBuilder(SchemaCompiler& compiler, std::span<const Literal> atoms)
      : compiler_(compiler), document_(compiler.document_), workspace_(compiler.workspace_), atoms_(atoms) {}

  Status build(uint32_t* expression) {
    *expression = kNone;
    NumberShape shape = NumberShape::kNumber;
    bool only_integers = true;  // and nothing else is said
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
      *expression = compiler_.json_.integer();
      return Status::kOk;
    }
    if (!automaton_of_shape(shape, workspace_, &automaton_)) return too_large(atoms_[0].node);
    for (const Literal& atom : atoms_) {
      if (atom.kind == LiteralKind::kInteger || &atom == listing_) continue;
      SOTTO_TRY(restrict_by(atom));
    }
    if (listing_ != nullptr) return listed(expression);
    if (automaton_.state_count > 0) *expression = compiler_.json_.characters().automaton(automaton_);
    return compiler_.check_memory();
  }

 private:
  bool is_listing(const Literal& atom) const {
    if (atom.kind == LiteralKind::kEquals) return true;
    const Keyword keyword = compiler_.keyword(atom.node);
    return keyword == Keyword::kEnum || keyword == Keyword::kConst;
  }

  Status too_large(uint32_t node) {
    SOTTO_TRY(compiler_.check_memory());
    return compiler_.refuse(node, "the number has too many digits for an exact grammar");
  }

  Status meet(const CharacterAutomaton& other, bool negated, uint32_t node) {
    CharacterAutomaton result;
    if (!intersect_automata(automaton_, false, other, negated, workspace_, &result)) return too_large(node);
    automaton_ = result;
    return Status::kOk;
  }

  Status restrict_by(const Literal& atom) {
    if (is_listing(atom)) return restrict_by_values(atom);
    const uint32_t node = atom.node;
    Decimal number(workspace_);
    if (document_.kind(node) != JsonKind::kNumber || !number.parse(document_.text(node))) {
      return compiler_.reject(node, "must be a number");
    }
    const Keyword keyword = compiler_.keyword(node);
    CharacterAutomaton other;
    if (keyword == Keyword::kMultipleOf) {
      if (number.negative() || number.is_zero()) return compiler_.reject(node, "must be above 0");
      if (!automaton_of_multiples(number, workspace_, &other)) return too_large(node);
      return meet(other, atom.negated, node);
    }
    bool upper = keyword == Keyword::kMaximum || keyword == Keyword::kExclusiveMaximum;
    bool exclusive = keyword == Keyword::kExclusiveMinimum || keyword == Keyword::kExclusiveMaximum;
    if (!exclusive) {
      // Draft 4: a flag beside the bound.
      const uint32_t flag =
          compiler_.assertion(document_[node].parent, upper ? Keyword::kExclusiveMaximum : Keyword::kExclusiveMinimum);
      exclusive = flag != kNone && document_.kind(flag) == JsonKind::kTrue;
    }
    if (atom.negated) {
      upper = !upper;
      exclusive = !exclusive;
    }
    if (!automaton_of_bound(number, upper, exclusive, workspace_, &other)) return too_large(node);
    return meet(other, false, node);
  }

  void collect(const Literal& atom, GrowingArray<uint32_t>& values) const {
    const bool is_list = atom.kind == LiteralKind::kKeyword && compiler_.keyword(atom.node) == Keyword::kEnum;
    for (uint32_t v = is_list ? document_[atom.node].first : atom.node; v != kNone;
         v = is_list ? document_[v].next : kNone) {
      if (document_.kind(v) == JsonKind::kNumber) values.push(v);
    }
  }

  // Leaves out the values; a second list of all values is met in listed().
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
      SOTTO_TRY(meet(equal, true, value));
    }
    return Status::kOk;
  }

  bool in_all_lists(uint32_t value) {
    for (const Literal& atom : atoms_) {
      if (atom.kind == LiteralKind::kInteger || !is_listing(atom) || atom.negated) continue;
      GrowingArray<uint32_t> values(workspace_);
      collect(atom, values);
      bool found = false;
      for (const uint32_t other : values.span()) found = found || compiler_.same_value(value, other);
      if (!found) return false;
    }
    return true;
  }

  // The listed values that all else allows, as the schema writes them and without exponent.
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
      SOTTO_TRY(compiler_.check_memory());
      if (!automaton_.matches(text) || !in_all_lists(value)) continue;
      compiler_.builder_.append(choices, compiler_.json_.text(text));
      const std::string_view own = document_.text(value);
      if (own != text) compiler_.builder_.append(choices, compiler_.json_.text(own));
    }
    if (choices.first != kNone) *expression = compiler_.builder_.choice(choices);
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
  const JsonDocument& document_;
  Workspace& workspace_;
  std::span<const Literal> atoms_;
  const Literal* listing_ = nullptr;
  CharacterAutomaton automaton_;
};

Status SchemaCompiler::build_number(Atoms atoms, uint32_t* expression) {
  return SchemaNumberBuilder(*this, atoms).build(expression);
}

}  // namespace sotto
