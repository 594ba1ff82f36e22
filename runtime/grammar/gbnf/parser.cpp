#include "runtime/grammar/gbnf/parser.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/ascii.h"
#include "runtime/base/utf8.h"
#include "runtime/grammar/compiler/source_error.h"

namespace sotto {
namespace {

constexpr uint32_t kMaxNesting = 512;

bool is_name_character(char c) { return is_letter(c) || is_digit(c) || c == '_' || c == '-'; }

// A cursor over GBNF source: white space, comments, names, numbers and characters.
class GbnfLexer {
 public:
  GbnfLexer(std::span<const char> text, Error* error) : text_(text), error_(error) {}

  size_t offset() const { return at_; }
  void seek(size_t offset) { at_ = offset; }
  bool at_end() const { return at_ == text_.size(); }
  // Returns NUL at the end of the text.
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool at(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    if (!at(c)) return false;
    ++at_;
    return true;
  }
  bool take(const char* word);

  // Skips spaces, tabs and a comment, and also line breaks if `newlines` is set.
  void skip_space(bool newlines);
  // Reads a name. The result is empty if there is none. A dot belongs to a name only between other characters of the
  // name.
  std::span<const char> name();
  // Reads a number of at most kMaxRepetitions. Sets `*digits` to false if there is none.
  Status number(uint32_t* value, bool* digits);
  // Reads one character of a string or character class, or an escape.
  Status character(uint32_t* code_point);

  std::span<const char> text() const { return text_; }
  Status fail(size_t offset, const char* what) const { return fail_in_source(error_, text_, offset, what); }
  Status fail_at_name(size_t offset, const char* what, std::span<const char> name) const {
    return sotto::fail_at_name(error_, text_, offset, what, name);
  }

 private:
  Status escape(uint32_t* code_point);
  Status hexadecimal(size_t begin, uint32_t digits, uint32_t* code_point);

  std::span<const char> text_;
  Error* error_;
  size_t at_ = 0;
};

bool GbnfLexer::take(const char* word) {
  const size_t size = std::strlen(word);
  if (text_.size() - at_ < size || std::memcmp(text_.data() + at_, word, size) != 0) return false;
  at_ += size;
  return true;
}

void GbnfLexer::skip_space(bool newlines) {
  for (; !at_end(); ++at_) {
    const char c = peek();
    if (c == '#') {
      while (!at_end() && peek() != '\n') ++at_;
      if (at_end()) return;
    }
    const bool is_space = peek() == ' ' || peek() == '\t' || peek() == '\r';
    if (!is_space && !(newlines && peek() == '\n')) return;
  }
}

std::span<const char> GbnfLexer::name() {
  const size_t begin = at_;
  while (is_name_character(peek()) || (peek() == '.' && at_ > begin && is_name_character(peek(1)))) {
    ++at_;
  }
  return text_.subspan(begin, at_ - begin);
}

Status GbnfLexer::number(uint32_t* value, bool* digits) {
  const size_t begin = at_;
  uint64_t number = 0;
  while (is_digit(peek())) {
    number = number * 10 + static_cast<uint64_t>(peek() - '0');
    if (number > kMaxRepetitions) return fail(begin, "number exceeds 2147483648");
    ++at_;
  }
  *value = static_cast<uint32_t>(number);
  *digits = at_ > begin;
  return Status::kOk;
}

Status GbnfLexer::hexadecimal(size_t begin, uint32_t digits, uint32_t* code_point) {
  uint32_t value = 0;
  for (uint32_t i = 0; i < digits; ++i, ++at_) {
    const int digit = hex_value(peek());
    if (digit < 0) return fail(begin, "escape sequence needs more hexadecimal digits");
    value = value << 4 | static_cast<uint32_t>(digit);
  }
  if (!is_scalar_value(value)) return fail(begin, "invalid Unicode code point");
  *code_point = value;
  return Status::kOk;
}

Status GbnfLexer::escape(uint32_t* code_point) {
  const size_t begin = at_++;
  const char kind = peek();
  if (at_end()) return fail(begin, "incomplete escape sequence");
  ++at_;
  switch (kind) {
    case 'x':
      return hexadecimal(begin, 2, code_point);
    case 'u':
      return hexadecimal(begin, 4, code_point);
    case 'U':
      return hexadecimal(begin, 8, code_point);
    case 't':
      *code_point = '\t';
      return Status::kOk;
    case 'r':
      *code_point = '\r';
      return Status::kOk;
    case 'n':
      *code_point = '\n';
      return Status::kOk;
    default:
      constexpr char kPlain[] = {'\\', '"', '[', ']', '-', '/', '\''};
      if (std::find(std::begin(kPlain), std::end(kPlain), kind) == std::end(kPlain)) {
        return fail(begin, "invalid escape sequence");
      }
      *code_point = static_cast<uint8_t>(kind);
      return Status::kOk;
  }
}

Status GbnfLexer::character(uint32_t* code_point) {
  if (at('\\')) return escape(code_point);
  const Utf8Character character = decode_utf8(text_.data() + at_, text_.size() - at_);
  if (!character.valid) return fail(at_, "invalid UTF-8");
  *code_point = character.code_point;
  at_ += character.size;
  return Status::kOk;
}

class GbnfParser {
 public:
  GbnfParser(std::span<const char> text, const TokenNames& names, GrammarBuilder& builder, Error* error)
      : lexer_(text, error),
        names_(names),
        builder_(builder),
        first_rule_(builder.rule_count()),
        groups_(builder.workspace()),
        bytes_(builder.workspace()) {}

