// Token healing: a prompt that ends inside a word has lost its last tokens, and the next ones
// must spell the same bytes and go on from there.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/model/tokenizer_view.h"

namespace sotto {

class Healing {
 public:
  static constexpr size_t kMaxTokens = 4;

  // How many of the text's last tokens, up to kMaxTokens, are together the beginning of a
  // longer token: the most there can be; 0: none. `tokens` are oldest first.
  static size_t count_unfinished(const TokenizerView& tokenizer, std::span<const int32_t> tokens);

  void clear() {
    size_ = done_ = 0;
    place_ = 0;
  }
  // The stream now ends at `place`, where these tokens were.
  void begin(const TokenizerView& tokenizer, std::span<const int32_t> tokens, uint64_t place);

  bool is_over() const { return done_ == size_; }
  bool was_begun() const { return size_ > 0; }
  uint64_t place() const { return place_; }
  std::span<const char> bytes() const { return {bytes_.data(), size_}; }
  void restore(std::span<const char> bytes, uint64_t place);

  // Of a token of that many bytes, those that belong to the prompt.
  size_t hidden(size_t size) const { return std::min(size, size_ - done_); }
  void advance(size_t size) { done_ += hidden(size); }
  // The stream is at `place` again; advance() follows for the tokens behind it.
  void restart() { done_ = 0; }

  // Sets the bits of the tokens that begin with the bytes still due, or that they begin with.
  void allow(const TokenizerView& tokenizer, uint64_t* words) const;

 private:
  std::array<char, kMaxTokenBytes> bytes_;
  size_t size_ = 0;
  size_t done_ = 0;
  uint64_t place_ = 0;
};

}  // namespace sotto
