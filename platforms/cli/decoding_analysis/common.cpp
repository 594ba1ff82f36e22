#include "platforms/cli/decoding_analysis/common.h"

#include "platforms/cli/support/text.h"
#include "platforms/command_line/parser.h"

namespace sotto::cli {

TokenList required_tokens(const TextInput& input, const LoadedModel& model, bool special) {
  TokenList tokens = input.tokens(model, special);
  if (!tokens.empty()) return tokens;
  throw Failure(input.name() + ": empty; for the start of a text, give the model's end-of-text token");
}

std::string ending_of(const TokenList& tokens, const LoadedModel& model) {
  constexpr size_t kMaxSize = 60;
  std::string text = model.info().has_tokenizer != 0 ? model.text_of(tokens) : ids_text(tokens);
  if (text.size() <= kMaxSize) return in_quotes(text);
  size_t begin = text.size() - kMaxSize;
  while (begin < text.size() && (static_cast<unsigned char>(text[begin]) & 0xc0) == 0x80) ++begin;
  return "…" + in_quotes(text.substr(begin));
}

void add_svg_option(Command& command, std::string& path, const std::string& picture) {
  command.add_option("--svg", path, "Also write a picture to a file: " + picture)
      .metavar("FILE")
      .check(check_file_name);
}

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
  if (parser.output()) reject("--with", in_quotes(setting) + ": help is not a setting");
}

}  // namespace sotto::cli