  Status parse() {
    lexer_.take("\xEF\xBB\xBF");
    for (;;) {
      lexer_.skip_space(true);
      if (lexer_.at_end()) break;
      SOTTO_TRY(rule());
      if (builder_.workspace().exhausted()) break;  // the compiler reports that the workspace is exhausted
    }
    if (builder_.rule_count() == first_rule_) return lexer_.fail(lexer_.offset(), "missing rule");
    return check_references();
  }

 private:
  // An open rule, or an open parenthesis in it.
  struct Group {
    GrammarBuilder::List alternatives;
    GrammarBuilder::List sequence;
    uint32_t atom;  // not in the sequence yet, because a postfix operator may follow
    size_t begin;
  };

  Status rule() {
    const size_t begin = lexer_.offset();
    const auto name = lexer_.name();
    if (name.empty()) return lexer_.fail(begin, "expected a rule name");
    lexer_.skip_space(false);
    if (!lexer_.take("::=")) return lexer_.fail(lexer_.offset(), "expected '::='");
    const uint32_t index = builder_.rule(name, begin);
    if (builder_.rule_at(index).body != kNoIndex) return lexer_.fail_at_name(begin, "duplicate rule", name);
    uint32_t body = kNoIndex;
    SOTTO_TRY(alternatives(&body));
    builder_.define(index, body, begin);
    return Status::kOk;
  }

  Status alternatives(uint32_t* body) {
    groups_.truncate(0);
    groups_.push({{}, {}, kNoIndex, lexer_.offset()});
    lexer_.skip_space(true);
    while (!builder_.workspace().exhausted()) {
      const bool nested = groups_.size() > 1;
      lexer_.skip_space(nested);
      if (lexer_.take('|')) {
        close_sequence();
        lexer_.skip_space(true);
      } else if (lexer_.at('(')) {
        SOTTO_TRY(open());
      } else if (lexer_.at(')')) {
        SOTTO_TRY(close());
      } else if (lexer_.at_end() || (lexer_.at('\n') && !nested)) {
        if (nested) return lexer_.fail(groups_.back().begin, "missing closing )");
        if (continues_on_next_line()) continue;
        break;
      } else {
        SOTTO_TRY(item());
      }
    }
    close_sequence();
    *body = builder_.choice(groups_[0].alternatives);
    return Status::kOk;
  }

  bool continues_on_next_line() {
    const size_t begin = lexer_.offset();
    lexer_.skip_space(true);
    if (lexer_.at('|')) return true;
    lexer_.seek(begin);
    return false;
  }

  void flush_atom() {
    Group& group = groups_.back();
    if (group.atom != kNoIndex) builder_.append(group.sequence, group.atom);
    group.atom = kNoIndex;
  }

  void close_sequence() {
    flush_atom();
    Group& group = groups_.back();
    builder_.append(group.alternatives, builder_.sequence(group.sequence));
    group.sequence = {};
  }

