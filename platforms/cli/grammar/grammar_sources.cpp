// Sources of the grammars that are asked for often.
#include <nlohmann/json.hpp>
#include <string>

#include "platforms/cli/options/grammar_options.h"
#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

// As it is written, so that no digit is lost.
std::string checked_number(const std::string& text) {
  const auto value = nlohmann::json::parse(text, nullptr, false);
  if (value.is_number()) return text;
  throw Failure("--number-range: " + in_quotes(text) + " is no number", kExitUsage);
}

}  // namespace

std::string number_range_source(const std::string& text, bool whole_numbers) {
  const size_t comma = text.find(',');
  if (comma == std::string::npos) {
    throw Failure("--number-range: " + in_quotes(text) + " has no comma", kExitUsage);
  }
  const std::string minimum = text.substr(0, comma);
  const std::string maximum = text.substr(comma + 1);
  std::string source;
  if (!minimum.empty()) source += ",\"minimum\":" + checked_number(minimum);
  if (!maximum.empty()) source += ",\"maximum\":" + checked_number(maximum);
  if (whole_numbers) source += ",\"integer\":true";
  return '{' + (source.empty() ? source : source.substr(1)) + '}';
}

std::string choices_source(const std::string& text) {
  if (text.starts_with('[')) return text;
  if (!is_utf8(text)) throw Failure("--choices: not UTF-8", kExitUsage);
  nlohmann::json list = nlohmann::json::array();
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    list.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return list.dump();
}

}  // namespace sotto::cli
