// JSON in and out of the program: values with errors that name them, texts that keep every byte, JSON lines.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "capi/include/sotto.h"

namespace sotto::cli {

using Json = nlohmann::ordered_json;

// The double nearest to the shortest decimal form of `value`: 0.8, not 0.800000011920929.
double shortest(float value);

// The same; "-inf", "inf", "nan" for what JSON has no number for.
Json number_json(float value);

// {"text":...}. Bytes that are not UTF-8 become U+FFFD in it, and "bytes_hex" has them all.
Json text_json(const std::string& bytes);

// Throws a Failure "not JSON: ...".
Json parse_json(const std::string& text);

// The same, but NaN, Infinity and -Infinity may stand for numbers, as Python writes them: they
// become strings, which to_float knows.
Json parse_python_json(const std::string& text);

// Each throws a Failure "`name` ..." for what is not such a value.
float to_float(const Json& value, const std::string& name);  // also "-inf", "nan", null: -inf
uint32_t to_count(const Json& value, const std::string& name);
int64_t to_integer(const Json& value, const std::string& name);
sotto_token to_token(const Json& value, const std::string& name);
bool to_bool(const Json& value, const std::string& name);
std::vector<sotto_token> to_tokens(const Json& value, const std::string& name);
const std::string& to_text(const Json& value, const std::string& name);
const Json& to_list(const Json& value, const std::string& name);

// The parts of an object or a list as they are written: no digit, order or repeated name is lost, as it would be in a
// Json. Values are checked no further than to find their ends. Each function throws a Failure "not JSON: ...".
struct JsonMember {
  std::string name;
  std::string_view value;
};
std::vector<JsonMember> members_of(std::string_view object);
std::vector<std::string_view> elements_of(std::string_view list);

// The bytes that a string stands for. Half of a surrogate pair becomes three bytes that are not UTF-8, and bytes that
// are not UTF-8 stay.
std::string text_of(std::string_view string);

// The bytes that standard base64 stands for. Throws a Failure.
std::string from_base64(std::string_view text);

// JSON lines: reads a request from each line of a file, or of standard input for "-", and writes its answer as a line
// to standard output. Returns false if `answer` threw a Failure for a line, which `reject` then answers. Throws a
// Failure if a line cannot be read or its answer cannot be written.
using AnswerLine = std::function<Json(const std::string& line)>;
using RejectLine = std::function<Json(const std::string& message, uint64_t number)>;
bool answer_lines(const std::string& path, const AnswerLine& answer, const RejectLine& reject);

}  // namespace sotto::cli
