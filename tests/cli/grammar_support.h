// Helpers of the tests of `sotto grammar`.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/cli/generate_support.h"

namespace sotto::test {

// Runs `sotto grammar COMMAND WORDS...`.
inline Result run_grammar(const std::string& command, const Words& words, const std::string& input = "") {
  Words all = {"grammar", command};
  all.insert(all.end(), words.begin(), words.end());
  return run_sotto(all, input);
}

// Returns the answers of `sotto grammar check --jsonl` to lines.
inline std::vector<nlohmann::json> answers_to(const std::string& lines, int exit_code = 0) {
  const Result result = run_grammar("check", {"--jsonl"}, lines);
  EXPECT_EQ(result.exit_code, exit_code) << result.err;
  EXPECT_EQ(result.err, "");
  std::vector<nlohmann::json> answers;
  for (size_t begin = 0; begin < result.out.size();) {
    const size_t end = result.out.find('\n', begin);
    answers.push_back(nlohmann::json::parse(result.out.substr(begin, end - begin)));
    begin = end + 1;
  }
  return answers;
}

inline const std::string kPersonSchema =
    R"({"type": "object", "properties": {"name": {"type": "string", "maxLength": 6},)"
    R"( "age": {"type": "integer", "minimum": 0, "maximum": 120},)"
    R"( "colour": {"enum": ["red", "green"]}}, "required": ["name", "age", "colour"],)"
    R"( "additionalProperties": false})";

}  // namespace sotto::test
