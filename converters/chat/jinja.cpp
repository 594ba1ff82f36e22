#include "converters/chat/jinja.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace sotto::jinja {
namespace {

constexpr int kMaxNesting = 60;
constexpr size_t kMaxSteps = 200'000;
constexpr size_t kMaxBytes = size_t{1} << 20;
constexpr size_t kMaxValueBytes = size_t{1} << 24;  // of all values that are read or computed
constexpr std::string_view kSpaces = " \t\n\v\f\r";

[[noreturn]] void fail(int line, const std::string& message) {
  throw TemplateError("line " + std::to_string(line) + ": " + message);
}

Value undefined() { return Value(Value::value_t::discarded); }

// Returns the number of bytes of a value and of the values in it.
size_t size_of(const Value& value) {
  size_t size = sizeof value;
  if (value.is_string()) size += value.get_ref<const std::string&>().size();
  if (value.is_array()) {
    for (const Value& element : value) size += size_of(element);
  } else if (value.is_object()) {
    for (const auto& [name, member] : value.items()) size += name.size() + size_of(member);
  }
  return size;
}

}  // namespace

// The variables and the output of a template while it is rendered. Blocks of `for` have variables of their own.
class Scope {
 public:
  explicit Scope(const Value& variables) : variables_(1) {
    for (const auto& [name, value] : variables.items()) variables_.back()[name] = value;
  }

  // Returns the variable, or null if it is undefined.
  Value* find(const std::string& name) {
    for (auto block = variables_.rbegin(); block != variables_.rend(); ++block) {
      if (const auto found = block->find(name); found != block->end()) return &found->second;
    }
    return nullptr;
  }
  void set(const std::string& name, Value value) { variables_.back()[name] = std::move(value); }
  // Sets a member of a namespace of this block or an enclosing one.
  bool set_member(const std::string& name, const std::string& member, Value value) {
    Value* object = find(name);
    if (object == nullptr || !object->is_object()) return false;
    (*object)[member] = std::move(value);
    return true;
  }
  void begin_block() { variables_.emplace_back(); }
  void end_block() { variables_.pop_back(); }

  void write(int line, std::string_view text) {
    count_step(line);
    output_ += text;
    check_size(line, output_.size());
  }
  std::string take_output() { return std::move(output_); }

  static void check_size(int line, size_t size) {
    if (size > kMaxBytes) fail(line, "the text has more than " + std::to_string(kMaxBytes) + " bytes");
  }
  void count_step(int line) {
    if (++steps_ > kMaxSteps) fail(line, "the template takes more than " + std::to_string(kMaxSteps) + " steps");
  }
  // Returns a value that was read or computed, and adds its size to the sum of all. A list such as [a, a] could
  // otherwise double its size again and again.
  Value count_value(int line, Value value) {
    value_bytes_ += size_of(value);
    if (value_bytes_ > kMaxValueBytes) {
      fail(line, "the values have more than " + std::to_string(kMaxValueBytes) + " bytes");
    }
    return value;
  }

 private:
  std::vector<std::map<std::string, Value>> variables_;
  std::string output_;
  size_t steps_ = 0;
  size_t value_bytes_ = 0;
};

namespace {

using Expression = std::function<Value(Scope&)>;
using Statement = std::function<void(Scope&)>;

// ---------------------------------------------------------------------------------------------------------------------
// Tokens

struct Token {
  enum Kind { kText, kBeginOutput, kEndOutput, kBeginBlock, kEndBlock, kName, kString, kInteger, kOperator, kEnd };
  Kind kind;
  std::string text;  // without quotes and escapes
  int line;
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {
    if (text_.ends_with('\n')) text_.remove_suffix(1);  // as Jinja does
  }

  std::vector<Token> tokens() {
    while (at_ < text_.size()) read_text_and_tag();
    add(Token::kEnd, "");
    return std::move(tokens_);
  }

