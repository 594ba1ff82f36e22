#include "runtime/text/tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/utf8.h"
#include "runtime/model/tokenizer_view.h"
#include "runtime/text/bpe.h"
#include "runtime/text/pre_tokenizer.h"

namespace sotto {
namespace {

// Finds added and special tokens, which are matched as literal text before BPE.
class AddedTokenFinder {
 public:
  // If `parse_special` is false, special tokens are not found.
  AddedTokenFinder(const TokenizerView& tokenizer, bool parse_special);

  // A token found in the text.
  struct Match {
    size_t start;  // text.size() if there is no match
    uint32_t token;
  };
  // Returns the leftmost match at or after `start`, and the longest token among several.
  Match find(std::span<const char> text, size_t start) const;

 private:
  bool may_start(std::span<const char> text, size_t at) const;
  uint32_t token_at(std::span<const char> text, size_t at) const;
  bool is_wanted(uint32_t token) const;

  // A Bloom filter (Bloom 1970) over the first two bytes of all added tokens. Tokens of one byte are in single_.
  static constexpr size_t kPairBits = 4096;
  static size_t pair_bit(uint8_t first, uint8_t second) { return (first * 16u ^ second * 37u) % kPairBits; }

  const TokenizerView& tokenizer_;
  bool parse_special_;
  bool any_ = false;
  uint64_t single_[4] = {};
  uint64_t pairs_[kPairBits / 64] = {};
};

AddedTokenFinder::AddedTokenFinder(const TokenizerView& tokenizer, bool parse_special)
    : tokenizer_(tokenizer), parse_special_(parse_special) {
  for (const uint32_t token : tokenizer.added_tokens) {
    if (!is_wanted(token)) continue;
    any_ = true;
    const auto bytes = tokenizer.bytes_of(token);
    const auto first = static_cast<uint8_t>(bytes[0]);
    if (bytes.size() == 1) {
      single_[first / 64] |= uint64_t{1} << first % 64;
    } else {
      const size_t bit = pair_bit(first, static_cast<uint8_t>(bytes[1]));
      pairs_[bit / 64] |= uint64_t{1} << bit % 64;
    }
  }
}

AddedTokenFinder::Match AddedTokenFinder::find(std::span<const char> text, size_t start) const {
  for (size_t at = start; any_ && at < text.size(); ++at) {
    if (!may_start(text, at)) continue;
    const uint32_t token = token_at(text, at);
    if (token != kNoToken) return {at, token};
  }
  return {text.size(), kNoToken};
}

bool AddedTokenFinder::may_start(std::span<const char> text, size_t at) const {
  const auto first = static_cast<uint8_t>(text[at]);
  if ((single_[first / 64] >> first % 64 & 1) != 0) return true;
  if (at + 1 == text.size()) return false;
  const size_t bit = pair_bit(first, static_cast<uint8_t>(text[at + 1]));
  return (pairs_[bit / 64] >> bit % 64 & 1) != 0;
}

uint32_t AddedTokenFinder::token_at(std::span<const char> text, size_t at) const {
  const Word rest{text.subspan(at)};
  for (size_t limit = rest.size();;) {
    const uint32_t token = longest_token(tokenizer_, tokenizer_.added_tokens, rest, limit);
    if (token == kNoToken || is_wanted(token)) return token;
    limit = tokenizer_.bytes_of(token).size() - 1;
  }
}

bool AddedTokenFinder::is_wanted(uint32_t token) const {
  return parse_special_ || tokenizer_.token_kinds[token] == TokenKind::kAdded;
}

class Encoder {
 public:
  Encoder(const TokenizerView& tokenizer, std::span<const char> text, std::span<int32_t> tokens, Error* error)
      : tokenizer_(tokenizer), text_(text), tokens_(tokens), error_(error) {}

  Status encode_segment(size_t start, size_t end);
  void put(uint32_t token) {
    if (count_ < tokens_.size()) tokens_[count_] = static_cast<int32_t>(token);
    ++count_;
  }

