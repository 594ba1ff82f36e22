// Arrays: tuples, elements, element counts, "contains" and unique elements, all combined in one automaton.
#include <algorithm>

#include "runtime/grammar/json_schema/compiler.h"

namespace sotto {
namespace {

// Limits beyond which a schema is rejected: rules per array, elements with conditions of their own, and counted kinds.
constexpr uint32_t kMaxArrayStates = 20000;
constexpr uint32_t kMaxTuple = 4096;
constexpr uint32_t kMaxWanted = 4;

class ArrayBuilder {
 public:
  ArrayBuilder(SchemaCompiler& compiler, std::span<const Literal> atoms)
      : compiler_(compiler),
        schema_(compiler.schema()),
        document_(schema_.document()),
        builder_(compiler.builder()),
        json_(compiler.json()),
        atoms_(atoms),
        literals_(schema_.workspace()),
        wanted_(schema_.workspace()) {}

  Status build(uint32_t* expression) {
    *expression = kNoIndex;
    SOTTO_TRY(read_atoms());
    collect(tuple_);
    if (compiler_.normalize(literals_) == SchemaCompiler::Goal::kNever) maximum_ = std::min(maximum_, tuple_);
    for (uint32_t i = 0; i < tuple_; ++i) {
      SOTTO_TRY(schema_.check_limits());
      collect(i);
      if (compiler_.normalize(literals_) == SchemaCompiler::Goal::kNever) maximum_ = std::min(maximum_, i);
    }
    tuple_ = std::min(tuple_, maximum_);
    if (minimum_ > maximum_) return Status::kOk;
    uint32_t content = kNoIndex;
    if (unique_ != kNoIndex && maximum_ > 1) {
      SOTTO_TRY(unique(&content));
    } else if (wanted_.empty()) {
      content = plain();
    } else {
      SOTTO_TRY(counted(&content));
    }
    *expression = json_.container('[', content);
    return schema_.check_limits();
  }

 private:
  // The elements that "contains" requires.
  struct Wanted {
    uint32_t node = kNoIndex;
    bool negated = false;
    uint32_t minimum = 1;
    uint32_t maximum = kUnbounded;

    bool is_limited() const { return maximum != kUnbounded; }
    // Returns the number that ends the counting.
    uint32_t last() const { return is_limited() ? maximum : minimum; }
  };

  // Collects the limits on the length, the length of the tuple and the elements that must exist.
  Status read_atoms() {
    for (const Literal& atom : atoms_) {
      switch (atom.kind) {
        case LiteralKind::kTuple:
          tuple_ = std::max(tuple_, schema_.tuple_of(atom.node).count);
          if (schema_.options().forbid_additional) close(atom.node);
          break;
        case LiteralKind::kEquals:
          tuple_ = std::max(tuple_, document_[atom.node].count);
          minimum_ = std::max(minimum_, document_[atom.node].count);
          maximum_ = std::min(maximum_, document_[atom.node].count);
          break;
        case LiteralKind::kElement:
        case LiteralKind::kSameElement:
          tuple_ = std::max(tuple_, document_[atom.node].index + 1);
          break;
        case LiteralKind::kLonger:
          if (atom.negated) maximum_ = std::min(maximum_, document_[atom.node].index);
          if (!atom.negated) minimum_ = std::max(minimum_, document_[atom.node].index + 1);
          break;
        case LiteralKind::kExceeds:
          minimum_ = std::max(minimum_, document_[atom.node].count + 1);
          break;
        case LiteralKind::kExists:
          SOTTO_TRY(want({atom.node, atom.negated, 1, kUnbounded}));
          break;
        case LiteralKind::kContains:
          SOTTO_TRY(read_contains(atom.node));
          break;
        case LiteralKind::kKeyword:
          SOTTO_TRY(read_count(atom));
          break;
        default:
          break;
      }
    }
    if (tuple_ > kMaxTuple) {
      return schema_.unsupported_count(atoms_[0].node, "too many elements in the tuple", tuple_, kMaxTuple);
    }
    return Status::kOk;
  }

  void close(uint32_t schema) {
    const auto tuple = schema_.tuple_of(schema);
    if (tuple.list != kNoIndex && tuple.rest == kNoIndex) maximum_ = std::min(maximum_, tuple.count);
  }