 private:
  void add(Token::Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

  void advance(size_t count) {
    line_ += static_cast<int>(std::count(text_.begin() + static_cast<ptrdiff_t>(at_),
                                         text_.begin() + static_cast<ptrdiff_t>(at_ + count), '\n'));
    at_ += count;
  }
  bool starts_with(std::string_view prefix) const { return text_.substr(at_).starts_with(prefix); }

  // Returns the offset of the next tag, or the end of the text.
  size_t find_tag() const {
    for (size_t at = at_; (at = text_.find('{', at)) != std::string_view::npos; ++at) {
      if (at + 1 < text_.size() && std::string_view("{%#").find(text_[at + 1]) != std::string_view::npos) return at;
    }
    return text_.size();
  }

  // A tag with "-" strips all white space next to it. Without a sign, `lstrip_blocks` removes spaces and tabs between
  // the start of a line and a block or comment, and `trim_blocks` the newline after it.
  void read_text_and_tag() {
    const size_t tag = find_tag();
    std::string_view text = text_.substr(at_, tag - at_);
    if (strips_after_) text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
    if (trims_newline_ && text.starts_with('\n')) text.remove_prefix(1);
    const bool has_tag = tag < text_.size();
    const char kind = has_tag ? text_[tag + 1] : '\0';
    const char sign = has_tag && tag + 2 < text_.size() ? text_[tag + 2] : '\0';
    if (has_tag && sign == '-') {
      text = text.substr(0, text.find_last_not_of(kSpaces) + 1);
    } else if (has_tag && kind != '{' && sign != '+') {
      const size_t last = text.find_last_not_of(" \t");
      if (last == std::string_view::npos ? is_line_start(tag - text.size()) : text[last] == '\n') {
        text = text.substr(0, last + 1);
      }
    }
    if (!text.empty()) add(Token::kText, std::string(text));
    advance(tag - at_);
    strips_after_ = trims_newline_ = false;
    if (!has_tag) return;
    advance(sign == '-' || sign == '+' ? 3 : 2);
    kind == '#' ? skip_comment() : read_tag(kind == '{');
  }

  bool is_line_start(size_t at) const { return at == 0 || text_[at - 1] == '\n'; }

  void skip_comment() {
    const size_t end = text_.find("#}", at_);
    if (end == std::string_view::npos) fail(line_, "a comment has no end");
    strips_after_ = end > at_ && text_[end - 1] == '-';
    trims_newline_ = !strips_after_;
    advance(end + 2 - at_);
  }

  void read_tag(bool is_output) {
    const std::string_view end = is_output ? "}}" : "%}";
    add(is_output ? Token::kBeginOutput : Token::kBeginBlock, "");
    int open = 0;  // brackets
    for (;;) {
      while (at_ < text_.size() && kSpaces.find(text_[at_]) != std::string_view::npos) advance(1);
      if (at_ == text_.size()) fail(line_, "a tag has no end");
      const bool has_sign = (text_[at_] == '-' || text_[at_] == '+') && text_.substr(at_ + 1).starts_with(end);
      if (open == 0 && (has_sign || starts_with(end))) {
        strips_after_ = has_sign && text_[at_] == '-';
        trims_newline_ = !is_output && !has_sign;
        add(is_output ? Token::kEndOutput : Token::kEndBlock, "");
        return advance(has_sign ? 3 : 2);
      }
      read_token();
      const std::string& last = tokens_.back().text;
      if (tokens_.back().kind != Token::kOperator) continue;
      if (last == "(" || last == "[" || last == "{") ++open;
      if (last == ")" || last == "]" || last == "}") --open;
    }
  }

  static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || is_digit(c); }
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  void read_token() {
    const char first = text_[at_];
    if (first == '"' || first == '\'') return read_string(first);
    size_t size = 0;
    while (at_ + size < text_.size() && is_word(text_[at_ + size])) ++size;
    if (size > 0) {
      const std::string word(text_.substr(at_, size));
      add(is_digit(first) ? Token::kInteger : Token::kName, word);
      return advance(size);
    }
    for (const std::string_view two : {"==", "!=", "<=", ">=", "//", "**"}) {
      if (!starts_with(two)) continue;
      add(Token::kOperator, std::string(two));
      return advance(2);
    }
    if (std::string_view("+-*/%~<>=.,:|()[]{}").find(first) == std::string_view::npos) {
      fail(line_, std::string("unexpected '") + first + "'");
    }
    add(Token::kOperator, std::string(1, first));
    advance(1);
  }

