#include "runtime/grammar/regex/parser.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/ascii.h"
#include "runtime/base/utf8.h"
#include "runtime/grammar/compiler/source_error.h"
#include "runtime/grammar/regex/property_tables.h"

namespace sotto {
namespace {

constexpr uint32_t kMaxGroupNesting = 512;

// Adds the intervals of a property, which are stored as gaps and lengths with 7 bits per byte.
void add_property(const RegexProperty& property, GrowingArray<Interval>& intervals) {
  const uint8_t* at = kRegexPropertyIntervals + property.first;
  const uint8_t* end = at + property.size;
  const auto number = [&] {
    uint32_t value = 0;
    for (uint32_t shift = 0;; shift += 7) {
      value |= static_cast<uint32_t>(*at & 0x7F) << shift;
      if ((*at++ & 0x80) == 0) return value;
    }
  };
  uint32_t free = 0;
  while (at < end) {
    const uint32_t first = free + number();
    const uint32_t last = first + number();
    intervals.push({first, last});
    free = last + 1;
  }
}

// Adds the characters of a property such as "Lu", "Letter", "gc=Lu", "Script=Greek" or "Alphabetic".
bool add_property_named(std::string_view name, GrowingArray<Interval>& intervals) {
  bool any_kind = true;
  RegexPropertyKind kind = RegexPropertyKind::kCategory;
  if (const size_t equals = name.find('='); equals != std::string_view::npos) {
    const std::string_view property(name.data(), equals);
    name.remove_prefix(equals + 1);
    any_kind = false;
    if (property == "Script" || property == "sc" || property == "Script_Extensions" || property == "scx") {
      if (property.size() == 3 || property.size() > 6) return false;  // there is no table of script extensions
      kind = RegexPropertyKind::kScript;
    } else if (property != "General_Category" && property != "gc") {
      return false;
    }
  } else if (name == "Any" || name == "ASCII") {
    intervals.push({0, name == "Any" ? kMaxCodePoint : 0x7F});
    return true;
  }
  for (const RegexProperty& property : kRegexProperties) {
    if (any_kind ? property.kind == RegexPropertyKind::kScript : property.kind != kind) continue;
    if (name != property.short_name && name != property.name) continue;
    add_property(property, intervals);
    return true;
  }
  return false;
}

// Adds the characters of \d, \w or \s.
void add_class(char name, GrowingArray<Interval>& intervals) {
  if (name == 'd' || name == 'w') intervals.push({'0', '9'});
  if (name == 'w') {
    intervals.push({'A', 'Z'});
    intervals.push({'_', '_'});
    intervals.push({'a', 'z'});
  }
  if (name == 's') {
    // White space and line terminators of ECMA-262, sections 12.2 and 12.3.
    for (const Interval space :
         {Interval{0x09, 0x0D}, Interval{0x20, 0x20}, Interval{0xA0, 0xA0}, Interval{0x1680, 0x1680},
          Interval{0x2000, 0x200A}, Interval{0x2028, 0x2029}, Interval{0x202F, 0x202F}, Interval{0x205F, 0x205F},
          Interval{0x3000, 0x3000}, Interval{0xFEFF, 0xFEFF}}) {
      intervals.push(space);
    }
  }
}

class RegexParser {
 public:
  RegexParser(std::span<const char> text, RegexTree& tree, Workspace& workspace, Error* error)
      : text_(text), tree_(tree), error_(error), groups_(workspace), workspace_(workspace) {}

  Status parse() {
    groups_.push({});
    if (workspace_.exhausted()) return no_memory();
    while (at_ < text_.size()) {
      SOTTO_TRY(item());
      if (workspace_.exhausted()) return no_memory();
    }
    if (groups_.size() > 1) return fail(groups_.back().begin, "missing closing )");
    tree_.root = finish(groups_.back());
    return Status::kOk;
  }

 private:
  struct Group {
    uint32_t alternatives = kNoIndex;  // alternatives that are complete
    uint32_t last_alternative = kNoIndex;
    uint32_t items = kNoIndex;  // items of the current alternative
    uint32_t last_item = kNoIndex;
    uint32_t before_last = kNoIndex;
    bool is_look_ahead = false;
    bool is_negated = false;  // true if the group is negative look-ahead
    bool repeatable = false;  // true if a quantifier may follow the last item
    size_t begin = 0;
  };