  // Reads minItems, maxItems or uniqueItems.
  Status read_count(const Literal& atom) {
    const Keyword keyword = schema_.keyword(atom.node);
    if (keyword == Keyword::kUniqueItems) {
      if (document_.kind(atom.node) != JsonKind::kTrue) return schema_.reject(atom.node, "must be a boolean");
      unique_ = atom.node;
      return Status::kOk;
    }
    uint32_t count = 0;
    SOTTO_TRY(schema_.count_of(atom.node, &count));
    if (keyword == Keyword::kMinItems && !atom.negated) minimum_ = std::max(minimum_, count);
    if (keyword == Keyword::kMaxItems && !atom.negated) maximum_ = std::min(maximum_, count);
    if (keyword == Keyword::kMaxItems && atom.negated) minimum_ = std::max(minimum_, count + 1);
    if (keyword == Keyword::kMinItems && atom.negated) {
      if (count == 0) minimum_ = kUnbounded;
      if (count > 0) maximum_ = std::min(maximum_, count - 1);
      if (count == 0) maximum_ = 0;
    }
    return Status::kOk;
  }

  Status want(const Wanted& wanted) {
    if (wanted_.size() == kMaxWanted) {
      return schema_.unsupported(wanted.node, "more than 4 \"contains\" of one array are not supported");
    }
    wanted_.push(wanted);
    return Status::kOk;
  }

  Status read_contains(uint32_t schema) {
    Wanted wanted;
    wanted.node = schema_.assertion(schema, Keyword::kContains);
    const uint32_t minimum = schema_.assertion(schema, Keyword::kMinContains);
    const uint32_t maximum = schema_.assertion(schema, Keyword::kMaxContains);
    if (minimum != kNoIndex) SOTTO_TRY(schema_.count_of(minimum, &wanted.minimum));
    if (maximum != kNoIndex) SOTTO_TRY(schema_.count_of(maximum, &wanted.maximum));
    if (wanted.minimum == 0 && wanted.maximum == kUnbounded) return Status::kOk;
    return want(wanted);
  }

  // Collects the conditions on the element at `index`. All elements with an index of at least tuple_ have the same
  // conditions.
  void collect(uint32_t index) {
    literals_.truncate(0);
    for (const Literal& atom : atoms_) {
      if (atom.kind == LiteralKind::kEvery) literals_.push({atom.node, LiteralKind::kSchema, atom.negated});
      const bool is_element = atom.kind == LiteralKind::kElement || atom.kind == LiteralKind::kSameElement;
      if (is_element && document_[atom.node].index == index) {
        const bool is_schema = atom.kind == LiteralKind::kElement;
        literals_.push({atom.node, is_schema ? LiteralKind::kSchema : LiteralKind::kEquals, atom.negated});
      }
      if (atom.kind == LiteralKind::kEquals) {
        const uint32_t value = document_.element(atom.node, index);
        if (value != kNoIndex) literals_.push({value, LiteralKind::kEquals, false});
      }
      if (atom.kind != LiteralKind::kTuple) continue;
      const auto tuple = schema_.tuple_of(atom.node);
      const uint32_t schema = index < tuple.count ? document_.element(tuple.list, index) : tuple.rest;
      if (schema != kNoIndex) literals_.push({schema, LiteralKind::kSchema, false});
    }
  }

  uint32_t element(uint32_t index) {
    collect(std::min(index, tuple_));
    return json_.item(compiler_.value(literals_));
  }

  uint32_t element_after(bool comma, uint32_t value) { return comma ? json_.sequence(json_.comma(), value) : value; }

  // Builds the plain case: x0 (, x1 (, x2 (, rest)*)?)?.
  uint32_t plain() {
    if (maximum_ == 0) return kNoIndex;
    uint32_t content = kNoIndex;
    if (maximum_ > tuple_) {
      const uint32_t rest_minimum = minimum_ > tuple_ ? minimum_ - tuple_ : 0;
      const uint32_t rest_maximum = maximum_ == kUnbounded ? kUnbounded : maximum_ - tuple_;
      if (tuple_ > 0) {
        const uint32_t comma = json_.comma();
        content = builder_.repeat(json_.sequence(comma, element(tuple_)), rest_minimum, rest_maximum);
      } else {
        const uint32_t first = element(0);
        const uint32_t comma = json_.comma();
        const uint32_t more = json_.sequence(comma, element(0));
        content = json_.sequence(first, builder_.repeat(more, rest_minimum > 0 ? rest_minimum - 1 : 0,
                                                        rest_maximum == kUnbounded ? rest_maximum : rest_maximum - 1));
        if (rest_minimum == 0) content = builder_.repeat(content, 0, 1);
      }
    }
    for (uint32_t i = tuple_; i > 0; --i) {
      const uint32_t own = element_after(i > 1, element(i - 1));
      content = content == kNoIndex ? own : json_.sequence(own, content);
      if (i > minimum_) content = builder_.repeat(content, 0, 1);
    }
    return content;
  }