  // Returns the number of tokens so far, even if they exceed tokens.size(). A buffer with that many elements would have
  // sufficed.
  size_t count() const { return count_; }

 private:
  Status encode_word(Word word);
  Status encode_long_word(Word word);
  Status check_bytes(Word word);

  const TokenizerView& tokenizer_;
  std::span<const char> text_;
  std::span<int32_t> tokens_;
  Error* error_;
  size_t count_ = 0;
};

// Encodes the text between two added tokens.
Status Encoder::encode_segment(size_t start, size_t end) {
  if (start == end) return Status::kOk;
  const auto segment = text_.subspan(start, end - start);
  size_t at = 0;
  if (tokenizer_.add_prefix_space && segment[0] != ' ') {
    at = word_end_after_space(segment);
    SOTTO_TRY(encode_word({segment.first(at), true}));
  }
  while (at < segment.size()) {
    const size_t word_start = at;
    at = word_end(segment, word_start);
    SOTTO_TRY(encode_word({segment.subspan(word_start, at - word_start)}));
  }
  return Status::kOk;
}

Status Encoder::encode_word(Word word) {
  SOTTO_TRY(check_bytes(word));
  if (word.size() > kShortWordBytes) return encode_long_word(word);
  uint32_t tokens[kShortWordBytes];
  const size_t count = merge_word(tokenizer_, word, tokens);
  for (size_t i = 0; i < count; ++i) put(tokens[i]);
  return Status::kOk;
}

Status Encoder::encode_long_word(Word word) {
  auto result = SearchResult::kNoSpace;
  size_t count = 0;
  if (count_ < tokens_.size()) {
    result = search_word(tokenizer_, word, tokens_.subspan(count_), &count);
  }
  if (result == SearchResult::kInconsistent) {
    return fail(error_, Status::kModelCorrupt, "tokenizer: sorted_tokens does not agree with merges");
  }
  count_ += result == SearchResult::kFound ? count : word.size();
  return Status::kOk;
}

Status Encoder::check_bytes(Word word) {
  const auto lacks_token = [this](char byte) { return tokenizer_.byte_tokens[static_cast<uint8_t>(byte)] == kNoToken; };
  const auto bad = std::find_if(word.bytes.begin(), word.bytes.end(), lacks_token);
  const bool bad_space = word.space_before && lacks_token(' ');
  if (bad == word.bytes.end() && !bad_space) return Status::kOk;
  const char* at = word.bytes.data() + (bad_space ? 0 : bad - word.bytes.begin());
  const auto byte = static_cast<uint8_t>(bad_space ? ' ' : *at);
  return fail_at(error_, Status::kInvalidArgument, static_cast<uint64_t>(at - text_.data()),
                 "the vocabulary has no token for byte ", byte);
}

}  // namespace

Status encode(const TokenizerView& tokenizer, std::span<const char> text, EncodeOptions options,
              std::span<int32_t> tokens, size_t* count, Error* error) {
  const size_t invalid = find_invalid_utf8(text);
  if (invalid != text.size()) {
    return fail_at(error, Status::kTextInvalid, invalid, "the text is not UTF-8");
  }
  Encoder encoder(tokenizer, text, tokens, error);
  const AddedTokenFinder finder(tokenizer, options.parse_special);
  for (size_t start = 0; start < text.size();) {
    const AddedTokenFinder::Match match = finder.find(text, start);
    SOTTO_TRY(encoder.encode_segment(start, match.start));
    start = match.start;
    if (match.token == kNoToken) break;
    encoder.put(match.token);
    start += tokenizer.bytes_of(match.token).size();
  }
  *count = encoder.count();
  if (*count <= tokens.size()) return Status::kOk;
  return fail(error, Status::kBufferTooSmall, "the text has more tokens than the buffer can hold");
}

}  // namespace sotto