  Status open() {
    flush_atom();
    if (groups_.size() > kMaxNesting) return lexer_.fail(lexer_.offset(), "parentheses nested deeper than 512");
    groups_.push({{}, {}, kNoIndex, lexer_.offset()});
    lexer_.take('(');
    return Status::kOk;
  }

  Status close() {
    if (groups_.size() == 1) return lexer_.fail(lexer_.offset(), "unexpected )");
    lexer_.take(')');
    close_sequence();
    const uint32_t choice = builder_.choice(groups_.back().alternatives);
    groups_.pop();
    groups_.back().atom = choice;
    return Status::kOk;
  }

  Status item() {
    const size_t begin = lexer_.offset();
    switch (lexer_.peek()) {
      case '*':
      case '+':
      case '?':
      case '{':
        return postfix();
      case '"':
        return text();
      case '[':
        return characters();
      case '<':
      case '!':
        return token();
      case '.':
        lexer_.take('.');
        return characters_atom(builder_.begin_intervals(), true, begin);
      default:
        break;
    }
    const auto name = lexer_.name();
    if (name.empty()) return lexer_.fail(begin, "unexpected character");
    return atom(builder_.reference(builder_.rule(name, begin)));
  }

  Status atom(uint32_t expression) {
    flush_atom();
    groups_.back().atom = expression;
    return Status::kOk;
  }

  Status postfix() {
    const size_t begin = lexer_.offset();
    uint32_t& repeated = groups_.back().atom;
    if (repeated == kNoIndex) return lexer_.fail(begin, "nothing to repeat");
    uint32_t minimum = 0;
    uint32_t maximum = kUnbounded;
    if (lexer_.take('+')) {
      minimum = 1;
    } else if (lexer_.take('?')) {
      maximum = 1;
    } else if (!lexer_.take('*')) {
      SOTTO_TRY(counts(&minimum, &maximum));
    }
    repeated = builder_.repeat(repeated, minimum, maximum);
    return Status::kOk;
  }

  Status counts(uint32_t* minimum, uint32_t* maximum) {
    const size_t begin = lexer_.offset();
    lexer_.take('{');
    lexer_.skip_space(true);
    bool has_minimum = false;
    SOTTO_TRY(lexer_.number(minimum, &has_minimum));
    lexer_.skip_space(true);
    if (lexer_.take(',')) {
      lexer_.skip_space(true);
      bool has_maximum = false;
      SOTTO_TRY(lexer_.number(maximum, &has_maximum));
      if (!has_minimum && !has_maximum) return lexer_.fail(begin, "missing repetition count");
      if (!has_maximum) *maximum = kUnbounded;
    } else {
      if (!has_minimum) return lexer_.fail(begin, "missing repetition count");
      *maximum = *minimum;
    }
    lexer_.skip_space(true);
    if (!lexer_.take('}')) return lexer_.fail(lexer_.offset(), "missing closing }");
    if (*minimum > *maximum) return lexer_.fail(begin, "repetition minimum exceeds its maximum");
    return Status::kOk;
  }

  Status text() {
    const size_t begin = lexer_.offset();
    lexer_.take('"');
    bytes_.truncate(0);
    while (!lexer_.take('"')) {
      if (lexer_.at_end()) return lexer_.fail(begin, "unterminated string");
      uint32_t code_point = 0;
      SOTTO_TRY(lexer_.character(&code_point));
      uint8_t form[4];
      const uint32_t size = encode_utf8(code_point, form);
      for (uint32_t i = 0; i < size; ++i) bytes_.push(static_cast<char>(form[i]));
    }
    return atom(builder_.text(bytes_.span()));
  }

  Status characters() {
    const size_t begin = lexer_.offset();
    lexer_.take('[');
    const bool complement = lexer_.take('^');
    const uint32_t first = builder_.begin_intervals();
    while (!lexer_.take(']')) {
      if (lexer_.at_end()) return lexer_.fail(begin, "missing closing ]");
      const size_t at = lexer_.offset();
      Interval interval{};
      SOTTO_TRY(lexer_.character(&interval.first));
      interval.last = interval.first;
      if (lexer_.at('-') && lexer_.peek(1) != ']') {
        lexer_.take('-');
        if (lexer_.at_end()) return lexer_.fail(begin, "missing closing ]");
        SOTTO_TRY(lexer_.character(&interval.last));
      }
      if (interval.last < interval.first) return lexer_.fail(at, "range end is before its start");
      builder_.add_interval(interval);
    }
    return characters_atom(first, complement, begin);
  }