  // Builds unique elements from the values that "enum" or "const" lists. They are a set, in any order, unless they are
  // too many or are counted, in which case they come in the order of the list.
  Status unique(uint32_t* content) {
    collect(0);
    uint32_t list = kNoIndex;
    for (const Literal& literal : literals_.span()) {
      if (literal.kind != LiteralKind::kSchema || literal.negated) continue;
      uint32_t schema = literal.node;
      SOTTO_TRY(schema_.skip_references(&schema));
      for (const Keyword keyword : {Keyword::kEnum, Keyword::kConst}) {
        if (list == kNoIndex) list = schema_.assertion(schema, keyword);
      }
    }
    GrowingArray<uint32_t> values(schema_.workspace());
    bool fits = tuple_ == 0 && wanted_.empty();
    const char* const what = "several unique elements are not supported unless \"enum\" lists them";
    if (list == kNoIndex) return schema_.unsupported(unique_, what);
    for (const uint32_t v : document_.values(list, schema_.keyword(list) == Keyword::kEnum)) {
      SOTTO_TRY(schema_.check_limits());
      fits = fits && schema_.type_of(v) < JsonType::kArray;
      const auto known = values.span();
      const bool is_known =
          std::any_of(known.begin(), known.end(), [&](uint32_t other) { return schema_.same_value(v, other); });
      if (!is_known) values.push(v);
    }
    if (!fits) return schema_.unsupported(unique_, what);
    const bool all = minimum_ == values.size();
    const bool is_counted = maximum_ < values.size() || (minimum_ > 1 && !all);
    if (is_counted || values.size() > kMaxSingleMembers) return subsequence(values.span(), content);
    GrowingArray<SetMember> members(schema_.workspace());
    for (const uint32_t v : values.span()) {
      collect(0);
      literals_.push({v, LiteralKind::kEquals, false});
      const uint32_t rule = builder_.anonymous_rule(json_.item(compiler_.value(literals_)));
      const uint32_t comma = json_.comma();
      const uint32_t more = builder_.anonymous_rule(json_.sequence(comma, builder_.reference(rule)));
      members.push({rule, more, all ? 1u : 0u, 1});
    }
    *content = builder_.any_order(members.span());
    if (minimum_ == 0) *content = builder_.repeat(*content, 0, 1);
    return Status::kOk;
  }

  // Builds the values in their order, each at most once. There is a rule for each pair of a value and the number of
  // elements before it. The number saturates where it no longer matters.
  Status subsequence(std::span<const uint32_t> values, uint32_t* content) {
    const bool limited = maximum_ < values.size();
    const uint32_t last = limited ? maximum_ : std::max(minimum_, 1u);
    const uint32_t rows = last + 1;
    if ((values.size() + 1) * uint64_t{rows} > kMaxArrayStates) {
      return schema_.unsupported(unique_, "too many unique elements to count");
    }
    auto* rules = schema_.workspace().take<uint32_t>((values.size() + 1) * rows);
    if (rules == nullptr) return schema_.check_limits();
    for (size_t i = (values.size() + 1) * rows; i-- > 0;) {
      const size_t position = i / rows;
      const auto count = static_cast<uint32_t>(i % rows);
      GrammarBuilder::List choices;
      if (position == values.size()) {
        builder_.append(choices, count >= minimum_ ? builder_.empty() : json_.never());
      } else {
        builder_.append(choices, builder_.reference(rules[i + rows]));
        if (!limited || count < last) {
          collect(0);
          literals_.push({values[position], LiteralKind::kEquals, false});
          const uint32_t own = element_after(count > 0, json_.item(compiler_.value(literals_)));
          builder_.append(choices, json_.sequence(own, builder_.reference(rules[i + rows + (count < last ? 1 : 0)])));
        }
      }
      rules[i] = builder_.anonymous_rule(builder_.choice(choices));
      SOTTO_TRY(schema_.check_limits());
    }
    *content = builder_.reference(rules[0]);
    return Status::kOk;
  }

