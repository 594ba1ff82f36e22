#include "platforms/cli/support/json.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

using Library = nlohmann::ordered_json;

[[noreturn]] void reject_value(const std::string& name, const Json& value, const char* expected) {
  std::string text = value.dump();
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  throw Failure(name + " is " + text + ", not " + expected);
}

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Puts quotes around NaN, Infinity and -Infinity outside of strings.
std::string with_quoted_names(const std::string& text) {
  constexpr std::string_view kNames[] = {"-Infinity", "Infinity", "NaN"};
  std::string result;
  bool in_string = false;
  for (size_t i = 0; i < text.size();) {
    std::string_view found;
    if (!in_string && (i == 0 || !is_word(text[i - 1]))) {
      for (const std::string_view name : kNames) {
        if (std::string_view(text).substr(i).starts_with(name)) found = name;
      }
    }
    if (!found.empty()) {
      result.append("\"").append(found).append("\"");
      i += found.size();
      continue;
    }
    if (text[i] == '"') in_string = !in_string;
    if (in_string && text[i] == '\\' && i + 1 < text.size()) result += text[i++];
    result += text[i++];
  }
  return result;
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Finds the parts of a list or an object without parsing them, because nlohmann::json keeps neither the digits of
// numbers nor repeated names.
class PartReader {
 public:
  explicit PartReader(std::string_view text) : text_(text) { skip_space(); }

  [[noreturn]] void fail(const std::string& problem) const {
    throw Failure("not JSON: " + problem + " at byte " + std::to_string(at_));
  }

  void skip_space() { at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size()); }

  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    skip_space();
    return true;
  }

  void expect(char c) {
    if (!take(c)) fail(std::string("expected '") + c + "'");
  }

  void expect_end() const {
    if (at_ != text_.size()) fail("trailing characters after the value");
  }

  std::string_view value() {
    const size_t begin = at_;
    if (at_ < text_.size() && text_[at_] == '"') {
      skip_string();
    } else if (at_ < text_.size() && (text_[at_] == '{' || text_[at_] == '[')) {
      skip_container();
    } else {
      at_ = std::min(text_.find_first_of(" \t\r\n,:]}", at_), text_.size());
    }
    if (at_ == begin) fail("expected a value");
    const std::string_view value = text_.substr(begin, at_ - begin);
    skip_space();
    return value;
  }

 private:
  void skip_string() {
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
    }
    if (at_ >= text_.size()) {
      at_ = text_.size();
      fail("unterminated string");
    }
    ++at_;
  }

  void skip_container() {
    uint64_t depth = 0;
    do {
      if (at_ == text_.size()) fail("missing closing ] or }");
      const char c = text_[at_];
      if (c == '"') {
        skip_string();
        continue;
      }
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      ++at_;
    } while (depth > 0);
  }

  std::string_view text_;
  size_t at_ = 0;
};

uint32_t hexadecimal_unit(std::string_view string, size_t at) {
  uint32_t unit = 0;
  for (size_t i = at; i < at + 4; ++i) {
    const char c = i < string.size() ? string[i] : '\0';
    const bool is_digit = c >= '0' && c <= '9';
    const char letter = static_cast<char>(c | 0x20);
    if (!is_digit && !(letter >= 'a' && letter <= 'f')) throw Failure("not JSON: invalid \\u escape");
    unit = unit << 4 | static_cast<uint32_t>(is_digit ? c - '0' : letter - 'a' + 10);
  }
  return unit;
}