  Status characters_atom(uint32_t first, bool complement, size_t begin) {
    const uint32_t expression = builder_.characters(first, complement);
    if (expression == kNoIndex) return lexer_.fail(begin, "empty character class");
    return atom(expression);
  }

  Status token() {
    const size_t begin = lexer_.offset();
    const bool complement = lexer_.take('!');
    if (!lexer_.at('<')) return lexer_.fail(begin, "expected '<' after '!'");
    if (names_.token_count == 0) {
      return lexer_.fail(begin, "token literals need a vocabulary");
    }
    Interval tokens{};
    if (lexer_.peek(1) == '[') {
      SOTTO_TRY(token_numbers(&tokens));
    } else {
      SOTTO_TRY(token_text(&tokens));
    }
    const uint32_t first = builder_.begin_intervals();
    if (!complement && tokens.first == tokens.last) {
      builder_.add_interval(tokens);
    } else if (!complement) {
      add_tokens_of_text(tokens.first, tokens.last + 1);
    } else {
      add_tokens_of_text(0, tokens.first);
      add_tokens_of_text(tokens.last + 1, names_.token_count);
    }
    if (builder_.begin_intervals() == first) return lexer_.fail(begin, "token literal matches no token");
    return atom(builder_.tokens(first));
  }

  // Adds the tokens from `first` to before `end` that do not end a text.
  void add_tokens_of_text(uint32_t first, uint32_t end) {
    while (first < end) {
      uint32_t next = end;
      for (const int32_t token : names_.end_tokens) {
        const auto number = static_cast<uint32_t>(token);
        if (number >= first) next = std::min(next, number);
      }
      if (next > first) builder_.add_interval({first, next - 1});
      first = next + 1;
    }
  }

  Status token_numbers(Interval* tokens) {
    const size_t begin = lexer_.offset();
    lexer_.take("<[");
    bool digits = false;
    SOTTO_TRY(lexer_.number(&tokens->first, &digits));
    tokens->last = tokens->first;
    if (digits && lexer_.take('-')) SOTTO_TRY(lexer_.number(&tokens->last, &digits));
    if (!digits || !lexer_.take("]>")) return lexer_.fail(begin, "invalid token number");
    if (tokens->last < tokens->first) return lexer_.fail(begin, "range end is before its start");
    if (tokens->last >= names_.token_count) {
      return lexer_.fail(begin, "token number is not in the vocabulary");
    }
    return Status::kOk;
  }

  // Reads a token literal by its text, including the angle brackets.
  Status token_text(Interval* tokens) {
    const size_t begin = lexer_.offset();
    while (!lexer_.at_end() && lexer_.peek() != '>') lexer_.seek(lexer_.offset() + 1);
    if (!lexer_.take('>')) return lexer_.fail(begin, "missing closing >");
    const auto name = lexer_.text().subspan(begin, lexer_.offset() - begin);
    const uint32_t token = names_.find == nullptr ? kNoIndex : names_.find(names_.self, name);
    if (token == kNoIndex) return lexer_.fail(begin, "unknown token");
    *tokens = {token, token};
    return Status::kOk;
  }

  Status check_references() {
    for (uint32_t rule = first_rule_; rule < builder_.rule_count(); ++rule) {
      if (builder_.rule_at(rule).body == kNoIndex) {
        const auto mentioned = static_cast<size_t>(builder_.rule_at(rule).mentioned);
        return lexer_.fail_at_name(mentioned, "undefined rule", builder_.rule_name(rule));
      }
    }
    return Status::kOk;
  }

  GbnfLexer lexer_;
  const TokenNames& names_;
  GrammarBuilder& builder_;
  const uint32_t first_rule_;
  GrowingArray<Group> groups_;
  GrowingArray<char> bytes_;
};

}  // namespace

Status parse_gbnf(std::span<const char> text, const TokenNames& names, GrammarBuilder& builder, Error* error) {
  const Status status = GbnfParser(text, names, builder, error).parse();
  // If the workspace is exhausted, an error found later may only be a consequence.
  return builder.workspace().exhausted() ? fail_too_large(error) : status;
}

}  // namespace sotto