  void read_string(char quote) {
    std::string value;
    const int line = line_;
    for (advance(1); at_ < text_.size() && text_[at_] != quote; advance(1)) {
      if (text_[at_] != '\\') {
        value += text_[at_];
        continue;
      }
      advance(1);
      if (at_ == text_.size()) break;
      const size_t escape = std::string_view("ntr\\'\"").find(text_[at_]);
      if (escape == std::string_view::npos)
        fail(line_, std::string("the escape \\") + text_[at_] + " is not supported");
      value += "\n\t\r\\'\""[escape];
    }
    if (at_ == text_.size()) fail(line, "a string has no end");
    advance(1);
    add(Token::kString, value);
  }

  std::string_view text_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int line_ = 1;
  bool strips_after_ = false;   // the last tag ended with -
  bool trims_newline_ = false;  // the last tag was a block or a comment
};

// ---------------------------------------------------------------------------------------------------------------------
// Operations on values, with Python's meaning

bool is_true(const Value& value) {
  if (value.is_discarded() || value.is_null()) return false;
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() != 0.0;
  if (value.is_string()) return !value.get_ref<const std::string&>().empty();
  return !value.empty();
}

std::string text_of(int line, const Value& value) {
  if (value.is_discarded()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_number_integer()) return std::to_string(value.get<int64_t>());
  fail(line, "a list or an object is not supported as text");
}

const std::string& string_of(int line, const Value& value, const char* what) {
  if (!value.is_string()) fail(line, std::string(what) + " needs a string");
  return value.get_ref<const std::string&>();
}

int64_t integer_of(int line, const Value& value) {
  if (!value.is_number_integer()) fail(line, "an integer is needed");
  return value.get<int64_t>();
}

std::string stripped(const std::string& text, bool left, bool right, std::string_view set) {
  const size_t begin = left ? std::min(text.find_first_not_of(set), text.size()) : 0;
  const size_t end = right ? text.find_last_not_of(set) + 1 : text.size();
  return end > begin ? text.substr(begin, end - begin) : "";
}

std::string replaced(int line, const std::string& text, const std::string& from, const std::string& to) {
  if (from.empty()) fail(line, "replace needs a text to replace");
  std::string result;
  size_t at = 0;
  for (size_t next; (next = text.find(from, at)) != std::string::npos; at = next + from.size()) {
    result += text.substr(at, next - at) + to;
    Scope::check_size(line, result.size());
  }
  return result + text.substr(at);
}

Value split(int line, const std::string& text, const std::string& separator) {
  if (separator.empty()) fail(line, "split needs a separator");
  Value parts = Value::array();
  size_t at = 0;
  for (size_t next; (next = text.find(separator, at)) != std::string::npos; at = next + separator.size()) {
    parts.push_back(text.substr(at, next - at));
  }
  parts.push_back(text.substr(at));
  return parts;
}

// Returns the text with each byte replaced by the result of `change`.
template <typename Change>
std::string mapped(std::string text, Change change) {
  for (char& c : text) c = change(c);
  return text;
}
std::string upper(const std::string& text) {
  return mapped(text, [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
}
std::string lower(const std::string& text) {
  return mapped(text, [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
}

// Returns the number of characters of a string, or of elements.
int64_t length_of(int line, const Value& value) {
  if (value.is_string()) {
    const std::string& text = value.get_ref<const std::string&>();
    return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
  }
  if (value.is_discarded()) return 0;
  if (!value.is_array() && !value.is_object()) fail(line, "length needs a string, a list or an object");
  return static_cast<int64_t>(value.size());
}

Value element(int line, const Value& value, const Value& key) {
  if (value.is_discarded()) fail(line, "an undefined value has no members");
  if (value.is_object() && key.is_string()) {
    const auto found = value.find(key.get<std::string>());
    return found == value.end() ? undefined() : *found;
  }
  if (value.is_array() && key.is_number_integer()) {
    const auto size = static_cast<int64_t>(value.size());
    int64_t index = key.get<int64_t>();
    if (index < 0) index += size;
    return index < 0 || index >= size ? undefined() : value[static_cast<size_t>(index)];
  }
  if (value.is_string()) fail(line, "characters of strings are not supported");
  return undefined();
}

Value slice(int line, const Value& value, const Value& first, const Value& last) {
  if (!value.is_array()) fail(line, "only lists have slices");
  const auto size = static_cast<int64_t>(value.size());
  const auto position = [&](const Value& index, int64_t otherwise) {
    if (index.is_null()) return otherwise;
    const int64_t at = integer_of(line, index);
    return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size);
  };
  Value part = Value::array();
  for (int64_t i = position(first, 0); i < position(last, size); ++i) part.push_back(value[static_cast<size_t>(i)]);
  return part;
}

bool contains(int line, const Value& container, const Value& value) {
  if (container.is_string()) {
    return container.get_ref<const std::string&>().find(string_of(line, value, "in")) != std::string::npos;
  }
  if (container.is_object()) return value.is_string() && container.contains(value.get<std::string>());
  if (container.is_discarded()) return false;
  if (!container.is_array()) fail(line, "in needs a string, a list or an object");
  return std::find(container.begin(), container.end(), value) != container.end();
}

bool equal(const Value& a, const Value& b) {
  return a.is_discarded() || b.is_discarded() ? a.is_discarded() && b.is_discarded() : a == b;
}

Value compute(int line, const std::string& symbol, const Value& a, const Value& b) {
  if (symbol == "~" || (symbol == "+" && a.is_string() && b.is_string())) {
    std::string text = text_of(line, a) + text_of(line, b);
    Scope::check_size(line, text.size());
    return text;
  }
  if (symbol == "==") return equal(a, b);
  if (symbol == "!=") return !equal(a, b);
  if (symbol == "in") return contains(line, b, a);
  if (symbol == "not in") return !contains(line, b, a);
  if (symbol == "+" && a.is_array() && b.is_array()) {
    Value list = a;
    for (const Value& value : b) list.push_back(value);
    Scope::check_size(line, list.size());
    return list;
  }
  const int64_t x = integer_of(line, a);
  const int64_t y = integer_of(line, b);
  constexpr int64_t kLimit = int64_t{1} << 31;  // products fit into int64_t
  if (std::max(std::max(x, y), std::max(-x, -y)) > kLimit) fail(line, "an integer is too large");
  if (symbol == "<") return x < y;
  if (symbol == ">") return x > y;
  if (symbol == "<=") return x <= y;
  if (symbol == ">=") return x >= y;
  if (symbol == "+") return x + y;
  if (symbol == "-") return x - y;
  if (symbol == "*") return x * y;
  if (y == 0) fail(line, "division by 0");
  const int64_t remainder = (x % y + y) % y;
  if (symbol == "%") return remainder;
  if (symbol == "//") return (x - remainder) / y;
  fail(line, "the operator " + symbol + " is not supported");
}

using Arguments = std::vector<Value>;

// Returns argument `index`. It must be a string.
const std::string& text_argument(int line, const Arguments& arguments, size_t index, const std::string& name) {
  if (index >= arguments.size()) fail(line, name + " needs more arguments");
  return string_of(line, arguments[index], name.c_str());
}

Value call_method(int line, const Value& value, const std::string& name, const Arguments& arguments) {
  const auto text = [&](size_t index) { return text_argument(line, arguments, index, name); };
  if (value.is_object() && name == "get" && !arguments.empty()) {
    const Value found = element(line, value, arguments[0]);
    if (!found.is_discarded()) return found;
    return arguments.size() > 1 ? arguments[1] : Value();
  }
  if (value.is_string()) {
    const std::string& self = value.get_ref<const std::string&>();
    const std::string set = arguments.empty() ? std::string(kSpaces) : text(0);
    if (name == "strip") return stripped(self, true, true, set);
    if (name == "lstrip") return stripped(self, true, false, set);
    if (name == "rstrip") return stripped(self, false, true, set);
    if (name == "upper") return upper(self);
    if (name == "lower") return lower(self);
    if (name == "startswith") return self.starts_with(text(0));
    if (name == "endswith") return self.ends_with(text(0));
    if (name == "replace") return replaced(line, self, text(0), text(1));
    if (name == "split") return split(line, self, text(0));
  }
  fail(line, "the method " + name + " is not supported here");
}

Value apply_filter(int line, const Value& value, const std::string& name, const Arguments& arguments) {
  if (name == "trim") return stripped(text_of(line, value), true, true, kSpaces);
  if (name == "upper") return upper(text_of(line, value));
  if (name == "lower") return lower(text_of(line, value));
  if (name == "string") return text_of(line, value);
  if (name == "safe") return value;
  if (name == "length" || name == "count") return length_of(line, value);
  if (name == "default" || name == "d") {
    const bool replaces_false = arguments.size() > 1 && is_true(arguments[1]);
    if (!value.is_discarded() && !(replaces_false && !is_true(value))) return value;
    return arguments.empty() ? Value("") : arguments[0];
  }
  if (name == "first" || name == "last") return element(line, value, name == "first" ? 0 : -1);
  if (name == "list" && value.is_array()) return value;
  if (name == "replace") {
    return replaced(line, text_of(line, value), text_argument(line, arguments, 0, name),
                    text_argument(line, arguments, 1, name));
  }
  if (name == "join") {
    if (!value.is_array()) fail(line, "join needs a list");
    std::string text;
    for (const Value& part : value) {
      if (&part != &value.front() && !arguments.empty()) text += text_of(line, arguments[0]);
      text += text_of(line, part);
      Scope::check_size(line, text.size());
    }
    return text;
  }
  fail(line, "the filter " + name + " is not supported");
}

bool passes_test(int line, const Value& value, const std::string& name) {
  if (name == "defined") return !value.is_discarded();
  if (name == "undefined") return value.is_discarded();
  if (name == "none") return value.is_null();
  if (name == "string") return value.is_string();
  if (name == "mapping") return value.is_object();
  if (name == "iterable" || name == "sequence") return value.is_string() || value.is_array() || value.is_object();
  if (name == "number" || name == "integer") return value.is_number();
  if (name == "boolean") return value.is_boolean();
  if (name == "true" || name == "false") return value.is_boolean() && value.get<bool>() == (name == "true");
  fail(line, "the test " + name + " is not supported");
}

// ---------------------------------------------------------------------------------------------------------------------
// Parser: translates each construct to a function that evaluates it

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Statement parse() {
    Statement body = block({});
    if (peek().kind != Token::kEnd) fail(line(), "unexpected {% " + tokens_[at_ + 1].text + " %}");
    return body;
  }

 private:
  // Limits the depth of recursion, so that no template overflows the stack.
  class Nesting {
   public:
    explicit Nesting(Parser& parser) : parser_(parser) {
      if (++parser_.depth_ > kMaxNesting) fail(parser_.line(), "the nesting is too deep");
    }
    ~Nesting() { --parser_.depth_; }

   private:
    Parser& parser_;
  };

  const Token& peek() const { return tokens_[at_]; }
  int line() const { return peek().line; }
  Token next() { return tokens_[at_ == tokens_.size() - 1 ? at_ : at_++]; }

  bool accept(Token::Kind kind, std::string_view text) {
    if (peek().kind != kind || peek().text != text) return false;
    next();
    return true;
  }
  bool accept_operator(std::string_view text) { return accept(Token::kOperator, text); }
  bool accept_word(std::string_view text) { return accept(Token::kName, text); }
  void expect_operator(std::string_view text) {
    if (!accept_operator(text)) fail(line(), "expected " + std::string(text) + ", not \"" + peek().text + '"');
  }
  std::string expect_name() {
    if (peek().kind != Token::kName) fail(line(), "expected a name, not \"" + peek().text + '"');
    return next().text;
  }
  void expect_end_of_block() {
    if (next().kind != Token::kEndBlock) fail(line(), "expected the end of the block");
  }

  // Reads statements up to a block that begins with one of `ends`, or to the end of the template. The name of the block
  // becomes the next token.
  Statement block(const std::vector<std::string_view>& ends) {
    const Nesting nesting(*this);
    std::vector<Statement> statements;
    while (peek().kind != Token::kEnd) {
      if (peek().kind == Token::kBeginBlock) {
        const std::string& name = tokens_[at_ + 1].text;
        if (std::find(ends.begin(), ends.end(), name) != ends.end()) {
          next();
          break;
        }
        if (name.starts_with("end") || name.starts_with("el")) break;
      }
      statements.push_back(statement());
    }
    return [statements = std::move(statements)](Scope& scope) {
      for (const Statement& run : statements) run(scope);
    };
  }

  // Reads the last word of a block, such as "endif".
  void expect_end(const std::string& name, int begin) {
    if (!accept_word(name)) fail(begin, "the block has no {% " + name + " %}");
    expect_end_of_block();
  }

  Statement statement() {
    const Token token = next();
    const int at = token.line;
    if (token.kind == Token::kText) {
      return [at, text = token.text](Scope& scope) { scope.write(at, text); };
    }
    if (token.kind == Token::kBeginOutput) {
      Expression value = expression();
      if (next().kind != Token::kEndOutput) fail(at, "expected }}");
      return [at, value = std::move(value)](Scope& scope) { scope.write(at, text_of(at, value(scope))); };
    }
    const std::string name = expect_name();
    if (name == "if") return if_block(at);
    if (name == "for") return for_block(at);
    if (name == "set") return set_statement(at);
    if (name == "generation") {  // marks replies for training
      expect_end_of_block();
      Statement body = block({"endgeneration"});
      expect_end("endgeneration", at);
      return body;
    }
    fail(at, "the block " + name + " is not supported");
  }

  Statement if_block(int at) {
    Expression condition = expression();
    expect_end_of_block();
    Statement body = block({"elif", "else", "endif"});
    Statement otherwise = [](Scope&) {};
    if (accept_word("elif")) {
      const Nesting nesting(*this);
      otherwise = if_block(at);
    } else {
      if (accept_word("else")) {
        expect_end_of_block();
        otherwise = block({"endif"});
      }
      expect_end("endif", at);
    }
    return
        [at, condition = std::move(condition), body = std::move(body), otherwise = std::move(otherwise)](Scope& scope) {
          scope.count_step(at);
          (is_true(condition(scope)) ? body : otherwise)(scope);
        };
  }

  Statement for_block(int at) {
    const std::string name = expect_name();
    if (!accept_word("in")) fail(line(), "expected \"in\"; a loop has one variable");
    Expression list = disjunction();
    Expression filter;
    if (accept_word("if")) filter = disjunction();
    expect_end_of_block();
    Statement body = block({"endfor"});
    expect_end("endfor", at);
    return [at, name, list = std::move(list), filter = std::move(filter), body = std::move(body)](Scope& scope) {
      const Value values = list(scope);
      if (!values.is_array()) fail(at, "the loop needs a list");
      std::vector<Value> kept;
      scope.begin_block();
      for (const Value& value : values) {
        scope.count_step(at);
        scope.set(name, value);
        if (!filter || is_true(filter(scope))) kept.push_back(value);
      }
      for (size_t i = 0; i < kept.size(); ++i) {
        scope.count_step(at);
        scope.end_block();
        scope.begin_block();
        scope.set(name, kept[i]);
        scope.set("loop", {{"index0", i},
                           {"index", i + 1},
                           {"first", i == 0},
                           {"last", i + 1 == kept.size()},
                           {"length", kept.size()},
                           {"revindex", kept.size() - i},
                           {"revindex0", kept.size() - i - 1}});
        body(scope);
      }
      scope.end_block();
    };
  }

  Statement set_statement(int at) {
    const std::string name = expect_name();
    const std::string member = accept_operator(".") ? expect_name() : "";
    if (!accept_operator("=")) fail(line(), "expected =; the block set without it is not supported");
    Expression value = expression();
    expect_end_of_block();
    return [at, name, member, value = std::move(value)](Scope& scope) {
      scope.count_step(at);
      if (member.empty()) return scope.set(name, value(scope));
      if (!scope.set_member(name, member, value(scope))) fail(at, name + " is no namespace");
    };
  }

  // Expressions, from the operators that bind least to those that bind most.
  Expression expression() {
    const Nesting nesting(*this);
    Expression value = disjunction();
    if (!accept_word("if")) return value;
    Expression condition = disjunction();
    Expression otherwise = [](Scope&) { return undefined(); };
    if (accept_word("else")) otherwise = expression();
    return [value = std::move(value), condition = std::move(condition), otherwise = std::move(otherwise)](
               Scope& scope) { return is_true(condition(scope)) ? value(scope) : otherwise(scope); };
  }

  Expression disjunction() {
    Expression left = conjunction();
    while (accept_word("or")) {
      count_operator();
      left = [left = std::move(left), right = conjunction()](Scope& scope) {
        Value value = left(scope);
        return is_true(value) ? value : right(scope);
      };
    }
    return left;
  }

  Expression conjunction() {
    Expression left = negation();
    while (accept_word("and")) {
      count_operator();
      left = [left = std::move(left), right = negation()](Scope& scope) {
        Value value = left(scope);
        return is_true(value) ? right(scope) : value;
      };
    }
    return left;
  }

  Expression negation() {
    if (!accept_word("not")) return comparison();
    const Nesting nesting(*this);
    return [value = negation()](Scope& scope) { return Value(!is_true(value(scope))); };
  }

  std::optional<std::string> accept_comparison() {
    for (const std::string_view symbol : {"==", "!=", "<=", ">=", "<", ">"}) {
      if (accept_operator(symbol)) return std::string(symbol);
    }
    if (accept_word("in")) return "in";
    if (peek().kind == Token::kName && peek().text == "not" && tokens_[at_ + 1].text == "in") {
      next();
      next();
      return "not in";
    }
    return std::nullopt;
  }

  Expression comparison() {
    Expression left = sum();
    const int at = line();
    if (const auto symbol = accept_comparison()) {
      left = binary(at, *symbol, std::move(left), sum());
      if (accept_comparison()) fail(at, "a chain of comparisons is not supported");
    }
    return left;
  }

  static Expression binary(int at, std::string symbol, Expression left, Expression right) {
    return [at, symbol = std::move(symbol), left = std::move(left), right = std::move(right)](Scope& scope) {
      scope.count_step(at);
      return scope.count_value(at, compute(at, symbol, left(scope), right(scope)));
    };
  }

  Expression left_associative(const std::vector<std::string_view>& symbols, Expression (Parser::*operand)()) {
    Expression left = (this->*operand)();
    for (;;) {
      const int at = line();
      const auto symbol =
          std::find_if(symbols.begin(), symbols.end(), [&](auto text) { return accept_operator(text); });
      if (symbol == symbols.end()) return left;
      count_operator();
      left = binary(at, std::string(*symbol), std::move(left), (this->*operand)());
    }
  }
  Expression sum() { return left_associative({"+", "-"}, &Parser::concatenation); }
  Expression concatenation() { return left_associative({"~"}, &Parser::product); }
  Expression product() { return left_associative({"*", "//", "/", "%"}, &Parser::unary); }

  // Filters and tests apply to the negated value, as in Jinja.
  Expression unary() { return filters(negated()); }

  Expression negated() {
    const int at = line();
    if (!accept_operator("-")) return postfix(primary());
    const Nesting nesting(*this);
    return binary(
        at, "-", [](Scope&) { return Value(0); }, negated());
  }

  Expression primary() {
    const Nesting nesting(*this);
    const Token token = next();
    const int at = token.line;
    if (token.kind == Token::kString) {
      std::string text = token.text;
      while (peek().kind == Token::kString) text += next().text;
      return [text](Scope&) { return Value(text); };
    }
    if (token.kind == Token::kInteger) {
      int64_t value = 0;
      const char* end = token.text.data() + token.text.size();
      if (const auto [stop, error] = std::from_chars(token.text.data(), end, value);
          error != std::errc() || stop != end) {
        fail(at, token.text + " is no integer");
      }
      return [value](Scope&) { return Value(value); };
    }
    if (token.kind == Token::kName) return name_or_call(token);
    if (token.kind == Token::kOperator && token.text == "(") {
      Expression value = expression();
      expect_operator(")");
      return value;
    }
    if (token.kind == Token::kOperator && token.text == "[") return list(at);
    fail(at, token.text.empty() ? "expected a value" : "expected a value, not \"" + token.text + '"');
  }

  Expression list(int at) {
    std::vector<Expression> elements;
    while (!accept_operator("]")) {
      if (!elements.empty()) expect_operator(",");
      elements.push_back(expression());
    }
    return [at, elements](Scope& scope) {
      Value values = Value::array();
      for (const Expression& element : elements) {
        scope.count_step(at);
        values.push_back(element(scope));
      }
      return values;
    };
  }

  Expression name_or_call(const Token& token) {
    const int at = token.line;
    const std::string& name = token.text;
    if (name == "true" || name == "True") return [](Scope&) { return Value(true); };
    if (name == "false" || name == "False") return [](Scope&) { return Value(false); };
    if (name == "none" || name == "None") return [](Scope&) { return Value(); };
    if (name == "namespace" && accept_operator("(")) return namespace_members();
    if (peek().kind != Token::kOperator || peek().text != "(") {
      return [at, name](Scope& scope) {
        const Value* value = scope.find(name);
        return scope.count_value(at, value == nullptr ? undefined() : *value);
      };
    }
    next();
    const std::vector<Expression> arguments = read_arguments();
    if (name == "raise_exception") {
      return [at, arguments](Scope& scope) -> Value {
        const std::string message = arguments.empty() ? "" : text_of(at, arguments[0](scope));
        throw RaisedException("line " + std::to_string(at) + ": " + message);
      };
    }
    // A call that is never evaluated does no harm.
    return [at, name](Scope&) -> Value { fail(at, "the function " + name + " is not supported"); };
  }

  Expression namespace_members() {
    std::vector<std::pair<std::string, Expression>> members;
    while (!accept_operator(")")) {
      if (!members.empty()) expect_operator(",");
      const std::string name = expect_name();
      expect_operator("=");
      members.emplace_back(name, expression());
    }
    return [members](Scope& scope) {
      Value object = Value::object();
      for (const auto& [name, value] : members) object[name] = value(scope);
      return object;
    };
  }

  std::vector<Expression> read_arguments() {
    std::vector<Expression> arguments;
    while (!accept_operator(")")) {
      if (!arguments.empty()) expect_operator(",");
      if (tokens_[at_ + 1].text == "=" && peek().kind == Token::kName) {  // the names of arguments do not matter
        next();
        next();
      }
      arguments.push_back(expression());
    }
    return arguments;
  }

  static Arguments evaluated(const std::vector<Expression>& expressions, Scope& scope) {
    Arguments values;
    for (const Expression& expression : expressions) values.push_back(expression(scope));
    return values;
  }

  // Reads members, elements and calls of methods.
  Expression postfix(Expression value) {
    for (;; count_operator()) {
      const int at = line();
      if (accept_operator(".")) {
        value = member(at, std::move(value));
      } else if (accept_operator("[")) {
        value = subscript(at, std::move(value));
      } else {
        return value;
      }
    }
  }

  Expression filters(Expression value) {
    for (;; count_operator()) {
      const int at = line();
      if (accept_operator("|")) {
        const std::string name = expect_name();
        auto arguments = accept_operator("(") ? read_arguments() : std::vector<Expression>();
        value = [at, name, value = std::move(value), arguments = std::move(arguments)](Scope& scope) {
          scope.count_step(at);
          return scope.count_value(at, apply_filter(at, value(scope), name, evaluated(arguments, scope)));
        };
      } else if (accept_word("is")) {
        const bool is_negated = accept_word("not");
        const std::string name = expect_name();
        value = [at, name, value = std::move(value), is_negated](Scope& scope) {
          return Value(passes_test(at, value(scope), name) != is_negated);
        };
      } else {
        return value;
      }
    }
  }

  Expression member(int at, Expression value) {
    const std::string name = expect_name();
    if (!accept_operator("(")) {
      return [at, name, value = std::move(value)](Scope& scope) { return element(at, value(scope), name); };
    }
    return [at, name, value = std::move(value), arguments = read_arguments()](Scope& scope) {
      scope.count_step(at);
      return scope.count_value(at, call_method(at, value(scope), name, evaluated(arguments, scope)));
    };
  }

  Expression subscript(int at, Expression value) {
    const Expression none = [](Scope&) { return Value(); };
    const auto is_next = [&](std::string_view text) { return peek().kind == Token::kOperator && peek().text == text; };
    Expression first = is_next(":") ? none : expression();
    if (!accept_operator(":")) {
      expect_operator("]");
      return [at, value = std::move(value), first = std::move(first)](Scope& scope) {
        return element(at, value(scope), first(scope));
      };
    }
    Expression last = is_next("]") ? none : expression();
    expect_operator("]");
    return [at, value = std::move(value), first = std::move(first), last = std::move(last)](Scope& scope) {
      return slice(at, value(scope), first(scope), last(scope));
    };
  }

  // Each operator nests the functions that evaluate the template by one level, so the stack limits their number, too.
  void count_operator() {
    if (++operator_count_ > kMaxOperators) fail(line(), "the template has too many operators");
  }

  static constexpr int kMaxOperators = 4000;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int depth_ = 0;
  int operator_count_ = 0;
};

}  // namespace

Template::Template(std::string_view text) : body_(Parser(Lexer(text).tokens()).parse()) {}

std::string Template::render(const Value& variables) const {
  Scope scope(variables);
  body_(scope);
  return scope.take_output();
}

}  // namespace sotto::jinja
