// What the options share on top of CLI11: spellings, checked numbers, names of values, options that need or exclude
// others.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "platforms/cli/options/help.h"
#include "platforms/cli/options/parameters.h"

namespace sotto::cli {

// Returns the elements of "--a,--b".
std::vector<std::string> split_names(std::string_view names);

// Adds a spelling with underscores for each name of "-n,--max-tokens". A name after ! negates a flag.
std::string with_underscores(std::string_view names);

// Returns what is wrong with a number of type T, or an empty string. Numbers are decimal, and `text` loses its leading
// zeros.
template <typename T>
std::string check_number(std::string& text) {
  T value = 0;
  const std::string quoted = '"' + text + '"';
  if constexpr (std::is_floating_point_v<T>) {
    return !text.empty() && CLI::detail::lexical_cast(text, value) ? "" : quoted + " is not a number";
  } else {
    const char* end = text.data() + text.size();
    const auto result = std::from_chars(text.data(), end, value);
    if (result.ec != std::errc() || result.ptr != end) {
      return quoted + (std::is_signed_v<T>
                           ? " is not a whole number"
                           : " is not a whole number from 0 to " + std::to_string(std::numeric_limits<T>::max()));
    }
    text = std::to_string(value);
    return "";
  }
}

// Replaces the conversion of CLI11, which would read an empty number as 0, one out of range as the last in it, and a
// leading zero as octal.
template <typename T>
CLI::Option* with_check(CLI::Option* option) {
  if constexpr (std::is_arithmetic_v<T>) {
    option->transform(CLI::Validator(check_number<T>, ""));
  }
  return option;
}

template <typename T>
CLI::Option* add_value(CLI::App& command, std::string_view names, T& value, const std::string& description,
                       const char* metavar) {
  return with_check<T>(command.add_option(with_underscores(names), value, description))
      ->type_name(metavar)
      ->capture_default_str();
}

// Adds an option whose value is translated. Help shows `standard` as the default.
template <typename T, typename Set>
CLI::Option* add_translated(CLI::App& command, std::string_view names, Set set, const std::string& description,
                            const char* metavar, const std::string& standard) {
  return with_check<T>(command.add_option_function<T>(with_underscores(names), set, description))
      ->type_name(metavar)
      ->default_str(standard);
}

// Adds an option whose value is one of `choices`, which the description lists.
CLI::Option* add_choice(CLI::App& command, std::string_view names, int32_t& value, const std::string& description,
                        Names choices);

// Adds an option that may be given several times, with one value each.
CLI::Option* add_texts(CLI::App& command, std::string_view names, std::vector<std::string>& texts,
                       const std::string& description, const char* metavar = "TEXT");

// Rejects an empty file name.
CLI::Validator file_name();

// Returns UINT32_MAX, which means everything, for -1, and otherwise the number of tokens.
uint32_t parse_window(int64_t count, const std::string& option);

bool is_given(const CLI::App& command, const std::string& option);

// Returns the first of `options` that was given, or an empty string.
std::string first_given(const CLI::App& command, const std::vector<std::string>& options);

// Throws a usage error.
[[noreturn]] void reject(const std::string& option, const std::string& why);

// Throws a usage error if `option` was given, but none of `needed`.
void require_with(const CLI::App& command, const std::string& option, const std::vector<std::string>& needed);

// Throws a usage error if `option` was given together with one of `others`.
void reject_with(const CLI::App& command, const std::string& option, const std::vector<std::string>& others,
                 const std::string& why = "");

}  // namespace sotto::cli
