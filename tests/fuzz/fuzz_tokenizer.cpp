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

const std::vector<TokenizerData>& tokenizers() {
  static const std::vector<TokenizerData> all = [] {
    const std::vector<TokenMerge> words = {{1, 2, 5}, {0, 5, 6}, {5, 3, 7}, {7, 4, 8}, {0, 1, 9}};
    const std::vector<TokenMerge> powers = {{1, 1, 5}, {5, 5, 6}, {6, 6, 7}, {7, 7, 8}, {5, 1, 9}};
    std::vector<TokenizerDescription> descriptions = {describe(words), describe(powers)};
    for (size_t i = 0; i < 2; ++i) {  // with merges out of order as well
      descriptions.push_back(descriptions[i]);
      std::swap(descriptions.back().merges[0], descriptions.back().merges[3]);
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
  switch (array % 10) {
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
      data->add_prefix_space = value % 2 == 1;
      return;
    default: {
      if (index >= 3 * data->merges.size()) return data->merges.resize(value % 16);
      TokenMerge& merge = data->merges[index / 3];
      (index % 3 == 0   ? merge.left
       : index % 3 == 1 ? merge.right
                        : merge.result) = static_cast<uint32_t>(static_cast<int16_t>(value));
    }
  }
}

TokenizerView unverified_view(const TokenizerData& data) {
  TokenizerView view;
  view.token_count = static_cast<uint32_t>(data.token_kinds.size());
  view.token_offsets = data.token_offsets;
  view.token_bytes = data.token_bytes;
  view.token_kinds = data.token_kinds;
  view.byte_tokens = data.byte_tokens;
  view.merges = data.merges;
  view.merge_index = data.merge_index;
  view.token_merges = data.token_merges;
  view.sorted_tokens = data.sorted_tokens;
  view.added_tokens = data.added_tokens;
  view.add_prefix_space = data.add_prefix_space;
  return view;
}

void check_encoding(const TokenizerView& tokenizer, const std::string& text, bool parse_special) {
  Error error;
  size_t needed = 0;
  const Status status = encode(tokenizer, text, {parse_special}, {}, &needed, &error);
  if (status != Status::kOk && status != Status::kBufferTooSmall) return;
  require(needed <= 2 * text.size());
  std::vector<int32_t> tokens(needed);
  size_t count = 0;
  const Status second = encode(tokenizer, text, {parse_special}, tokens, &count, &error);
  if (second == Status::kModelCorrupt) return;  // detected only when a long word is searched
  require(second == Status::kOk && count <= needed);
  if (tokenizer.add_prefix_space) return;
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
  TokenizerView view = unverified_view(damaged);
  Error error;
  if (verify_tokenizer(&view, view.token_count, &error) != Status::kOk) return 0;
  const std::string_view piece(reinterpret_cast<const char*>(data + at), size - at);
  std::string text;
  for (size_t i = 0; i < repetitions; ++i) text += piece;
  check_encoding(view, text, false);
  check_encoding(view, text, true);
  return 0;
}
