// What the files of options share.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/cli/names.h"

namespace sotto::cli {

// "-n,--max-tokens" with each name also written with underscores.
std::string spellings(std::string_view names);

template <typename T>
CLI::Option* add_value(CLI::App& command, std::string_view names, T& value,
                       const std::string& description, const char* type) {
  return command.add_option(spellings(names), value, description)
      ->type_name(type)
      ->capture_default_str();
}

// For values that need translating; `standard` is what help shows as the default.
template <typename T, typename Set>
CLI::Option* add_translated(CLI::App& command, std::string_view names, Set set,
                            const std::string& description, const char* type,
                            const std::string& standard) {
  return command.add_option_function<T>(spellings(names), set, description)
      ->type_name(type)
      ->default_str(standard);
}

// One of `choices`, which the description lists.
CLI::Option* add_choice(CLI::App& command, std::string_view names, int32_t& value,
                        const std::string& description, Names choices);

// May be given several times, one value each.
CLI::Option* add_texts(CLI::App& command, std::string_view names, std::vector<std::string>& texts,
                       const std::string& description, const char* type = "TEXT");

// -1: everything (UINT32_MAX), otherwise so many.
uint32_t parse_window(int64_t count, const std::string& option);

bool is_given(const CLI::App& command, const std::string& option);

// The first of `options` that was given, or "".
std::string first_given(const CLI::App& command, const std::vector<std::string>& options);

// A usage error if `option` was given, but none of `masters`.
void require_with(const CLI::App& command, const std::string& option,
                  const std::vector<std::string>& masters);

// A usage error if `option` was given together with one of `others`.
void refuse_with(const CLI::App& command, const std::string& option,
                 const std::vector<std::string>& others, const std::string& why = "");

}  // namespace sotto::cli
