// The format of a chat template: the template of a checkpoint in the notation of sotto_chat_format_text().
//
// Example: with "<|endoftext|>" as the eos_token, the template
//   {% for message in messages %}{{ message.content }}{{ eos_token }}{% endfor %}
// becomes the format
//   {system}<|endoftext|>{|}{user}<|endoftext|>{|}{assistant}<|endoftext|>{|}{tool}<|endoftext|>
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace sotto {

// Returns the format that turns messages into the same prompt as the Jinja template `chat_template`, which is found by
// rendering conversations, and then checked against other conversations. If there is none, returns an empty string and
// adds the reason to `notes`, the remarks for the user. The members of `special_tokens` are variables of the template,
// such as "eos_token".
std::string find_chat_format(std::string_view chat_template, const nlohmann::json& special_tokens,
                             std::vector<std::string>& notes);

}  // namespace sotto
