// Token healing (Lundberg 2023, "The Art of Prompt Design: Prompt Boundaries and Token Healing"). If a prompt ends
// inside a word, its last tokens are removed, and the next tokens must spell the same bytes but may continue beyond
// them.
//
// Example: a prompt ends with the token " wor", the beginning of the longer token " world". Healing removes " wor", and
// the next token may be " world" or " wor" but not " dog".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/model/tokenizer_view.h"

namespace sotto {

// The text that healing removed from the end of the prompt, and the place in the stream where it was.
class Healing {
 public:
  static constexpr size_t kMaxTokens = 4;

  // Returns the largest n, at most kMaxTokens, such that the last n tokens together spell the beginning of a longer
  // token, or 0 if there is none. `tokens` are in the order of the text.
  static size_t count_unfinished(const TokenizerView& tokenizer, std::span<const int32_t> tokens);

  void clear() {
    size_ = 0;
    place_ = 0;
  }
  // Starts healing. `tokens` have been removed from the stream; it now ends at `place`.
  void begin(const TokenizerView& tokenizer, std::span<const int32_t> tokens, uint64_t place);

  bool has_started() const { return size_ > 0; }
  uint64_t place() const { return place_; }
  std::span<const char> bytes() const { return {bytes_.data(), size_}; }
  void restore(std::span<const char> bytes, uint64_t place);

  // Sets the bits of all tokens that begin with the last `left` bytes or spell a prefix of them.
  void allow(const TokenizerView& tokenizer, size_t left, uint64_t* words) const;

 private:
  std::array<char, kMaxTokenBytes> bytes_;
  size_t size_ = 0;
  uint64_t place_ = 0;
};

}  // namespace sotto