  Status no_memory() { return fail_too_large(error_); }
  Status fail(size_t offset, const char* what) { return fail_in_source(error_, text_, offset, what); }
  // Rejects a feature that has no exact regular grammar.
  Status unsupported(size_t offset, const char* what) {
    return fail_in_source(error_, text_, offset, what, Status::kGrammarUnsupported);
  }
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  bool take(std::string_view word) {
    if (text_.size() - at_ < word.size()) return false;
    if (std::memcmp(text_.data() + at_, word.data(), word.size()) != 0) return false;
    at_ += word.size();
    return true;
  }

  uint32_t add(RegexKind kind, uint32_t first = kNoIndex, uint32_t count = 0) {
    return tree_.nodes.push({kind, first, count, 0, 0, kNoIndex});
  }

  void append(uint32_t node, bool repeatable) {
    Group& group = groups_.back();
    if (group.last_item == kNoIndex) {
      group.items = node;
    } else {
      tree_.nodes[group.last_item].next = node;
    }
    group.before_last = group.last_item;
    group.last_item = node;
    group.repeatable = repeatable;
  }

  void close_alternative(Group& group) {
    uint32_t node = group.items;
    if (node == kNoIndex) {
      node = add(RegexKind::kEmpty);
    } else if (tree_.nodes[node].next != kNoIndex) {
      node = add(RegexKind::kSequence, node);
    }
    if (group.alternatives == kNoIndex) {
      group.alternatives = node;
    } else {
      tree_.nodes[group.last_alternative].next = node;
    }
    group.last_alternative = node;
    group.items = group.last_item = group.before_last = kNoIndex;
    group.repeatable = false;
  }

  uint32_t finish(Group& group) {
    close_alternative(group);
    if (group.alternatives == group.last_alternative) return group.alternatives;
    return add(RegexKind::kChoice, group.alternatives);
  }

  Status item() {
    const size_t begin = at_;
    switch (peek()) {
      case '|':
        ++at_;
        close_alternative(groups_.back());
        return Status::kOk;
      case '(':
        return open();
      case ')':
        return close();
      case '^':
      case '$':
        ++at_;
        append(add(text_[begin] == '^' ? RegexKind::kBegin : RegexKind::kEnd), false);
        return Status::kOk;
      case '*':
      case '+':
      case '?':
        return postfix();
      case '{':
        if (is_quantifier()) return postfix();
        break;
      case '[':
        return bracket();
      case '.': {
        ++at_;
        const uint32_t first = tree_.intervals.size();
        for (const Interval other :
             {Interval{0, 9}, Interval{0xB, 0xC}, Interval{0xE, 0x2027}, Interval{0x202A, kMaxCodePoint}}) {
          tree_.intervals.push(other);
        }
        characters(first, false);
        return Status::kOk;
      }
      default:
        break;
    }
    const uint32_t first = tree_.intervals.size();
    if (peek() == '\\') {
      if (peek(1) == 'b' || peek(1) == 'B') return word_boundary();
      SOTTO_TRY(reject_back_references());
      bool is_set = false;
      SOTTO_TRY(escape(false, &is_set));
    } else {
      SOTTO_TRY(literal());
    }
    characters(first, false);
    return Status::kOk;
  }

  // Adds a node of the intervals from `first` on, or of their complement.
  void characters(uint32_t first, bool complement) {
    normalize_code_points(tree_.intervals, first);
    if (complement) complement_code_points(tree_.intervals, first);
    append(add(RegexKind::kCharacters, first, tree_.intervals.size() - first), true);
  }

  Status open() {
    const size_t begin = at_++;
    if (groups_.size() > kMaxGroupNesting) return fail(begin, "parentheses nested deeper than 512");
    Group group;
    group.begin = begin;
    if (take('?')) {
      group.is_look_ahead = peek() == '=' || peek() == '!';
      group.is_negated = peek() == '!';
      if (peek() == '<' && (peek(1) == '=' || peek(1) == '!')) {
        return unsupported(begin, "unsupported look-behind");
      }
      if (peek() == '>') return unsupported(begin, "unsupported atomic group");
      if (take("P<") || take('<')) {
        const size_t name = at_;
        while (is_letter(peek()) || is_digit(peek()) || peek() == '_' || peek() == '$') ++at_;
        if (at_ == name || is_digit(text_[name]) || !take('>')) return fail(begin, "invalid group name");
      } else if (group.is_look_ahead) {
        ++at_;
      } else if (!take(':')) {
        return unsupported(begin, "unsupported inline flags");
      }
    }
    groups_.push(group);
    return Status::kOk;
  }

