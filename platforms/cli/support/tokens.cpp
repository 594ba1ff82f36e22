#include "platforms/cli/support/tokens.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/text.h"

namespace sotto::cli {
namespace {

// Between numbers; brackets too, so that a JSON list will do.
constexpr std::string_view kSeparators = " \t\r\n,[]";

std::optional<Token> parse_id(std::string_view word) {
  Token token = 0;
  const auto result = std::from_chars(word.data(), word.data() + word.size(), token);
  if (result.ec != std::errc() || result.ptr != word.data() + word.size()) return std::nullopt;
  return token;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  size_t begin;
  while ((begin = text.find_first_not_of(kSeparators)) != std::string_view::npos) {
    text.remove_prefix(begin);
    words.push_back(text.substr(0, text.find_first_of(kSeparators)));
    text.remove_prefix(words.back().size());
  }
  return words;
}

}  // namespace

std::string unquoted(const std::string& text, const char* option) {
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return text;
  const auto value = nlohmann::json::parse(text, nullptr, false);
  if (!value.is_string()) {
    throw Failure(std::string(option) + ": " + text + " is in quotes but is not a JSON string", kExitUsage);
  }
  return value.get<std::string>();
}

std::optional<TokenList> parse_ids(std::string_view text) {
  TokenList tokens;
  for (const std::string_view word : words_of(text)) {
    const std::optional<Token> token = parse_id(word);
    if (!token || *token < 0) return std::nullopt;
    tokens.push_back(*token);
  }
  if (tokens.empty()) return std::nullopt;
  return tokens;
}

TokenList require_ids(std::string_view text) {
  TokenList tokens;
  for (const std::string_view word : words_of(text)) {
    const std::optional<Token> token = parse_id(word);
    if (!token) throw Failure(in_quotes(word) + " is not a token id");
    tokens.push_back(*token);
  }
  return tokens;
}

TokenList TokenReader::tokens(const std::string& word, const char* option) const {
  const std::optional<TokenList> ids = parse_ids(word);
  if (!ids) return tokenize(unquoted(word, option), option);
  for (const Token id : *ids) {
    if (static_cast<uint32_t>(id) >= model_.info().vocabulary_size) {
      throw Failure(std::string(option) + ": token " + std::to_string(id) + ": the vocabulary has " +
                    std::to_string(model_.info().vocabulary_size) + " tokens, from 0");
    }
  }
  return *ids;
}

Token TokenReader::token(const std::string& word, const char* option) const {
  const TokenList list = tokens(word, option);
  if (list.size() == 1) return list.front();
  throw Failure(std::string(option) + ": " + in_quotes(word) + " is " + std::to_string(list.size()) +
                " tokens, not one");
}

TokenList TokenReader::all(const std::vector<std::string>& words, const char* option) const {
  TokenList list;
  for (const std::string& word : words) {
    const TokenList more = tokens(word, option);
    list.insert(list.end(), more.begin(), more.end());
  }
  std::sort(list.begin(), list.end());
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return list;
}

TokenList TokenReader::single_tokens(const std::vector<std::string>& words, const char* option) const {
  TokenList list;
  for (const std::string& word : words) {
    const TokenList more = parse_ids(word) ? tokens(word, option) : TokenList{token(word, option)};
    list.insert(list.end(), more.begin(), more.end());
  }
  return list;
}

std::vector<TokenList> TokenReader::variants(const std::string& word, const char* option) const {
  if (parse_ids(word)) return {tokens(word, option)};
  const std::string text = unquoted(word, option);
  std::vector<TokenList> list = {tokenize(text, option)};
  if (text.front() != ' ' && text.front() != '\n') list.push_back(tokenize(' ' + text, option));
  return list;
}

TokenList TokenReader::tokenize(const std::string& text, const char* option) const {
  if (text.empty()) throw Failure(std::string(option) + ": the text is empty", kExitUsage);
  return model_.tokenize(text, true, option);
}

}  // namespace sotto::cli
