#include "platforms/cli/support/model.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "platforms/cli/support/failure.h"
#include "platforms/cli/support/json.h"
#include "platforms/cli/support/text.h"
#include "platforms/posix/sotto_posix.h"

namespace sotto::cli {
namespace {

ModelParams model_params(const ModelOptions& options) {
  ModelParams params;
  params.isa = options.isa;
  params.verify_checksums = options.verify_checksums ? 1 : 0;
  params.copy_weights = options.copy_weights ? 1 : 0;
  params.release = sotto_posix_release;
  return params;
}

// The mapping lives until the model and everything made from it are destroyed.
Model map_model(const ModelOptions& options, size_t* file_size) {
  const MappedFile file = map_file(options.path);
  *file_size = file.bytes.size();
  return call(options.path, [&] { return Model::from_bytes(file.bytes, model_params(options), file.owner); });
}

}  // namespace

MappedFile map_file(const std::string& path) {
  sotto_posix_mapping mapping = {};
  char message[4096];
  if (sotto_posix_map_file(path.c_str(), &mapping, message, sizeof message) != 0) throw Failure(message);
  const auto unmap = [mapping](const void*) mutable { sotto_posix_unmap_file(&mapping); };
  return {Bytes(static_cast<const uint8_t*>(mapping.bytes), mapping.size), {mapping.bytes, unmap}};
}

size_t model_memory_size(const ModelOptions& options) {
  const MappedFile file = map_file(options.path);
  return call(options.path, [&] { return Model::required_memory(file.bytes, model_params(options)); });
}

LoadedModel::LoadedModel(const ModelOptions& options)
    : path_(options.path), model_(map_model(options, &file_size_)), info_(model_.info()) {}

void LoadedModel::require_text() const {
  if (info_.reward_count == 0) return;
  throw Failure(path_ + ": is a reward model, which writes no text; sotto score --reward reads it");
}

Session LoadedModel::new_session(const SessionParams& params) const {
  return call_with_options(path_, [&] { return Session::create(model_, params); });
}

TokenList LoadedModel::tokenize(std::string_view text, bool special, const std::string& subject) const {
  if (info_.has_tokenizer == 0) {
    throw Failure(path_ +
                  ": the model has no tokenizer; give token ids with --ids, or convert it again with "
                  "sotto-convert --vocab DIR");
  }
  return call(subject, [&] { return model_.tokenize(text, special); });
}

std::string LoadedModel::detokenize(const TokenList& tokens) const {
  std::string text;
  for (const Token token : tokens) {
    if (token < 0 || static_cast<uint32_t>(token) >= info_.vocabulary_size) {
      throw Failure("token " + std::to_string(token) + ": the vocabulary has " + std::to_string(info_.vocabulary_size) +
                    " tokens, from 0");
    }
    text += call(path_, [&] { return model_.token_bytes(token); });
  }
  return text;
}

std::string LoadedModel::text_of(const TokenList& tokens) const {
  return info_.has_tokenizer != 0 ? detokenize(tokens) : "";
}

namespace {

// Separators of numbers, including brackets, so that a JSON list is accepted.
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
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') {
    if (text.find("\\n") != std::string::npos || text.find("\\t") != std::string::npos) {
      std::fprintf(stderr, "sotto: note: %s: in %s the backslash stands for itself; write '\"%s\"' for an escape\n",
                   option, for_terminal(to_utf8(text)).c_str(), for_terminal(to_utf8(text)).c_str());
    }
    return text;
  }
  const std::optional<Json> value = try_parse_json(text);
  if (!value || !value->is_string()) {
    throw Failure(std::string(option) + ": " + text + " is in quotes but is not a JSON string", kExitUsage);
  }
  return value->text();
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

std::string shown_token(Token token, const LoadedModel& model) {
  return model.info().has_tokenizer != 0 ? in_quotes(model.detokenize({token})) : std::to_string(token);
}

std::string ids_text(const TokenList& tokens) {
  std::string text;
  for (const Token token : tokens) text += (text.empty() ? "" : " ") + std::to_string(token);
  return text;
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

TokenList LoadedModel::check_ids(const TokenList& tokens, const std::string& subject) const {
  for (const Token token : tokens) {
    if (token >= 0 && static_cast<uint32_t>(token) < info_.vocabulary_size) continue;
    throw Failure(subject + ": token " + std::to_string(token) + ": the vocabulary has " +
                  std::to_string(info_.vocabulary_size) + " tokens, from 0");
  }
  return tokens;
}

TokenList TokenReader::tokens(const std::string& word, const char* option) const {
  const std::optional<TokenList> ids = parse_ids(word);
  if (!ids) return tokenize(unquoted(word, option), option);
  return model_.check_ids(*ids, option);
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
