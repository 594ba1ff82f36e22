// Members of the JSON objects in tokenizer files, with messages that name what is wrong.
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

// Returns the id of the token with this text.
int64_t token_id(const nlohmann::json& id, const std::string& text);

// Throws if the description of an added token requires more than a match of its text.
void check_plain_match(const nlohmann::json& token, const std::string& text);

[[noreturn]] void reject(const std::string& what);

}  // namespace sotto
