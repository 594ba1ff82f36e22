// JSON input and output: values with errors that name them, texts that keep every byte, and JSON lines.
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

// Returns the double closest to the shortest decimal form of `value`: 0.8, not 0.800000011920929.
double shortest(float value);

// Returns the same, or "-inf", "inf" or "nan" for numbers that JSON lacks.
Json number_json(float value);

// Returns {"text":...}. Bytes that are not UTF-8 become U+FFFD in it, and "bytes_hex" then has all bytes.
Json text_json(const std::string& bytes);

// Throws a Failure "not JSON: ...".
Json parse_json(const std::string& text);

// Does the same, but accepts NaN, Infinity and -Infinity for numbers, as Python writes them. They become strings that
// to_float() accepts.
Json parse_python_json(const std::string& text);

// Each of these throws a Failure "`name` ..." for other values.
float to_float(const Json& value, const std::string& name);  // also accepts "-inf", "nan", and null for -inf
uint32_t to_count(const Json& value, const std::string& name);
int64_t to_integer(const Json& value, const std::string& name);
sotto_token to_token(const Json& value, const std::string& name);
bool to_bool(const Json& value, const std::string& name);
std::vector<sotto_token> to_tokens(const Json& value, const std::string& name);
const std::string& to_text(const Json& value, const std::string& name);
const Json& to_list(const Json& value, const std::string& name);

// The parts of an object or a list as they are written. Digits, order and repeated names are kept, which a Json would
// lose. Values are checked only to find their ends. Each function throws a Failure "not JSON: ...".
struct JsonMember {
  std::string name;
  std::string_view value;
};
std::vector<JsonMember> members_of(std::string_view object);
std::vector<std::string_view> elements_of(std::string_view list);

// Returns the bytes of a string. Half of a surrogate pair becomes three bytes that are not UTF-8, and bytes that are
// not UTF-8 stay.
std::string text_of(std::string_view string);

// Decodes standard base64. Throws a Failure.
std::string from_base64(std::string_view text);

// Processes JSON lines: reads a request from each line of a file, or of standard input for "-", and writes its answer
// as a line to standard output. If `answer` throws a Failure for a line, `reject` answers it, and the result is false.
// Throws a Failure if a line cannot be read or its answer cannot be written.
using AnswerLine = std::function<Json(const std::string& line)>;
using RejectLine = std::function<Json(const std::string& message, uint64_t number)>;
bool answer_lines(const std::string& path, const AnswerLine& answer, const RejectLine& reject);

}  // namespace sotto::cli
