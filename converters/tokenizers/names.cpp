#include "converters/tokenizers/names.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

#include "converters/file.h"
#include "runtime/base/utf8.h"

namespace sotto {
namespace {

// In GPT-2's byte alphabet, the printable bytes of Latin-1 stand for themselves, and the characters from U+0100 on
// stand for the other 68 bytes.
constexpr uint32_t kAlphabetEnd = 256 + 68;

std::array<int, kAlphabetEnd> make_alphabet() {
  std::array<int, kAlphabetEnd> bytes;
  bytes.fill(-1);
  uint32_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
    bytes[printable ? static_cast<uint32_t>(byte) : next++] = byte;
  }
  return bytes;
}

// Returns the byte that a name such as <0x0A> stands for.
std::optional<char> byte_of_name(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  if (name.size() != 6 || !name.starts_with("<0x") || name[5] != '>') return std::nullopt;
  const size_t high = kDigits.find(name[3]);
  const size_t low = kDigits.find(name[4]);
  if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
  return static_cast<char>(high << 4 | low);
}

}  // namespace

std::optional<std::string> bytes_of_name(std::string_view name) {
  static const std::array<int, kAlphabetEnd> alphabet = make_alphabet();
  std::string bytes;
  for (size_t at = 0; at < name.size();) {
    const Utf8Character character = decode_utf8(name.data() + at, name.size() - at);
    if (!character.valid || character.code_point >= kAlphabetEnd) return std::nullopt;
    if (alphabet[character.code_point] < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(alphabet[character.code_point]));
    at += character.size;
  }
  return bytes;
}

std::string name_of_bytes(std::string_view bytes) {
  static const std::array<std::string, 256> characters = [] {
    std::array<std::string, 256> result;
    const std::array<int, kAlphabetEnd> alphabet = make_alphabet();
    for (uint32_t code_point = 0; code_point < kAlphabetEnd; ++code_point) {
      if (alphabet[code_point] < 0) continue;
      std::string& character = result[static_cast<size_t>(alphabet[code_point])];
      if (code_point < 0x80) {
        character = static_cast<char>(code_point);
      } else {
        character = {static_cast<char>(0xC0 | code_point >> 6), static_cast<char>(0x80 | (code_point & 0x3F))};
      }
    }
    return result;
  }();
  std::string name;
  for (const char byte : bytes) name += characters[static_cast<uint8_t>(byte)];
  return name;
}

TokenizerNames::TokenizerNames(uint32_t vocabulary_size, NameStyle style)
    : style_(std::move(style)), names_(vocabulary_size) {
  description_.tokens.resize(vocabulary_size);
  description_.word_space = style_.word_space;
}

// Returns the token for a name that is not in the byte alphabet.
TokenizerDescription::Token TokenizerNames::read_name(const std::string& name) const {
  TokenizerDescription::Token token = {name, TokenKind::kNormal};
  if (!style_.space.empty()) {
    // The tokenizer has replaced every space of its text by the symbol, so it never finds a name with a space.
    token.is_found = name.find(' ') == std::string::npos;
    for (size_t at = 0; (at = token.bytes.find(style_.space, at)) != std::string::npos; ++at) {
      token.bytes.replace(at, style_.space.size(), 1, ' ');
    }
  }
  if (style_.word_space == WordSpace::kNone) return token;
  const bool continues = !style_.continuing_prefix.empty() && name.starts_with(style_.continuing_prefix);
  if (continues) token.bytes.erase(0, style_.continuing_prefix.size());
  const Utf8Character first = decode_utf8(token.bytes.data(), token.bytes.size());
  if (first.size == token.bytes.size() && contains(style_.bare_characters, first.code_point)) {
    token.is_found = !continues;
  } else if (style_.word_space == WordSpace::kBefore && !continues) {
    token.bytes.insert(token.bytes.begin(), ' ');
  } else if (style_.word_space == WordSpace::kAfter && name.ends_with(style_.word_suffix)) {
    token.bytes.resize(token.bytes.size() - style_.word_suffix.size());
    token.bytes += ' ';
  }
  return token;
}

