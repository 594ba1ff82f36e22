// vocab.json and merges.txt, and the small files beside them that name added tokens.
#include <charconv>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

#include "converters/file.h"
#include "converters/strict_json.h"
#include "converters/tokenizers/tokenizer_reader_files.h"

namespace sotto {

using nlohmann::json;

namespace {

constexpr uint64_t kLargestVocabulary = uint64_t{256} << 20;
constexpr const char* kEndOfText = "<|endoftext|>";

// "left right" a line, after an optional line "#version: ...".
void add_merge_lines(std::string_view text, TokenizerNames* names) {
  for (size_t line_number = 1; !text.empty(); ++line_number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line_number == 1 && line.starts_with("#version")) continue;
    if (line.empty() && text.find_first_not_of("\r\n") == std::string_view::npos) break;
    try {
      const size_t space = line.find(' ');
      if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
        throw std::runtime_error("not two tokens and a space between");
      }
      names->add_merge(std::string(line.substr(0, space)), std::string(line.substr(space + 1)));
    } catch (const std::exception& error) {
      throw std::runtime_error("line " + std::to_string(line_number) + ": " + error.what());
    }
  }
}

// A token given as its text or as an object with more about it. `key` names it.
void add_special(const char* key, const json& token, TokenizerNames* names) {
  if (token.is_null()) return;
  const json& content = token.is_object() ? find_member(token, "content") : token;
  if (!content.is_string()) throw std::runtime_error(in_quotes(key) + " gives no text of a token");
  const auto text = content.get<std::string>();
  check_plain_match(token, text);
  names->add_literal(text, std::nullopt, TokenKind::kSpecial);
}

void add_named_specials(const json& settings, TokenizerNames* names) {
  for (const char* key : {"bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"}) {
    add_special(key, find_member(settings, key), names);
  }
  for (const char* key : {"additional_special_tokens", "extra_special_tokens"}) {
    for (const json& token : find_member(settings, key)) add_special(key, token, names);
  }
}

// {"50257": {"content": ..., "special": ...}, ...}
void add_decoder_tokens(const json& settings, TokenizerNames* names) {
  constexpr const char* kKey = "added_tokens_decoder";
  for (const auto& [key, token] : find_member(settings, kKey).items()) {
    int64_t id;
    const char* const end = key.data() + key.size();
    if (const auto read = std::from_chars(key.data(), end, id); read.ec != std::errc() || read.ptr != end) {
      throw std::runtime_error(in_quotes(kKey) + ": " + in_quotes(key) + " is not a token id");
    }
    const std::string text = text_member(token, "content");
    check_plain_match(token, text);
    names->add_literal(text, id, flag_member(token, "special") ? TokenKind::kSpecial : TokenKind::kAdded);
  }
}

// Runs `read` on the JSON object in `path`, if there is one.
template <typename Read>
void read_if_there(const std::filesystem::path& path, Read read) {
  if (!std::filesystem::exists(path)) return;
  const json object = read_json_object(path);
  with_path(path, [&] { read(object); });
}

}  // namespace

TokenizerData read_vocabulary_and_merges(const std::filesystem::path& vocabulary, const std::filesystem::path& merges,
                                         uint32_t vocabulary_size) {
  TokenizerNames names(vocabulary_size);
  const json tokens = read_json_object(vocabulary);
  with_path(vocabulary, [&] { add_vocabulary(tokens, &names); });
  const std::string merge_text = read_text_file(merges, kLargestVocabulary);
  with_path(merges, [&] { add_merge_lines(merge_text, &names); });

  // First what gives new tokens their ids, then what refers to them by name.
  const std::filesystem::path directory = vocabulary.parent_path();
  bool add_prefix_space = false;
  read_if_there(directory / "added_tokens.json", [&](const json& added) {
    for (const auto& [text, id] : added.items()) {
      names.add_literal(text, token_id(id, text), TokenKind::kAdded);
    }
  });
  read_if_there(directory / "tokenizer_config.json", [&](const json& settings) {
    add_decoder_tokens(settings, &names);
    add_named_specials(settings, &names);
    add_prefix_space = flag_member(settings, "add_prefix_space");
  });
  read_if_there(directory / "special_tokens_map.json",
                [&](const json& settings) { add_named_specials(settings, &names); });
  if (names.find(kEndOfText)) names.add_literal(kEndOfText, std::nullopt, TokenKind::kSpecial);
  return with_path(vocabulary, [&] { return names.build(add_prefix_space); });
}

}  // namespace sotto