  Status close() {
    if (groups_.size() == 1) return fail(at_, "unexpected )");
    ++at_;
    const Group group = groups_.back();
    const uint32_t node = finish(groups_.back());
    groups_.pop();
    if (!group.is_look_ahead) {
      append(node, true);
      return Status::kOk;
    }
    tree_.has_assertions = true;
    append(add(group.is_negated ? RegexKind::kNoLookAhead : RegexKind::kLookAhead, node), false);
    return Status::kOk;
  }

  Status word_boundary() {
    const uint32_t first = tree_.intervals.size();
    add_class('w', tree_.intervals);
    const RegexKind kind = peek(1) == 'b' ? RegexKind::kWordBoundary : RegexKind::kNoWordBoundary;
    at_ += 2;
    tree_.has_assertions = true;
    append(add(kind, first, tree_.intervals.size() - first), false);
    return Status::kOk;
  }

  // Returns whether the brace begins a quantifier {n}, {n,} or {n,m}, because any other brace stands for itself.
  bool is_quantifier() const {
    size_t ahead = 1;
    while (is_digit(peek(ahead))) ++ahead;
    if (ahead == 1) return false;
    if (peek(ahead) == ',') {
      ++ahead;
      while (is_digit(peek(ahead))) ++ahead;
    }
    return peek(ahead) == '}';
  }

  uint32_t number(uint32_t otherwise) {
    if (!is_digit(peek())) return otherwise;
    uint64_t value = 0;
    while (is_digit(peek())) {
      value = std::min<uint64_t>(value * 10 + static_cast<uint64_t>(text_[at_++] - '0'), kUnbounded);
    }
    return static_cast<uint32_t>(value);
  }

  Status postfix() {
    const size_t begin = at_;
    Group& group = groups_.back();
    if (!group.repeatable) {
      return fail(begin,
                  group.last_item == kNoIndex ? "nothing to repeat" : "cannot repeat an assertion or a repetition");
    }
    uint32_t minimum = 0;
    uint32_t maximum = kUnbounded;
    if (take('+')) {
      minimum = 1;
    } else if (take('?')) {
      maximum = 1;
    } else if (!take('*')) {
      ++at_;
      minimum = maximum = number(0);
      if (take(',')) maximum = peek() == '}' ? kUnbounded : number(0);
      ++at_;
      if (minimum > kMaxRepetitions || (maximum > kMaxRepetitions && maximum != kUnbounded)) {
        return fail(begin, "number exceeds 2147483648");
      }
      if (minimum > maximum) return fail(begin, "repetition minimum exceeds its maximum");
    }
    if (take('?')) {
      // A lazy quantifier does not change the language.
    } else if (peek() == '+') {
      return unsupported(at_, "unsupported possessive repetition");
    }
    const uint32_t body = group.last_item;
    const uint32_t repeat = tree_.nodes.push({RegexKind::kRepeat, body, 0, minimum, maximum, kNoIndex});
    if (group.before_last == kNoIndex) {
      group.items = repeat;
    } else {
      tree_.nodes[group.before_last].next = repeat;
    }
    group.last_item = repeat;
    group.repeatable = false;
    return Status::kOk;
  }

  Status literal() {
    const Utf8Character character = decode_utf8(text_.data() + at_, text_.size() - at_);
    if (!character.valid) return fail(at_, "invalid UTF-8");
    tree_.intervals.push({character.code_point, character.code_point});
    at_ += character.size;
    return Status::kOk;
  }

  Status reject_back_references() {
    const char kind = peek(1);
    const bool is_reference = (kind >= '1' && kind <= '9') || kind == 'k';
    return is_reference ? unsupported(at_, "unsupported back-reference") : Status::kOk;
  }

