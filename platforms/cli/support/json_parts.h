// The parts of a JSON text as they are written: no digit, order or repeated name is lost.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sotto::cli {

struct JsonMember {
  std::string name;
  std::string_view value;  // checked no further than to find its end
};

// Each throws a Failure "not JSON: ..." for what is no object, list or string.
std::vector<JsonMember> members_of(std::string_view object);
std::vector<std::string_view> elements_of(std::string_view list);

// What a string stands for. Half of a surrogate pair becomes three bytes that are not UTF-8,
// and bytes that are not UTF-8 stay.
std::string text_of(std::string_view string);

// The bytes that standard base64 stands for. Throws a Failure.
std::string from_base64(std::string_view text);

}  // namespace sotto::cli
