#include "converters/strict_json.h"

#include <set>
#include <stdexcept>
#include <vector>

namespace sotto {

using nlohmann::json;

nlohmann::json parse_strict_json(std::string_view text, const std::string& where) {
  constexpr size_t kDepthLimit = 64;
  std::vector<std::set<std::string>> keys;  // keys of the objects and arrays that are open
  const auto check = [&](int, json::parse_event_t event, json& value) {
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        if (keys.size() == kDepthLimit) throw std::runtime_error(where + ": nested too deeply");
        keys.emplace_back();
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end:
        keys.pop_back();
        break;
      case json::parse_event_t::key:
        if (const auto& key = value.get_ref<const std::string&>(); !keys.back().insert(key).second)
          throw std::runtime_error(where + ": the key " + in_quotes(key) + " occurs twice");
        break;
      case json::parse_event_t::value:
        break;
    }
    return true;
  };
  // The parser treats a zero byte as the end of the text.
  if (const size_t zero = text.find('\0'); zero != std::string_view::npos) {
    throw std::runtime_error(where + ": not valid JSON: byte " + std::to_string(zero) + " is a zero");
  }
  try {
    return json::parse(text, check);
  } catch (const json::exception& error) {
    const std::string_view message = error.what();
    const size_t prefix = message.find("] ");
    throw std::runtime_error(
        where + ": not valid JSON: " + std::string(message.substr(prefix == std::string_view::npos ? 0 : prefix + 2)));
  }
}

std::string in_quotes(std::string_view text) { return json(text).dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace sotto