  // Adds the characters of the escape sequence at the current backslash. Sets `*is_set` if it stands for a set of
  // characters.
  Status escape(bool in_class, bool* is_set) {
    static constexpr char kFrom[] = "tnvfr0";
    static constexpr char kTo[] = "\t\n\v\f\r\0";
    const size_t begin = at_++;
    if (at_ == text_.size()) return fail(begin, "incomplete escape sequence");
    const char kind = text_[at_++];
    const auto single = [&](uint32_t code_point) {
      tree_.intervals.push({code_point, code_point});
      return Status::kOk;
    };
    if (kind == '0' && is_digit(peek())) return unsupported(begin, "unsupported octal escape");
    if (kind != '\0' && std::strchr(kFrom, kind) != nullptr) {
      return single(static_cast<uint8_t>(kTo[std::strchr(kFrom, kind) - kFrom]));
    }
    if (in_class && kind == 'b') return single('\b');
    if (in_class && kind == '-') return single('-');
    if (kind == 'c' && is_letter(peek())) return single(static_cast<uint32_t>(text_[at_++]) & 31);
    if (kind == 'x' || kind == 'u') return hexadecimal(begin, kind);
    if (kind != '\0' && std::strchr("dDwWsS", kind) != nullptr) {
      *is_set = true;
      const uint32_t first = tree_.intervals.size();
      add_class(static_cast<char>(kind | 0x20), tree_.intervals);
      if ((kind & 0x20) == 0) complement_code_points(tree_.intervals, first);
      return Status::kOk;
    }
    if (kind == 'p' || kind == 'P') {
      *is_set = true;
      return property(begin, kind == 'P');
    }
    if (is_letter(kind) || is_digit(kind)) return fail(begin, "invalid escape sequence");
    --at_;
    return literal();
  }

  Status property(size_t begin, bool complement) {
    if (!take('{')) return fail(begin, "invalid character property");
    const size_t name = at_;
    while (at_ < text_.size() && text_[at_] != '}') ++at_;
    const std::string_view property(text_.data() + name, at_ - name);
    if (!take('}')) return fail(begin, "invalid character property");
    const uint32_t first = tree_.intervals.size();
    if (!add_property_named(property, tree_.intervals)) return fail(begin, "unknown character property");
    if (complement) complement_code_points(tree_.intervals, first);
    return Status::kOk;
  }

  // Reads hexadecimal digits. A value above U+10FFFF is not valid. It stays above U+10FFFF, but is not exact.
  bool digits(uint32_t min_count, size_t max_count, uint32_t* value) {
    uint32_t count = 0;
    *value = 0;
    for (; count < max_count; ++count, ++at_) {
      const int digit = hex_value(peek());
      if (digit < 0) break;
      if (*value <= kMaxCodePoint) *value = *value << 4 | static_cast<uint32_t>(digit);
    }
    return count >= min_count;
  }

  Status hexadecimal(size_t begin, char kind) {
    uint32_t value = 0;
    bool fits = false;
    if (kind == 'x') {
      fits = digits(2, 2, &value);
    } else if (take('{')) {
      fits = digits(1, SIZE_MAX, &value) && take('}');
    } else {
      fits = digits(4, 4, &value);
      if (fits && value >= 0xD800 && value < 0xDC00 && take("\\u")) {
        uint32_t low = 0;
        fits = digits(4, 4, &low) && low >= 0xDC00 && low <= 0xDFFF;
        value = 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
      }
    }
    if (!fits) return fail(begin, "invalid escape sequence");
    if (!is_scalar_value(value)) return fail(begin, "invalid Unicode code point");
    tree_.intervals.push({value, value});
    return Status::kOk;
  }

  Status class_atom(bool* is_set) {
    *is_set = false;
    if (peek() == '\\') return escape(true, is_set);
    return literal();
  }

  Status bracket() {
    const size_t begin = at_++;
    const bool complement = take('^');
    const uint32_t first = tree_.intervals.size();
    while (!take(']')) {
      if (at_ >= text_.size()) return fail(begin, "missing closing ]");
      const size_t item = at_;
      bool is_set = false;
      SOTTO_TRY(class_atom(&is_set));
      if (workspace_.exhausted()) return Status::kOk;
      if (peek() != '-' || peek(1) == ']' || at_ + 1 >= text_.size()) continue;
      ++at_;
      bool upper_is_set = false;
      const uint32_t lower = tree_.intervals.back().first;
      SOTTO_TRY(class_atom(&upper_is_set));
      if (is_set || upper_is_set) {
        tree_.intervals.push({'-', '-'});  // the hyphen stands for itself
        continue;
      }
      const uint32_t upper = tree_.intervals.back().first;
      if (upper < lower) return fail(item, "range end is before its start");
      tree_.intervals.push({lower, upper});
    }
    characters(first, complement);
    return Status::kOk;
  }

  std::span<const char> text_;
  RegexTree& tree_;
  Error* error_;
  GrowingArray<Group> groups_;
  Workspace& workspace_;
  size_t at_ = 0;
};

}  // namespace

Status parse_regex(std::span<const char> pattern, RegexTree& tree, Workspace& workspace, Error* error) {
  return RegexParser(pattern, tree, workspace, error).parse();
}

}  // namespace sotto
