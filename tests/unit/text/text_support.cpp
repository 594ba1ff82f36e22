#include "tests/unit/text/text_support.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>

namespace sotto::test {

void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

uint64_t Random::next() {
  uint64_t z = state_ += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

void Hash::add(std::string_view bytes) {
  for (const char byte : bytes) add(static_cast<uint8_t>(byte));
}

void Hash::add(const std::vector<int32_t>& tokens) {
  for (const int32_t token : tokens) add(static_cast<uint32_t>(token));
}

std::vector<int32_t> encode_all(const TokenizerView& tokenizer, std::string_view text, bool parse_special) {
  std::vector<int32_t> tokens(2 * text.size());
  size_t count = 0;
  Error error;
  EXPECT_EQ(encode(tokenizer, text, {parse_special}, tokens, &count, &error), Status::kOk) << error.message;
  tokens.resize(count);
  return tokens;
}

std::string decode_all(const TokenizerView& tokenizer, const std::vector<int32_t>& tokens) {
  std::string text;
  for (const int32_t token : tokens) {
    const auto bytes = tokenizer.bytes_of(static_cast<uint32_t>(token));
    text.append(bytes.data(), bytes.size());
  }
  return text;
}

std::vector<int32_t> naive_bpe(const TokenizerDescription& description, std::string_view word) {
  std::map<std::pair<uint32_t, uint32_t>, size_t> ranks;
  for (size_t rank = 0; rank < description.merges.size(); ++rank) {
    ranks[{description.merges[rank].left, description.merges[rank].right}] = rank;
  }
  std::vector<int32_t> tokens;
  for (const char byte : word) {
    tokens.push_back(static_cast<int32_t>(description.byte_tokens[static_cast<uint8_t>(byte)]));
  }
  for (;;) {
    size_t best = SIZE_MAX, best_at = 0;
    for (size_t i = 0; i + 1 < tokens.size(); ++i) {
      const auto found = ranks.find({static_cast<uint32_t>(tokens[i]), static_cast<uint32_t>(tokens[i + 1])});
      if (found == ranks.end() || found->second >= best) continue;
      best = found->second;
      best_at = i;
    }
    if (best == SIZE_MAX) return tokens;
    tokens[best_at] = static_cast<int32_t>(description.merges[best].result);
    tokens.erase(tokens.begin() + static_cast<ptrdiff_t>(best_at) + 1);
  }
}

uint32_t add_token(TokenizerDescription* description, std::string bytes, TokenKind kind) {
  description->tokens.push_back({std::move(bytes), kind});
  return static_cast<uint32_t>(description->tokens.size() - 1);
}

TokenizerDescription describe(std::string_view alphabet, const Pairs& pairs) {
  TokenizerDescription description;
  std::map<std::string, uint32_t> ids;
  const auto token_of = [&](const std::string& bytes) {
    const auto [entry, is_new] = ids.try_emplace(bytes, 0);
    if (is_new) entry->second = add_token(&description, bytes, TokenKind::kNormal);
    return entry->second;
  };
  for (const char byte : alphabet) {
    description.byte_tokens[static_cast<uint8_t>(byte)] = token_of(std::string(1, byte));
  }
  for (const auto& [left, right] : pairs) {
    const uint32_t left_id = token_of(left), right_id = token_of(right);
    description.merges.push_back({left_id, right_id, token_of(left + right)});
  }
  return description;
}

}  // namespace sotto::test
