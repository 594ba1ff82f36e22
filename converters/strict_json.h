// Parses JSON from untrusted files. Duplicate keys and deep nesting are errors.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace sotto {

// Throws std::runtime_error with a message that begins with `where`.
nlohmann::json parse_strict_json(std::string_view text, const std::string& where);

// Returns `text` in quotes and on one line, for messages.
std::string in_quotes(std::string_view text);

}  // namespace sotto