void append_code(uint32_t code, std::string& text) {
  const auto add = [&text](uint32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) {
    add(code);
  } else if (code < 0x800) {
    add(0xc0 | code >> 6);
    add(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    add(0xe0 | code >> 12);
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  } else {
    add(0xf0 | code >> 18);
    add(0x80 | (code >> 12 & 0x3f));
    add(0x80 | (code >> 6 & 0x3f));
    add(0x80 | (code & 0x3f));
  }
}

// Reads a code point from the digits after "\u", at `at`, and moves `at` past them.
uint32_t escaped_code(std::string_view string, size_t& at) {
  const uint32_t high = hexadecimal_unit(string, at);
  at += 4;
  if (high < 0xd800 || high > 0xdbff || string.substr(at, 2) != "\\u") return high;
  const uint32_t low = hexadecimal_unit(string, at + 2);
  if (low < 0xdc00 || low > 0xdfff) return high;
  at += 6;
  return 0x10000 + ((high & 0x3ff) << 10 | (low & 0x3ff));
}

std::string message_of(const Library::exception& exception) {
  // Removes nlohmann's error code in brackets.
  const std::string_view message = exception.what();
  return "not JSON: " + std::string(message.substr(message.find("] ") + 2));
}

// Builds a value from the events of nlohmann's parser. Its own objects would take quadratic time, because they compare
// each name with all others, and so would its callback for a limit of the depth, after which it searches the whole
// parent for removed values.
class JsonBuilder final : public nlohmann::json_sax<Library> {
 public:
  Json take() { return std::move(root_); }

  bool null() override { return put(nullptr); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override { return put(value); }
  bool number_float(number_float_t value, const string_t&) override { return put(value); }
  bool string(string_t& value) override { return put(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // JSON has none
  bool start_object(size_t) override { return open(true); }
  bool start_array(size_t) override { return open(false); }
  bool key(string_t& name) override {
    open_.back().name = std::move(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool parse_error(size_t, const std::string&, const Library::exception& error) override {
    throw Failure(message_of(error));
  }

 private:
  struct Container {
    bool is_object;
    std::string name;  // of the next member
    Json::Members members;
    std::unordered_map<std::string, size_t> positions;  // of the members by name
    Json list = Json::array();
  };

  bool open(bool is_object) {
    constexpr size_t kMaxDepth = 1000;
    if (open_.size() == kMaxDepth) throw Failure("not JSON: lists and objects are nested too deeply");
    open_.emplace_back().is_object = is_object;
    return true;
  }

  // Adds a value to the innermost container. Of members with the same name, the last value counts.
  bool put(Json value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return true;
    }
    Container& parent = open_.back();
    if (!parent.is_object) {
      parent.list.push_back(std::move(value));
      return true;
    }
    const auto [found, is_new] = parent.positions.try_emplace(parent.name, parent.members.size());
    if (is_new) parent.members.emplace_back(std::move(parent.name), nullptr);
    parent.members[found->second].second = std::move(value);
    return true;
  }

  bool close() {
    Container container = std::move(open_.back());
    open_.pop_back();
    if (!container.is_object) return put(std::move(container.list));
    Json object = Json::object();
    for (auto& [name, value] : container.members) object.add(std::move(name), std::move(value));
    return put(std::move(object));
  }

  Json root_;
  std::vector<Container> open_;  // the lists and objects that have not ended
};

Library to_library(const Json& value) {
  if (value.is_object()) {
    Library::object_t object;
    for (const auto& [name, member] : value.members()) object.emplace_back(to_utf8(name), to_library(member));
    return object;
  }
  if (value.is_array()) {
    Library::array_t list;
    for (const Json& element : value.list()) list.push_back(to_library(element));
    return list;
  }
  if (value.is_string()) return to_utf8(value.text());
  if (value.is_boolean()) return value.boolean();
  if (value.signed_integer()) return *value.signed_integer();
  if (value.unsigned_integer()) return *value.unsigned_integer();
  if (value.is_number()) return value.number();
  return nullptr;
}

}  // namespace

Json::Json() = default;
Json::Json(const Json&) = default;
Json::Json(Json&&) noexcept = default;
Json& Json::operator=(const Json&) = default;
Json& Json::operator=(Json&&) noexcept = default;
Json::~Json() = default;

Json::Json(bool value) : value_(value) {}
Json::Json(int64_t value) : value_(value) {}
Json::Json(uint64_t value) {
  if (value <= uint64_t{std::numeric_limits<int64_t>::max()}) {
    value_ = static_cast<int64_t>(value);
  } else {
    value_ = value;
  }
}
Json::Json(double value) : value_(value) {}
Json::Json(const char* text) : value_(std::string(text)) {}
Json::Json(std::string text) : value_(std::move(text)) {}

Json::Json(std::initializer_list<Json> values) {
  const auto is_member = [](const Json& value) {
    return value.is_array() && value.list().size() == 2 && value.list()[0].is_string();
  };
  if (!std::all_of(values.begin(), values.end(), is_member)) {
    value_ = List(values);
    return;
  }
  Members& members = value_.emplace<Members>();
  for (const Json& pair : values) members.emplace_back(pair.list()[0].text(), pair.list()[1]);
}

Json Json::array(std::initializer_list<Json> values) {
  Json list;
  list.value_ = List(values);
  return list;
}

Json Json::object() {
  Json object;
  object.value_ = Members();
  return object;
}

bool Json::is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
bool Json::is_boolean() const { return std::holds_alternative<bool>(value_); }
bool Json::is_integer() const {
  return std::holds_alternative<int64_t>(value_) || std::holds_alternative<uint64_t>(value_);
}
bool Json::is_number() const { return is_integer() || std::holds_alternative<double>(value_); }
bool Json::is_string() const { return std::holds_alternative<std::string>(value_); }
bool Json::is_array() const { return std::holds_alternative<List>(value_); }
bool Json::is_object() const { return std::holds_alternative<Members>(value_); }

bool Json::operator==(const Json& other) const {
  if (is_number() && other.is_number() && is_integer() != other.is_integer()) return number() == other.number();
  return value_ == other.value_;
}

bool Json::boolean() const { return std::get<bool>(value_); }

double Json::number() const {
  if (const auto* value = std::get_if<int64_t>(&value_)) return static_cast<double>(*value);
  if (const auto* value = std::get_if<uint64_t>(&value_)) return static_cast<double>(*value);
  return std::get<double>(value_);
}

const std::string& Json::text() const { return std::get<std::string>(value_); }
const Json::List& Json::list() const { return std::get<List>(value_); }
const Json::Members& Json::members() const { return std::get<Members>(value_); }

std::optional<int64_t> Json::signed_integer() const {
  const auto* value = std::get_if<int64_t>(&value_);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::optional<uint64_t> Json::unsigned_integer() const {
  if (const auto* value = std::get_if<uint64_t>(&value_)) return *value;
  const std::optional<int64_t> value = signed_integer();
  return value && *value >= 0 ? std::optional(static_cast<uint64_t>(*value)) : std::nullopt;
}

const Json* Json::find(std::string_view name) const {
  if (!is_object()) return nullptr;
  for (const auto& [known, value] : members()) {
    if (known == name) return &value;
  }
  return nullptr;
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) value_ = Members();
  if (const Json* value = find(name)) return const_cast<Json&>(*value);
  return std::get<Members>(value_).emplace_back(name, Json()).second;
}

void Json::erase(std::string_view name) {
  std::erase_if(std::get<Members>(value_), [&](const auto& member) { return member.first == name; });
}

void Json::add(std::string name, Json value) {
  std::get<Members>(value_).emplace_back(std::move(name), std::move(value));
}

void Json::update(const Json& object) {
  for (const auto& [name, value] : object.members()) (*this)[name] = value;
}

void Json::push_back(Json value) {
  if (is_null()) value_ = List();
  std::get<List>(value_).push_back(std::move(value));
}

std::string Json::dump(size_t indent) const {
  return to_library(*this).dump(indent == 0 ? -1 : static_cast<int>(indent));
}

double shortest(float value) {
  char text[32];
  for (int digits = 6; digits <= 9; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(value));
    if (std::strtof(text, nullptr) == value) break;
  }
  return std::strtod(text, nullptr);
}

Json number_json(float value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0.0f ? "-inf" : "inf";
  return shortest(value);
}

Json text_json(const std::string& bytes) {
  if (is_utf8(bytes)) return {{"text", bytes}};
  return {{"text", to_utf8(bytes)}, {"bytes_hex", hexadecimal(bytes)}};
}

Json parse_json(std::string_view text) {
  // nlohmann's parser would treat a zero byte as the end of the text.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    throw Failure("not JSON: byte " + std::to_string(zero) + " is a zero");
  }
  JsonBuilder builder;
  Library::sax_parse(text, &builder);
  return builder.take();
}

std::optional<Json> try_parse_json(std::string_view text) {
  try {
    return parse_json(text);
  } catch (const Failure&) {
    return std::nullopt;
  }
}

Json parse_python_json(const std::string& text) { return parse_json(with_quoted_names(text)); }

float to_float(const Json& value, const std::string& name) {
  if (value.is_number()) return static_cast<float>(value.number());
  if (value.is_null()) return -INFINITY;
  const std::string text = value.is_string() ? lower(value.text()) : "";
  if (text == "nan") return NAN;
  if (text == "inf" || text == "+inf" || text == "infinity") return INFINITY;
  if (text == "-inf" || text == "-infinity") return -INFINITY;
  reject_value(name, value, "a number");
}

int64_t to_integer(const Json& value, const std::string& name) {
  constexpr int64_t kMax = int64_t{1} << 53;
  if (value.unsigned_integer() && *value.unsigned_integer() > uint64_t{kMax}) {
    reject_value(name, value, "an integer in range");
  }
  if (value.is_integer()) return *value.signed_integer();
  // Accepts integers such as 40.0, which many programs write.
  const double number = value.is_number() ? value.number() : NAN;
  if (!(std::fabs(number) <= static_cast<double>(kMax)) || number != std::floor(number)) {
    reject_value(name, value, "an integer");
  }
  return static_cast<int64_t>(number);
}

uint64_t to_key(const Json& value, const std::string& name) {
  if (value.unsigned_integer()) return *value.unsigned_integer();
  const int64_t number = to_integer(value, name);
  if (number < 0) reject_value(name, value, "a number of 64 bits that is not negative");
  return static_cast<uint64_t>(number);
}

uint32_t to_count(const Json& value, const std::string& name) {
  const int64_t number = to_integer(value, name);
  if (number < 0 || number > std::numeric_limits<uint32_t>::max()) {
    reject_value(name, value, "a count");
  }
  return static_cast<uint32_t>(number);
}

sotto_token to_token(const Json& value, const std::string& name) {
  const int64_t number = to_integer(value, name);
  if (number < 0 || number > std::numeric_limits<sotto_token>::max()) {
    reject_value(name, value, "a token id");
  }
  return static_cast<sotto_token>(number);
}

bool to_bool(const Json& value, const std::string& name) {
  if (value.is_boolean()) return value.boolean();
  if (value == 0 || value == 1) return value == 1;
  reject_value(name, value, "true or false");
}

std::vector<sotto_token> to_tokens(const Json& value, const std::string& name) {
  std::vector<sotto_token> tokens;
  for (const Json& token : to_list(value, name)) tokens.push_back(to_token(token, name));
  return tokens;
}

const std::string& to_text(const Json& value, const std::string& name) {
  if (!value.is_string()) reject_value(name, value, "a text");
  return value.text();
}

const Json::List& to_list(const Json& value, const std::string& name) {
  if (!value.is_array()) reject_value(name, value, "a list");
  return value.list();
}

void reject_other_members(const Json& object, std::initializer_list<std::string_view> known) {
  for (const auto& [name, value] : object.members()) {
    if (std::find(known.begin(), known.end(), name) == known.end()) throw Failure("unknown field: \"" + name + '"');
  }
}

std::vector<JsonMember> members_of(std::string_view object) {
  PartReader reader(object);
  std::vector<JsonMember> members;
  reader.expect('{');
  if (!reader.take('}')) {
    do {
      std::string name = text_of(reader.value());
      reader.expect(':');
      members.push_back({std::move(name), reader.value()});
    } while (reader.take(','));
    reader.expect('}');
  }
  reader.expect_end();
  return members;
}

std::vector<std::string_view> elements_of(std::string_view list) {
  PartReader reader(list);
  std::vector<std::string_view> elements;
  reader.expect('[');
  if (!reader.take(']')) {
    do {
      elements.push_back(reader.value());
    } while (reader.take(','));
    reader.expect(']');
  }
  reader.expect_end();
  return elements;
}

std::string text_of(std::string_view string) {
  if (string.size() < 2 || string.front() != '"' || string.back() != '"') {
    throw Failure("not JSON: expected a string");
  }
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
  string = string.substr(1, string.size() - 2);
  std::string text;
  for (size_t i = 0; i < string.size();) {
    if (static_cast<unsigned char>(string[i]) < 0x20) {
      throw Failure("not JSON: control character in a string");
    }
    if (string[i] != '\\') {
      text += string[i++];
      continue;
    }
    const char name = i + 1 < string.size() ? string[i + 1] : '\0';
    i += 2;
    const size_t known = kNames.find(name);
    if (name == 'u') {
      append_code(escaped_code(string, i), text);
    } else if (known != std::string_view::npos) {
      text += kMeant[known];
    } else {
      throw Failure("not JSON: invalid escape sequence in a string");
    }
  }
  return text;
}

std::string to_base64(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) {
      bits = bits << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
    }
    const size_t digits = std::min<size_t>(bytes.size() - i, 3) + 1;
    for (size_t k = 0; k < 4; ++k) text += k < digits ? kBase64[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

std::string from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const size_t digit = kBase64.find(c);
    if (digit == std::string_view::npos) throw Failure("invalid base64");
    bits = (bits << 6 | static_cast<uint32_t>(digit)) & 0xffffff;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  if (count == 6) throw Failure("invalid base64");
  return bytes;
}

bool answer_lines(const std::string& path, const AnswerLine& answer, const RejectLine& reject) {
  const Input input(path);
  bool good = true;
  std::string line;
  for (uint64_t number = 1; read_line(input, number, line); ++number) {
    Json object;
    try {
      object = answer(line);
    } catch (const Failure& failure) {
      object = reject(failure.what(), number);
      good = false;
    }
    std::printf("%s\n", object.dump().c_str());
    flush_output();  // a program at the other end of a pipe may wait for each answer
  }
  return good;
}

Json answer_request_line(const AnswerRequest& answer, const std::string& line, uint64_t number, bool& all_valid) {
  Json id, object;
  try {
    const Json request = parse_json(line);
    if (!request.is_object()) throw Failure("a line is a JSON object");
    if (const Json* value = request.find("id")) id = *value;
    object = answer(request);
  } catch (const Failure& failure) {
    object = {{"error", to_utf8(failure.what())}, {"line", number}};
    all_valid = false;
  }
  if (!id.is_null()) object["id"] = id;
  return object;
}

bool answer_requests(const AnswerRequest& answer) {
  const Input input("-");
  bool all_valid = true;
  std::string line;
  for (uint64_t number = 1; read_line(input, number, line); ++number) {
    std::printf("%s\n", answer_request_line(answer, line, number, all_valid).dump().c_str());
    flush_output();  // a program at the other end of a pipe may wait for each answer
  }
  return all_valid;
}

}  // namespace sotto::cli
