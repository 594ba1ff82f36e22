// The files of a tokenizer on disk: tokenizer.json, or vocab.json and merges.txt with the files that name added tokens.
#include "converters/tokenizers/reader.h"

#include <charconv>
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
#include "converters/tokenizers/names.h"

namespace sotto {
namespace {

using nlohmann::json;

constexpr uint64_t kLargestFile = uint64_t{256} << 20;

// Runs `read`, and adds the path in front of the message of any exception that it throws.
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

// Returns a member of an object, or null if it is absent.
const json& find_member(const json& object, const char* key) {
  static const json null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

std::string text_member(const json& object, const char* key) {
  const json& value = find_member(object, key);
  if (!value.is_string()) throw std::runtime_error(in_quotes(key) + " is not a string");
  return value.get<std::string>();
}

// Returns false if the member is absent or null.
bool flag_member(const json& object, const char* key) {
  const json& value = find_member(object, key);
  if (value.is_null()) return false;
  if (!value.is_boolean()) throw std::runtime_error(in_quotes(key) + " is neither true nor false");
  return value.get<bool>();
}

int64_t token_id(const json& id, const std::string& text) {
  constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();
  const bool is_too_large = id.is_number_unsigned() && id.get<uint64_t>() > kMost;
  if (id.is_number_integer() && !is_too_large) return id.get<int64_t>();
  throw std::runtime_error("the id of token " + in_quotes(text) + " is " + id.dump() + ", not an integer in range");
}

// Adds the names and ids of a dictionary.
void add_vocabulary(const json& vocabulary, TokenizerNames* names) {
  if (!vocabulary.is_object()) throw std::runtime_error("the vocabulary is not a JSON object");
  for (const auto& [name, id] : vocabulary.items()) {
    names->add_token(name, token_id(id, name));
  }
}

// Throws if the description of an added token requires more than a match of its text.
void check_plain_match(const json& token, const std::string& text) {
  for (const char* flag : {"lstrip", "rstrip", "single_word"}) {
    if (!flag_member(token, flag)) continue;
    throw std::runtime_error("added token " + in_quotes(text) + " has " + flag + ", which is not supported");
  }
}

// The following functions read tokenizer.json, the format of the `tokenizers` library.

std::string type_of(const json& component) {
  const json& type = find_member(component, "type");
  return type.is_string() ? type.get<std::string>() : component.dump();
}

[[noreturn]] void reject(const std::string& what) {
  throw std::runtime_error(what + " is not supported: it would produce tokens other than GPT-2's");
}

// Returns a component, or the only one of a sequence.
const json& only_component(const json& component, const char* list, const char* what) {
  if (!component.is_object() || type_of(component) != "Sequence") return component;
  const json& components = find_member(component, list);
  if (!components.is_array() || components.size() != 1) {
    reject(std::string("a sequence as ") + what);
  }
  return components.at(0);
}

// Returns add_prefix_space.
bool check_pre_tokenizer(const json& tokenizer) {
  const json& component = only_component(find_member(tokenizer, "pre_tokenizer"), "pretokenizers", "pre_tokenizer");
  if (component.is_null()) reject("a tokenizer without pre_tokenizer");
  if (type_of(component) != "ByteLevel") reject("pre_tokenizer " + type_of(component));
  if (component.contains("use_regex") && !flag_member(component, "use_regex")) {
    reject("ByteLevel without use_regex");
  }
  return flag_member(component, "add_prefix_space");
}

void check_other_components(const json& tokenizer) {
  const json& normalizer = find_member(tokenizer, "normalizer");
  if (!normalizer.is_null()) reject("normalizer " + type_of(normalizer));
  const json& decoder = only_component(find_member(tokenizer, "decoder"), "decoders", "decoder");
  if (!decoder.is_null() && type_of(decoder) != "ByteLevel") {
    reject("decoder " + type_of(decoder));
  }
  const json& processor = find_member(tokenizer, "post_processor");
  if (processor.is_null() || type_of(processor) == "ByteLevel") return;
  if (type_of(processor) != "TemplateProcessing") reject("post_processor " + type_of(processor));
  for (const json& piece : find_member(processor, "single")) {
    if (piece.contains("SpecialToken")) reject("a template that adds special tokens");
  }
}

void check_model(const json& model) {
  const bool has_type = !find_member(model, "type").is_null();
  if (has_type && type_of(model) != "BPE") reject("model " + type_of(model));
  const json& dropout = find_member(model, "dropout");
  if (!dropout.is_null() && dropout != 0) reject("dropout");
  for (const char* flag : {"ignore_merges", "byte_fallback"}) {
    if (flag_member(model, flag)) reject(flag);
  }
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const json& value = find_member(model, affix);
    if (!value.is_null() && value != "") reject(affix);
  }
}

// Reads a merge of the form ["left", "right"] or "left right".
std::pair<std::string, std::string> tokens_of(const json& merge) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return {merge[0].get<std::string>(), merge[1].get<std::string>()};
  }
  const std::string text = merge.is_string() ? merge.get<std::string>() : "";
  const size_t space = text.find(' ');
  if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
    throw std::runtime_error("not two tokens");
  }
  return {text.substr(0, space), text.substr(space + 1)};
}

