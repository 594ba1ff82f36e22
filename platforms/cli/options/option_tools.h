// What the files of options share.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "platforms/cli/options/names.h"

namespace sotto::cli {

// "-n,--max-tokens" with each name also written with underscores; one behind ! negates a flag.
std::string spellings(std::string_view names);

// What is wrong with a number of type T, or "". It is decimal; `text` loses its leading zeros.
template <typename T>
std::string check_number(std::string& text) {
  if constexpr (std::is_floating_point_v<T>) {
    return text.empty() ? "\"\" is not a number" : "";
  } else {
    T value = 0;
    const char* end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    if (result.ec != std::errc() || result.ptr != end) {
      return '"' + text + "\" is not a whole number from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
             std::to_string(std::numeric_limits<T>::max());
    }
    text = std::to_string(value);
    return "";
  }
}

// CLI11 itself would take an empty number for 0, one out of range for the last in it, and a
// leading zero for octal.
template <typename T>
CLI::Option* with_check(CLI::Option* option) {
  if constexpr (std::is_arithmetic_v<T>) {
    option->transform(CLI::Validator(check_number<T>, ""));
  }
  return option;
}

template <typename T>
CLI::Option* add_value(CLI::App& command, std::string_view names, T& value, const std::string& description,
                       const char* type) {
  return with_check<T>(command.add_option(spellings(names), value, description))
      ->type_name(type)
      ->capture_default_str();
}

// For values that need translating; `standard` is what help shows as the default.
template <typename T, typename Set>
CLI::Option* add_translated(CLI::App& command, std::string_view names, Set set, const std::string& description,
                            const char* type, const std::string& standard) {
  return with_check<T>(command.add_option_function<T>(spellings(names), set, description))
      ->type_name(type)
      ->default_str(standard);
}

// One of `choices`, which the description lists.
CLI::Option* add_choice(CLI::App& command, std::string_view names, int32_t& value, const std::string& description,
                        Names choices);

// May be given several times, one value each.
CLI::Option* add_texts(CLI::App& command, std::string_view names, std::vector<std::string>& texts,
                       const std::string& description, const char* type = "TEXT");

// Refuses an empty name of a file.
CLI::Validator file_name();

// -1: everything (UINT32_MAX), otherwise so many.
uint32_t parse_window(int64_t count, const std::string& option);

bool is_given(const CLI::App& command, const std::string& option);

// The first of `options` that was given, or "".
std::string first_given(const CLI::App& command, const std::vector<std::string>& options);

// A usage error if `option` was given, but none of `masters`.
void require_with(const CLI::App& command, const std::string& option, const std::vector<std::string>& masters);

// A usage error if `option` was given together with one of `others`.
void refuse_with(const CLI::App& command, const std::string& option, const std::vector<std::string>& others,
                 const std::string& why = "");

}  // namespace sotto::cli
