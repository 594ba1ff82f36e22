// The tokenizer section of a model file: plain arrays used in place.
#pragma once

#include <cstdint>
#include <span>

namespace sotto {

enum class TokenKind : uint8_t { kNormal = 0, kAdded = 1, kSpecial = 2, kUnused = 3 };

// A BPE merge; its rank is its index. Token ids.
struct TokenMerge {
  uint32_t left;
  uint32_t right;
  uint32_t result;
};

inline constexpr uint32_t kNoToken = 0xFFFFFFFF;

struct TokenizerView {
  uint32_t token_count = 0;
  std::span<const uint32_t> token_offsets;  // token_count + 1, into token_bytes
  std::span<const char> token_bytes;
  std::span<const TokenKind> token_kinds;   // token_count
  std::span<const uint32_t> byte_tokens;    // 256, kNoToken: none
  std::span<const TokenMerge> merges;       // in rank order
  std::span<const uint32_t> merge_index;    // power of two; rank + 1, 0: empty
  std::span<const uint32_t> sorted_tokens;  // what BPE can produce, by their bytes
  std::span<const uint32_t> added_tokens;   // kAdded and kSpecial, longest first
  bool add_prefix_space = false;
  uint32_t max_token_bytes = 0;

  std::span<const char> bytes_of(uint32_t token) const {
    return token_bytes.subspan(token_offsets[token],
                               token_offsets[token + 1] - token_offsets[token]);
  }
};

// Where the open-addressing probe for a pair starts; linear probing from there.
constexpr uint32_t merge_hash(uint32_t left, uint32_t right) {
  uint64_t key = (static_cast<uint64_t>(left) << 32 | right) * 0x9E3779B97F4A7C15u;
  return static_cast<uint32_t>(key >> 32);
}

}  // namespace sotto