void add_merges(const json& merges, TokenizerNames* names) {
  if (!merges.is_array()) throw std::runtime_error("merges is not an array");
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const json& merge = merges[rank];
    try {
      const auto [left, right] = tokens_of(merge);
      names->add_merge(left, right);
    } catch (const std::exception& error) {
      throw std::runtime_error("merge " + std::to_string(rank) + ": " + error.what());
    }
  }
}

// Returns whether a text can have `outer` at some place and `inner` at a later one that is still within `outer`.
bool can_start_within(std::string_view inner, std::string_view outer) {
  for (size_t at = 0; at < outer.size(); ++at) {
    const std::string_view rest = outer.substr(at);
    const size_t size = std::min(rest.size(), inner.size());
    if (rest.substr(0, size) == inner.substr(0, size)) return true;
  }
  return false;
}

// Adds the tokens that are matched as literal text. The tokenizers library searches for those with "normalized" only in
// the text that the others leave, whereas the runtime searches for all at once. The results differ if one of the others
// begins inside a normalized one, so such tokens are rejected.
void add_added_tokens(const json& tokens, TokenizerNames* names) {
  std::vector<std::string> first, second;
  for (const json& token : tokens) {
    const std::string text = text_member(token, "content");
    check_plain_match(token, text);
    (flag_member(token, "normalized") ? second : first).push_back(text);
    names->add_literal(text, token_id(find_member(token, "id"), text),
                       flag_member(token, "special") ? TokenKind::kSpecial : TokenKind::kAdded);
  }
  for (const std::string& inner : first) {
    for (const std::string& outer : second) {
      if (can_start_within(inner, outer)) {
        reject("overlap of added tokens " + in_quotes(inner) + " and, normalized, " + in_quotes(outer));
      }
    }
  }
}

TokenizerData read_tokenizer_json(const std::filesystem::path& path, uint32_t vocabulary_size) {
  const json tokenizer = read_json_object(path);
  return with_path(path, [&] {
    const json& model = find_member(tokenizer, "model");
    if (!model.is_object()) throw std::runtime_error("\"model\" is not an object");
    check_model(model);
    check_other_components(tokenizer);
    const bool add_prefix_space = check_pre_tokenizer(tokenizer);
    TokenizerNames names(vocabulary_size);
    add_vocabulary(find_member(model, "vocab"), &names);
    add_merges(find_member(model, "merges"), &names);
    add_added_tokens(find_member(tokenizer, "added_tokens"), &names);
    return names.build(add_prefix_space);
  });
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

  // Files that assign ids to new tokens come first, then files that refer to tokens by name.
  const std::filesystem::path directory = vocabulary.parent_path();
  bool add_prefix_space = false;
  read_if_present(directory / "added_tokens.json", [&](const json& added) {
    for (const auto& [text, id] : added.items()) {
      names.add_literal(text, token_id(id, text), TokenKind::kAdded);
    }
  });
  read_if_present(directory / "tokenizer_config.json", [&](const json& settings) {
    add_decoder_tokens(settings, &names);
    add_named_specials(settings, &names);
    add_prefix_space = flag_member(settings, "add_prefix_space");
  });
  read_if_present(directory / "special_tokens_map.json",
                  [&](const json& settings) { add_named_specials(settings, &names); });
  if (names.find(kEndOfText)) names.add_literal(kEndOfText, std::nullopt, TokenKind::kSpecial);
  return with_path(vocabulary, [&] { return names.build(add_prefix_space); });
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
  if (std::filesystem::exists(whole)) return read_tokenizer_json(whole, vocabulary_size);
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
