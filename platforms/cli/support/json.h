// JSON input and output: values, conversions whose errors name the value, texts that keep every byte, and JSON lines.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "capi/include/sotto.h"

namespace sotto::cli {

// A JSON value (RFC 8259). Objects keep the order of their members.
class Json {
 public:
  using List = std::vector<Json>;
  using Members = std::vector<std::pair<std::string, Json>>;

  Json();  // null
  Json(const Json&);
  Json(Json&&) noexcept;
  Json& operator=(const Json&);
  Json& operator=(Json&&) noexcept;
  ~Json();

  Json(std::nullptr_t) : Json() {}
  Json(bool value);
  Json(int64_t value);
  Json(uint64_t value);
  template <std::integral T>
  Json(T value) : Json(std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>{value}) {}
  Json(double value);
  Json(const char* text);
  Json(std::string text);  // bytes that are not UTF-8 are written as U+FFFD
  template <typename T>
  Json(const std::vector<T>& values) : Json(array()) {
    for (const T& value : values) push_back(value);
  }
  // Creates an object if all values are pairs that begin with a text, as in {{"a", 1}, {"b", 2}}, and otherwise a list.
  Json(std::initializer_list<Json> values);
  static Json array(std::initializer_list<Json> values = {});
  static Json object();

  bool is_null() const;
  bool is_boolean() const;
  bool is_integer() const;
  bool is_number() const;
  bool is_string() const;
  bool is_array() const;
  bool is_object() const;
  bool operator==(const Json& other) const;

  // The next functions return the value, which must be of this type.
  bool boolean() const;
  double number() const;
  const std::string& text() const;
  const List& list() const;
  const Members& members() const;
  // The next functions return an integer, or no value if it does not fit the type.
  std::optional<int64_t> signed_integer() const;
  std::optional<uint64_t> unsigned_integer() const;

  // Returns the value of a member, or null if there is none.
  const Json* find(std::string_view name) const;
  bool contains(std::string_view name) const { return find(name) != nullptr; }
  // Returns the value of a member. An absent member is added with the value null. A null Json becomes an object.
  Json& operator[](std::string_view name);
  void erase(std::string_view name);
  void add(std::string name, Json value);  // a new member
  void update(const Json& object);         // sets its members
  void push_back(Json value);              // a null Json becomes a list

  // Returns the JSON text: in one line if `indent` is 0, otherwise with line ends and `indent` spaces per level.
  std::string dump(size_t indent = 0) const;

 private:
  // Integers that fit are stored as int64_t.
  std::variant<std::nullptr_t, bool, int64_t, uint64_t, double, std::string, List, Members> value_;
};

// Returns the double closest to the shortest decimal form of `value`: 0.8, not 0.800000011920929.
double shortest(float value);

// Returns that number. JSON has no infinities and no NaN: they become the strings "-inf", "inf" and "nan".
Json number_json(float value);

// Returns {"text": ...}. If `bytes` are not UTF-8, invalid bytes become U+FFFD, and the member "bytes_hex" holds all
// bytes.
Json text_json(const std::string& bytes);

// Parses a text. Throws a Failure "not JSON: ...".
Json parse_json(std::string_view text);

// Parses a text, and returns no value if it is not JSON.
std::optional<Json> try_parse_json(std::string_view text);

// Parses JSON written by Python, which may contain the numbers NaN, Infinity and -Infinity. They become strings that
// to_float() accepts.
Json parse_python_json(const std::string& text);

// The next functions convert a value and throw a Failure that begins with `name` if it has another type or is out of
// range.
float to_float(const Json& value, const std::string& name);  // also accepts "-inf", "nan", and null for -inf
uint32_t to_count(const Json& value, const std::string& name);
int64_t to_integer(const Json& value, const std::string& name);
uint64_t to_key(const Json& value, const std::string& name);  // any number of 64 bits
sotto_token to_token(const Json& value, const std::string& name);
bool to_bool(const Json& value, const std::string& name);
std::vector<sotto_token> to_tokens(const Json& value, const std::string& name);
const std::string& to_text(const Json& value, const std::string& name);
const Json::List& to_list(const Json& value, const std::string& name);

// Throws a Failure if an object has a member with another name.
void reject_other_members(const Json& object, std::initializer_list<std::string_view> known);

// The unparsed parts of an object or list, for values that must stay exactly as written. A Json would lose digits and
// repeated names. Values are parsed only as far as needed to find their ends. The functions throw a Failure "not JSON:
// ...".
struct JsonMember {
  std::string name;
  std::string_view value;
};
std::vector<JsonMember> members_of(std::string_view object);
std::vector<std::string_view> elements_of(std::string_view list);

// Returns the bytes of a string. An unpaired surrogate becomes three bytes that are not UTF-8. Other bytes that are not
// UTF-8 are kept.
std::string text_of(std::string_view string);

// Encode and decode standard base64. Decoding throws a Failure.
std::string to_base64(std::string_view bytes);
std::string from_base64(std::string_view text);

// Processes JSON lines: reads requests, one per line, from a file or, for "-", from standard input, and writes the
// answers to standard output. If `answer` throws a Failure, `reject` provides the answer, and the result is false.
// Throws a Failure if a line cannot be read or written.
using AnswerLine = std::function<Json(const std::string& line)>;
using RejectLine = std::function<Json(const std::string& message, uint64_t number)>;
bool answer_lines(const std::string& path, const AnswerLine& answer, const RejectLine& reject);

// Answers requests (objects) from standard input. The answer to an invalid one is {"error": message,
// "line": number}, and the result is then false. An answer repeats the member "id" of its request.
using AnswerRequest = std::function<Json(const Json& request)>;
bool answer_requests(const AnswerRequest& answer);
// Answers one request. Sets `all_valid` to false if it is invalid.
Json answer_request_line(const AnswerRequest& answer, const std::string& line, uint64_t number, bool& all_valid);

}  // namespace sotto::cli
