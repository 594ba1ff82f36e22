// Numbers into JSON and out of it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "capi/include/sotto.h"

namespace sotto::cli {

using Json = nlohmann::ordered_json;

// The double nearest to the shortest decimal form of `value`: 0.8, not 0.800000011920929.
double shortest(float value);

// The same; "-inf", "inf", "nan" for what JSON has no number for.
Json number_json(float value);

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

}  // namespace sotto::cli
