// Fuzzes the tokenizer: damages the arrays of a valid tokenizer and encodes with those that pass verification. Input:
//   byte 0: which tokenizer, 1: repetitions of the text, 2: number of edits,
//   4 bytes per edit: array, index, value (two bytes), the remaining bytes: text.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "converters/tokenizers/builder.h"
#include "converters/tokenizers/pattern.h"
#include "runtime/text/tokenizer.h"

namespace {

using namespace sotto;

void require(bool condition) {
  if (!condition) std::abort();
}

// Describes tokens for the bytes a ... d and the space, and merges of two tokens each.
TokenizerDescription describe(const std::vector<TokenMerge>& merges) {
  TokenizerDescription description;
  for (const char byte : std::string_view(" abcd")) {
    description.byte_tokens[static_cast<uint8_t>(byte)] = static_cast<uint32_t>(description.tokens.size());
    description.tokens.push_back({std::string(1, byte), TokenKind::kNormal});
  }
  for (const TokenMerge& merge : merges) {
    description.tokens.push_back(
        {description.tokens[merge.left].bytes + description.tokens[merge.right].bytes, TokenKind::kNormal});
    description.merges.push_back(merge);
  }
  description.tokens.push_back({"<c>", TokenKind::kSpecial});
  description.tokens.push_back({"  ", TokenKind::kAdded});
  description.tokens.push_back({"d\u00E9", TokenKind::kAdded});
  description.tokens.push_back({"", TokenKind::kUnused});
  return description;
}

// Describes a tokenizer of another model, with a normalizer and two steps of splitting.
TokenizerDescription describe_model(TokenizerModel model, WordSpace word_space) {
  TokenizerDescription description = describe({{1, 2, 5}, {5, 3, 6}, {1, 1, 7}});
  if (word_space != WordSpace::kNone) {
    description.merges.clear();
    for (const uint32_t token : {1u, 2u, 5u}) {
      std::string& bytes = description.tokens[token].bytes;
      bytes = word_space == WordSpace::kBefore ? " " + bytes : bytes + " ";
    }
  }
  description.byte_tokens.fill(kNoToken);
  description.model = model;
  description.word_space = word_space;
  description.prefix_space = word_space == WordSpace::kNone ? PrefixSpace::kAlways : PrefixSpace::kNever;
  description.unknown_token = 8;
  description.fuse_unknown = word_space == WordSpace::kNone;
  description.max_word_characters = 10;
  description.token_scores = {-1, -2, -3, -4, -5, -2.5, -3.5, -1.5, 0, 0, 0, 0};
  description.unknown_score = -15;
  NormalizerData& normalizer = description.normalizer;
  normalizer.characters.removed = {0x300, 0x370};
  normalizer.characters.replace('e', "dddd");
  normalizer.characters.replace(0xE8, "ab");
  if (word_space == WordSpace::kBefore) {
    normalizer.characters.removed.clear();
    normalizer.combining_classes = {0, 0x300 << 8 | 230, 0x315 << 8 | 232, 0x316 << 8 | 220, 0x370 << 8};
    normalizer.compositions = {{'a', 'b', 'c'}, {'a', 0x301, 'd'}, {'d', 0x316, 'a'}};
  } else if (word_space == WordSpace::kAfter) {
    // A trie with the rules "a" -> "b" and "ab" -> "d".
    normalizer.rule_trie.assign(1024, 0);
    normalizer.rule_trie[0] = 256 << 10;
    normalizer.rule_trie[256 ^ 'a'] = (256u ^ 'a' ^ 512u) << 10 | 1 << 8 | 'a';
    normalizer.rule_trie[512] = kTrieValue;
    normalizer.rule_trie[512 ^ 'b'] = (512u ^ 'b' ^ 768u) << 10 | 1 << 8 | 'b';
    normalizer.rule_trie[768] = kTrieValue | 2;
    normalizer.rule_texts = {'b', '\0', 'd', '\0'};
    if (model == TokenizerModel::kUnigram) append_split_step({.pattern = "a?b|c+"}, &normalizer.graphemes);
    normalizer.space_rules = kMergeSpaces | kStripEnd;
    normalizer.last_characters.replace('d', "  ");
  }
  const bool keep_spaces = word_space == WordSpace::kNone;
  append_split_step({.pattern = R"(\s+)", .keep_matches = keep_spaces}, &description.split_steps);
  append_split_step({.pattern = "a*b|[cd]{1,3}(?!c)", .bare_matches = true}, &description.split_steps);
  return description;
}

const std::vector<TokenizerData>& tokenizers() {
  static const std::vector<TokenizerData> all = [] {
    const std::vector<TokenMerge> words = {{1, 2, 5}, {0, 5, 6}, {5, 3, 7}, {7, 4, 8}, {0, 1, 9}};
    const std::vector<TokenMerge> powers = {{1, 1, 5}, {5, 5, 6}, {6, 6, 7}, {7, 7, 8}, {5, 1, 9}};
    std::vector<TokenizerDescription> descriptions = {describe(words), describe(powers)};
    for (size_t i = 0; i < 2; ++i) {  // with merges out of order as well
      descriptions.push_back(descriptions[i]);
      std::swap(descriptions.back().merges[0], descriptions.back().merges[3]);
    }
    for (const TokenizerModel model : {TokenizerModel::kCharacterBpe, TokenizerModel::kUnigram,
                                       TokenizerModel::kWordPiece, TokenizerModel::kWordLevel}) {
      for (const WordSpace word_space : {WordSpace::kNone, WordSpace::kBefore, WordSpace::kAfter}) {
        descriptions.push_back(describe_model(model, word_space));
      }
    }
    std::vector<TokenizerData> built;
    for (const auto& description : descriptions) built.push_back(build_tokenizer(description));
    return built;
  }();
  return all;
}

template <typename T>
void edit(std::vector<T>* array, size_t index, uint16_t value) {
  if (index >= array->size()) {
    array->resize(value % 1024);
  } else {
    const auto small = static_cast<int16_t>(value);  // negative values become huge
    (*array)[index] = static_cast<T>(small);
  }
}

void edit(TokenizerData* data, uint8_t array, size_t index, uint16_t value) {
  switch (array % 24) {
    case 0:
      return edit(&data->token_offsets, index, value);
    case 1:
      return edit(&data->token_bytes, index, value);
    case 2:
      return edit(&data->token_kinds, index, value);
    case 3:
      return edit(&data->byte_tokens, index, value);
    case 4:
      return edit(&data->merge_index, index, value);
    case 5:
      return edit(&data->token_merges, index, value);
    case 6:
      return edit(&data->sorted_tokens, index, value);
    case 7:
      return edit(&data->added_tokens, index, value);
    case 8:
      data->prefix_space = static_cast<PrefixSpace>(value);
      return;
    case 9:
      return edit(&data->split_steps, index, value);
    case 10:
      return edit(&data->split_steps, 256 + index, value);
    case 11:
      return edit(&data->normalizer.characters.removed, index, value);
    case 12:
      return edit(&data->normalizer.characters.replaced, index, value);
    case 13:
      return edit(&data->normalizer.characters.offsets, index, value);
    case 14:
      return edit(&data->normalizer.characters.bytes, index, value);
    case 15:
      return edit(&data->token_scores, index, value);
    case 16:
      data->model = static_cast<TokenizerModel>(value);
      data->word_space = static_cast<WordSpace>(index);
      data->unknown_token = static_cast<uint32_t>(value >> 8);
      return;
    case 17:
      return edit(&data->normalizer.rule_trie, 256 + index, value);
    case 18:
      return edit(&data->normalizer.rule_texts, index, value);
    case 19:
      return edit(&data->normalizer.graphemes, index, value);
    case 20:
      return edit(&data->normalizer.combining_classes, index, value);
    case 21: {
      auto& pairs = data->normalizer.compositions;
      if (index >= 3 * pairs.size()) return pairs.resize(value % 16);
      Composition& pair = pairs[index / 3];
      (index % 3 == 0 ? pair.first : index % 3 == 1 ? pair.second : pair.result) = value;
      return;
    }
    case 22:
      data->normalizer.space_rules = static_cast<uint8_t>(value);
      return edit(&data->normalizer.last_characters.bytes, index, value);
    default: {
      if (index >= 3 * data->merges.size()) return data->merges.resize(value % 16);
      TokenMerge& merge = data->merges[index / 3];
      (index % 3 == 0   ? merge.left
       : index % 3 == 1 ? merge.right
                        : merge.result) = static_cast<uint32_t>(static_cast<int16_t>(value));
    }
  }
}

void check_encoding(const TokenizerView& tokenizer, const std::string& text, bool parse_special) {
  Error error;
  size_t needed = 0;
  const Status status = encode(tokenizer, text, {parse_special}, {}, &needed, &error);
  if (status != Status::kOk && status != Status::kBufferTooSmall) return;
  const bool is_plain =
      tokenizer.model == TokenizerModel::kByteBpe && tokenizer.split_steps.empty() && tokenizer.normalizer.is_empty();
  require(!is_plain || needed <= 2 * text.size());
  std::vector<int32_t> tokens(needed);
  size_t count = 0;
  const Status second = encode(tokenizer, text, {parse_special}, tokens, &count, &error);
  if (second == Status::kModelCorrupt) return;  // detected only when a long word is searched
  require(second == Status::kOk && count <= needed);
  if (!is_plain || tokenizer.prefix_space != PrefixSpace::kNever) return;
  std::string decoded;
  for (size_t i = 0; i < count; ++i) {
    require(tokens[i] >= 0 && static_cast<uint32_t>(tokens[i]) < tokenizer.token_count);
    const auto bytes = tokenizer.bytes_of(static_cast<uint32_t>(tokens[i]));
    decoded.append(bytes.data(), bytes.size());
  }
  require(decoded == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  TokenizerData damaged = tokenizers()[data[0] % tokenizers().size()];
  const size_t repetitions = 1 + data[1] % 64;
  size_t at = 3;
  for (size_t i = 0; i < data[2] % 8u && size - at >= 4; ++i, at += 4) {
    edit(&damaged, data[at], data[at + 1], static_cast<uint16_t>(data[at + 2] | data[at + 3] << 8));
  }
  TokenizerView view = damaged.unverified_view();
  Error error;
  if (verify_tokenizer(&view, view.token_count, &error) != Status::kOk) return 0;
  const std::string_view piece(reinterpret_cast<const char*>(data + at), size - at);
  std::string text;
  for (size_t i = 0; i < repetitions; ++i) text += piece;
  check_encoding(view, text, false);
  check_encoding(view, text, true);
  return 0;
}
