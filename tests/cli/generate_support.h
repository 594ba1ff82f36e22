// Helpers of the tests of `sotto generate`.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cli/program.h"

namespace sotto::test {

using Words = std::vector<std::string>;

inline const std::string kPrompt = "Once upon a time";

// Returns the JSON object of a run on the demo model with `words` after "-p PROMPT".
inline nlohmann::json generated(const Words& words) {
  Words all = {"-p", kPrompt, "--json"};
  all.insert(all.end(), words.begin(), words.end());
  return json_of(run_on_demo("generate", all));
}

inline std::string joined(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += word + ' ';
  return text;
}

// Expects a usage error that names `part`.
inline void expect_usage_error(const Words& words, const std::string& part) {
  SCOPED_TRACE(joined(words));
  Words all = {"-p", kPrompt, "-n", "4"};
  all.insert(all.end(), words.begin(), words.end());
  expect_refused(run_on_demo("generate", all), 2, part);
}

// Returns the ids of `text` in the demo model.
inline nlohmann::json ids_of(const std::string& text) {
  return json_of(run_on_demo("tokenize", {"--json", text}))["ids"];
}

}  // namespace sotto::test
