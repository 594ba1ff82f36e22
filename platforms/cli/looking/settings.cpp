#include "platforms/cli/looking/settings.h"

#include "platforms/cli/support/text.h"

namespace sotto::cli {

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  char quote = '\0';
  bool in_word = false;
  for (const char c : text) {
    if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n')) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == quote) {
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
    } else {
      words.back() += c;
    }
  }
  if (quote != '\0') reject("--with", in_quotes(text) + " has a quote that is not closed");
  return words;
}

void parse_setting(Command& command, const std::string& setting, const std::vector<std::string>& words) {
  std::vector<std::string> copies = words;
  copies.insert(copies.begin(), command.path());
  std::vector<char*> arguments;
  for (std::string& word : copies) arguments.push_back(word.data());
  Parser parser(command, static_cast<int>(arguments.size()), arguments.data());
  try {
    parser.run();
  } catch (const UsageError& error) {
    reject("--with", in_quotes(setting) + ": " + error.what());
  }
  if (parser.wants_help()) reject("--with", in_quotes(setting) + ": help is not a setting");
}

}  // namespace sotto::cli