  // Builds a rule per state of counting. A state consists of the number of elements, and the number of elements of each
  // wanted kind. The latter numbers are the digits of one number, the code.
  Status counted(uint32_t* content) {
    const bool bounded = maximum_ != kUnbounded;
    const uint32_t last = bounded ? maximum_ : std::max(tuple_, minimum_);
    // An additional row, so that only the first element has no comma before it.
    const uint32_t rows = bounded || last > 0 ? last + 1 : 2;
    uint64_t codes = 1;
    for (const Wanted& wanted : wanted_.span()) {
      codes *= wanted.last() + 1ull;
      if (codes * rows > kMaxArrayStates) {
        return schema_.unsupported(wanted.node, "too many elements to count \"contains\" among");
      }
      if (wanted.minimum <= wanted.maximum) continue;
      *content = json_.never();
      return Status::kOk;
    }
    auto* rules = schema_.workspace().take<uint32_t>(static_cast<size_t>(rows * codes));
    if (rules == nullptr) return schema_.check_limits();
    for (uint32_t i = 0; i < rows * codes; ++i) rules[i] = builder_.anonymous_rule(kNoIndex);
    for (uint32_t row = 0; row < rows; ++row) {
      for (uint32_t code = 0; code < codes; ++code) {
        GrammarBuilder::List choices;
        if (row >= minimum_ && has_enough(code)) builder_.append(choices, builder_.empty());
        const uint32_t next = row + 1 < rows ? row + 1 : bounded ? kNoIndex : row;
        for (uint32_t kinds = 0; next != kNoIndex && kinds < 1u << wanted_.size(); ++kinds) {
          collect(std::min(row, tuple_));
          const uint32_t code_after = count(code, kinds);
          if (code_after == kNoIndex) continue;
          const uint32_t value = element_after(row > 0, json_.item(compiler_.value(literals_)));
          const uint32_t after = rules[next * codes + code_after];
          builder_.append(choices, json_.sequence(value, builder_.reference(after)));
        }
        const uint32_t body = choices.first == kNoIndex ? json_.never() : builder_.choice(choices);
        builder_.define(rules[row * codes + code], body, 0);
        SOTTO_TRY(schema_.check_limits());
      }
    }
    *content = builder_.reference(rules[0]);
    return Status::kOk;
  }

  bool has_enough(uint32_t code) const {
    for (const Wanted& wanted : wanted_.span()) {
      if (code % (wanted.last() + 1) < wanted.minimum) return false;
      code /= wanted.last() + 1;
    }
    return true;
  }

  // Counts an element of the wanted kinds in the bit set `kinds`, and adds their conditions to literals_. Returns the
  // new code. Returns kNoIndex if the count of a kind cannot increase, because another such element is not allowed or,
  // without a maximum, need not be counted.
  uint32_t count(uint32_t code, uint32_t kinds) {
    uint32_t digit = 1;
    for (uint32_t kind = 0; kind < wanted_.size(); ++kind) {
      const Wanted& wanted = wanted_[kind];
      const bool is_wanted = (kinds >> kind & 1) != 0;
      if (is_wanted && code / digit % (wanted.last() + 1) == wanted.last()) return kNoIndex;
      if (is_wanted || wanted.is_limited()) {
        literals_.push({wanted.node, LiteralKind::kSchema, wanted.negated == is_wanted});
      }
      if (is_wanted) code += digit;
      digit *= wanted.last() + 1;
    }
    return code;
  }

  SchemaCompiler& compiler_;
  const Schema& schema_;
  const JsonDocument& document_;
  GrammarBuilder& builder_;
  JsonGrammar& json_;
  std::span<const Literal> atoms_;
  GrowingArray<Literal> literals_;
  uint32_t tuple_ = 0;  // number of elements with conditions of their own
  uint32_t minimum_ = 0;
  uint32_t maximum_ = kUnbounded;
  uint32_t unique_ = kNoIndex;
  GrowingArray<Wanted> wanted_;
};

}  // namespace

Status build_array(SchemaCompiler& compiler, Atoms atoms, uint32_t* expression) {
  return ArrayBuilder(compiler, atoms).build(expression);
}

}  // namespace sotto
