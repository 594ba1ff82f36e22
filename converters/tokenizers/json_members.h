// Typed access to members of the JSON objects in tokenizer files. Errors are std::runtime_error and name the member.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace sotto {

// Returns a member of an object, or null if it is absent.
const nlohmann::json& find_member(const nlohmann::json& object, const char* key);

std::string text_member(const nlohmann::json& object, const char* key);

// Returns `otherwise` if the member is absent or null.
bool flag_member(const nlohmann::json& object, const char* key, bool otherwise = false);

// Returns the "type" of a component of tokenizer.json.
std::string type_of(const nlohmann::json& component);

// Returns `id` as a token id. `text` is the token's text, for the message if it is invalid.
int64_t token_id(const nlohmann::json& id, const std::string& text);

// Throws if an added token has options beyond a match of its text, such as "single_word".
void check_plain_match(const nlohmann::json& token, const std::string& text);

[[noreturn]] void reject(const std::string& feature);

}  // namespace sotto