uint32_t TokenizerNames::check_id(const std::string& name, int64_t id) const {
  constexpr size_t kNameLimit =
      4 * kMaxTokenBytes;  // a character of at most 4 bytes stands for at least one byte of the token
  if (name.size() > kNameLimit) {
    throw std::runtime_error("token " + std::to_string(id) + " has a name of " + std::to_string(name.size()) +
                             " bytes; at most " + std::to_string(kNameLimit) + " are supported");
  }
  if (id < 0 || id >= static_cast<int64_t>(names_.size())) {
    throw std::runtime_error("token " + in_quotes(name) + " has id " + std::to_string(id) + ", but the model has " +
                             std::to_string(names_.size()) + " tokens");
  }
  const std::string* other = names_[static_cast<size_t>(id)];
  if (other != nullptr && *other != name) {
    throw std::runtime_error("tokens " + in_quotes(*other) + " and " + in_quotes(name) + " have the same id " +
                             std::to_string(id));
  }
  return static_cast<uint32_t>(id);
}

void TokenizerNames::add_token(const std::string& name, int64_t id) {
  const uint32_t token = check_id(name, id);
  const auto [entry, is_new] = ids_.emplace(name, token);
  if (!is_new) throw std::runtime_error("duplicate token: " + in_quotes(name));
  names_[token] = &entry->first;
  if (!style_.is_byte_alphabet) {
    description_.tokens[token] = read_name(name);
    if (const std::optional<char> byte = byte_of_name(name); byte && style_.has_byte_tokens) {
      description_.tokens[token].bytes = *byte;
      description_.byte_tokens[static_cast<uint8_t>(*byte)] = token;
    }
    return;
  }
  const std::optional<std::string> bytes = bytes_of_name(name);
  description_.tokens[token] = {bytes.value_or(name), TokenKind::kNormal};
  if (bytes && bytes->size() == 1) {
    description_.byte_tokens[static_cast<uint8_t>(bytes->front())] = token;
  }
}

void TokenizerNames::add_merge(const std::string& left, const std::string& right) {
  const bool continues = !style_.continuing_prefix.empty() && right.starts_with(style_.continuing_prefix);
  const std::string joined = left + right.substr(continues ? style_.continuing_prefix.size() : 0);
  description_.merges.push_back({token_of(left), token_of(right), token_of(joined)});
}

void TokenizerNames::add_literal(const std::string& text, std::optional<int64_t> id, TokenKind kind) {
  if (text.empty()) throw std::runtime_error("an added token is empty");
  const std::optional<uint32_t> known = find(text);
  if (!id && !known) throw std::runtime_error("token " + in_quotes(text) + " has no id");
  const uint32_t token = id ? check_id(text, *id) : *known;
  if (known && *known != token) {
    throw std::runtime_error("token " + in_quotes(text) + " has both id " + std::to_string(*known) + " and id " +
                             std::to_string(token));
  }
  TokenizerDescription::Token& entry = description_.tokens[token];
  if (known && style_.is_byte_alphabet && entry.bytes != text) {
    throw std::runtime_error("token " + in_quotes(text) + " means other bytes in the vocabulary than as added text");
  }
  names_[token] = &ids_.emplace(text, token).first->first;
  entry.bytes = text;
  if (kind == TokenKind::kSpecial && is_byte_token(token)) {
    return note("token " + in_quotes(text) + " of one byte stays text instead of a special token");
  }
  if (entry.kind != TokenKind::kSpecial) entry.kind = kind;
}

bool TokenizerNames::is_byte_token(uint32_t token) const {
  const auto& tokens = description_.byte_tokens;
  return std::find(tokens.begin(), tokens.end(), token) != tokens.end();
}

// Adds a remark unless it has been added before, because several files may describe the same token.
void TokenizerNames::note(const std::string& text) {
  if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
}

std::optional<uint32_t> TokenizerNames::find(const std::string& name) const {
  const auto found = ids_.find(name);
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

uint32_t TokenizerNames::token_of(const std::string& name) const {
  if (const std::optional<uint32_t> token = find(name)) return *token;
  throw std::runtime_error("the merge's token " + in_quotes(name) + " is not in the vocabulary");
}

TokenizerData TokenizerNames::build() {
  TokenizerData data = build_tokenizer(description_);
  data.notes = notes_;
  return data;
}

}  // namespace sotto
