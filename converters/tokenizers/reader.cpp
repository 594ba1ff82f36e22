// Implements the reader and the formats that need little code: vocab.txt, and vocab.json and merges.txt with the files
// of added tokens.
#include "converters/tokenizers/reader.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "converters/file.h"
#include "converters/readers/checkpoint.h"
#include "converters/tensors/gguf.h"
#include "converters/tokenizers/gguf.h"
#include "converters/tokenizers/json_members.h"
#include "converters/tokenizers/names.h"
#include "converters/tokenizers/sentencepiece.h"
#include "converters/tokenizers/tokenizer_json.h"

namespace sotto {
namespace {

using nlohmann::json;

constexpr uint64_t kLargestFile = uint64_t{256} << 20;

// Calls `read` and puts the path in front of the message of an exception.
template <typename Read>
auto with_path(const std::filesystem::path& path, Read read) {
  try {
    return read();
  } catch (const std::exception& error) {
    throw std::runtime_error(path.string() + ": " + error.what());
  }
}

json read_json_object(const std::filesystem::path& path) {
  json value = parse_strict_json(read_text_file(path, kLargestFile), path.string());
  if (!value.is_object()) throw std::runtime_error(path.string() + ": not a JSON object");
  return value;
}

constexpr const char* kEndOfText = "<|endoftext|>";

// The following functions read vocab.json and merges.txt, and the small files next to them that name added tokens.

// Adds one merge "left right" per line, after an optional line "#version: ...".
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

// Adds a special token, given as its text or as an object that contains the text. `key` is its name in messages.
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

// Reads {"50257": {"content": ..., "special": ...}, ...}.
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

// Runs `read` on the JSON object in `path` if the file exists.
template <typename Read>
void read_if_present(const std::filesystem::path& path, Read read) {
  if (!std::filesystem::exists(path)) return;
  const json object = read_json_object(path);
  with_path(path, [&] { read(object); });
}

TokenizerData read_vocabulary_and_merges(const std::filesystem::path& vocabulary, const std::filesystem::path& merges,
                                         uint32_t vocabulary_size) {
  TokenizerNames names(vocabulary_size);
  const json tokens = read_json_object(vocabulary);
  with_path(vocabulary, [&] { add_vocabulary(tokens, &names); });
  const std::string merge_text = read_text_file(merges, kLargestFile);
  with_path(merges, [&] { add_merge_lines(merge_text, &names); });

  // Files that assign ids to new tokens come before files that refer to tokens by name.
  const std::filesystem::path directory = vocabulary.parent_path();
  read_if_present(directory / "added_tokens.json", [&](const json& added) {
    for (const auto& [text, id] : added.items()) {
      names.add_literal(text, token_id(id, text), TokenKind::kAdded);
    }
  });
  read_if_present(directory / "tokenizer_config.json", [&](const json& settings) {
    add_decoder_tokens(settings, &names);
    add_named_specials(settings, &names);
    if (flag_member(settings, "add_prefix_space")) names.description().prefix_space = PrefixSpace::kIfMissing;
  });
  read_if_present(directory / "special_tokens_map.json",
                  [&](const json& settings) { add_named_specials(settings, &names); });
  if (names.find(kEndOfText)) names.add_literal(kEndOfText, std::nullopt, TokenKind::kSpecial);
  return with_path(vocabulary, [&] { return names.build(); });
}

// Returns the text of a special token in tokenizer_config.json, or `otherwise`.
std::string special_text(const json& settings, const char* key, const char* otherwise) {
  const json& token = find_member(settings, key);
  if (token.is_null()) return otherwise;
  return token.is_object() ? text_member(token, "content") : text_member(settings, key);
}

// Reads vocab.txt, the list of tokens of BertTokenizer, by building the equivalent tokenizer.json and reading that.
// Many Chinese and Japanese models use this tokenizer.
TokenizerData read_bert_vocabulary(const std::filesystem::path& path, uint32_t vocabulary_size) {
  json settings = json::object();
  read_if_present(path.parent_path() / "tokenizer_config.json", [&](const json& found) { settings = found; });
  return with_path(path, [&] {
    const std::string tokenizer_class = special_text(settings, "tokenizer_class", "BertTokenizer");
    if (tokenizer_class != "BertTokenizer" && tokenizer_class != "BertTokenizerFast") reject(tokenizer_class);
    json vocabulary = json::object();
    const std::string text = read_text_file(path, kLargestFile);
    uint32_t count = 0;
    for (size_t at = 0; at < text.size(); ++count) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const size_t size = end - at - (end > at && text[end - 1] == '\r' ? 1 : 0);
      vocabulary[text.substr(at, size)] = count;
      at = end + 1;
    }
    json added = json::array();
    for (const auto& [key, otherwise] :
         std::initializer_list<std::pair<const char*, const char*>>{{"unk_token", "[UNK]"},
                                                                    {"sep_token", "[SEP]"},
                                                                    {"pad_token", "[PAD]"},
                                                                    {"cls_token", "[CLS]"},
                                                                    {"mask_token", "[MASK]"}}) {
      const std::string special = special_text(settings, key, otherwise);
      if (!vocabulary.contains(special)) continue;
      added.push_back({{"id", vocabulary[special]}, {"content", special}, {"special", true}});
    }
    const std::string unknown = special_text(settings, "unk_token", "[UNK]");
    if (!vocabulary.contains(unknown)) throw std::runtime_error("token " + in_quotes(unknown) + " is missing");
    return read_tokenizer_json(
        {{"added_tokens", added},
         {"normalizer",
          {{"type", "BertNormalizer"},
           {"handle_chinese_chars", flag_member(settings, "tokenize_chinese_chars", true)},
           {"strip_accents", find_member(settings, "strip_accents")},
           {"lowercase", flag_member(settings, "do_lower_case", true)}}},
         {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
         {"model",
          {{"type", "WordPiece"}, {"unk_token", unknown}, {"continuing_subword_prefix", "##"}, {"vocab", vocabulary}}}},
        vocabulary_size);
  });
}

struct FilePair {
  const char* vocabulary;
  const char* merges;
};
constexpr FilePair kFilePairs[] = {{"vocab.json", "merges.txt"}, {"encoder.json", "vocab.bpe"}};

}  // namespace

std::optional<TokenizerData> read_tokenizer_directory(const std::filesystem::path& directory,
                                                      uint32_t vocabulary_size) {
  const std::filesystem::path whole = directory / "tokenizer.json";
  if (std::filesystem::exists(whole))
    return with_path(whole, [&] { return read_tokenizer_json(read_json_object(whole), vocabulary_size); });
  for (const FilePair& pair : kFilePairs) {
    const std::filesystem::path vocabulary = directory / pair.vocabulary;
    const std::filesystem::path merges = directory / pair.merges;
    const bool has_vocabulary = std::filesystem::exists(vocabulary);
    const bool has_merges = std::filesystem::exists(merges);
    if (!has_vocabulary && !has_merges) continue;
    if (!has_vocabulary || !has_merges) {
      throw std::runtime_error((has_merges ? vocabulary : merges).string() + ": missing, although " +
                               (has_merges ? pair.merges : pair.vocabulary) + " exists");
    }
    return read_vocabulary_and_merges(vocabulary, merges, vocabulary_size);
  }
  for (const char* name : {"spiece.model", "sentencepiece.model", "sentencepiece.bpe.model", "tokenizer.model"}) {
    if (std::filesystem::exists(directory / name)) return read_sentencepiece(directory / name, vocabulary_size);
  }
  const std::filesystem::path list = directory / "vocab.txt";
  if (std::filesystem::exists(list)) return read_bert_vocabulary(list, vocabulary_size);
  return std::nullopt;
}

std::optional<TokenizerData> read_checkpoint_tokenizer(const std::filesystem::path& checkpoint,
                                                       uint32_t vocabulary_size) {
  if (is_gguf(checkpoint)) {
    if (auto tokenizer = read_gguf_tokenizer(checkpoint, vocabulary_size)) return tokenizer;
  }
  return read_tokenizer_directory(directory_of(checkpoint), vocabulary_size);
}

}  // namespace sotto
