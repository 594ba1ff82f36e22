// Numbers into JSON and out of it.
#include "platforms/cli/support/json_values.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "platforms/cli/support/failure.h"

namespace sotto::cli {
namespace {

[[noreturn]] void refuse(const std::string& name, const Json& value, const char* what) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  throw Failure(name + " is " + text + ", not " + what);
}

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Puts quotes around the names of non-finite numbers, outside of strings.
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

}  // namespace

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

Json parse_json(const std::string& text) {
  // The parser takes it for the end.
  if (const size_t zero = text.find('\0'); zero != std::string::npos) {
    throw Failure("not JSON: byte " + std::to_string(zero) + " is a zero");
  }
  try {
    return Json::parse(text);
  } catch (const Json::exception& exception) {
    // Its message begins with a code in brackets that means nothing to a reader.
    const std::string message = exception.what();
    const size_t end = message.find("] ");
    throw Failure("not JSON: " + (end == std::string::npos ? message : message.substr(end + 2)));
  }
}

Json parse_python_json(const std::string& text) { return parse_json(with_quoted_names(text)); }

float to_float(const Json& value, const std::string& name) {
  if (value.is_number()) return value.get<float>();
  if (value.is_null()) return -INFINITY;
  const std::string text = value.is_string() ? lower(value.get<std::string>()) : "";
  if (text == "nan") return NAN;
  if (text == "inf" || text == "+inf" || text == "infinity") return INFINITY;
  if (text == "-inf" || text == "-infinity") return -INFINITY;
  refuse(name, value, "a number");
}

int64_t to_integer(const Json& value, const std::string& name) {
  constexpr int64_t kMost = int64_t{1} << 53;
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{kMost}) {
    refuse(name, value, "an integer in range");
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  // 40.0 is an integer to many a writer of JSON.
  const double number = value.is_number() ? value.get<double>() : NAN;
  if (!(std::fabs(number) <= static_cast<double>(kMost)) || number != std::floor(number)) {
    refuse(name, value, "an integer");
  }
  return static_cast<int64_t>(number);
}

uint32_t to_count(const Json& value, const std::string& name) {
  const int64_t number = to_integer(value, name);
  if (number < 0 || number > std::numeric_limits<uint32_t>::max()) {
    refuse(name, value, "a count");
  }
  return static_cast<uint32_t>(number);
}

sotto_token to_token(const Json& value, const std::string& name) {
  const int64_t number = to_integer(value, name);
  if (number < 0 || number > std::numeric_limits<sotto_token>::max()) {
    refuse(name, value, "a token id");
  }
  return static_cast<sotto_token>(number);
}

bool to_bool(const Json& value, const std::string& name) {
  if (value.is_boolean()) return value.get<bool>();
  if (value == 0 || value == 1) return value == 1;
  refuse(name, value, "true or false");
}

std::vector<sotto_token> to_tokens(const Json& value, const std::string& name) {
  std::vector<sotto_token> tokens;
  for (const Json& token : to_list(value, name)) tokens.push_back(to_token(token, name));
  return tokens;
}

const std::string& to_text(const Json& value, const std::string& name) {
  if (!value.is_string()) refuse(name, value, "a text");
  return value.get_ref<const std::string&>();
}

const Json& to_list(const Json& value, const std::string& name) {
  if (!value.is_array()) refuse(name, value, "a list");
  return value;
}

}  // namespace sotto::cli
