#include "runtime/text/tokenizer.h"

#include <algorithm>

#include "runtime/base/utf8.h"
#include "runtime/text/added_tokens.h"
#include "runtime/text/bpe.h"
#include "runtime/text/pre_tokenizer.h"

namespace sotto {
namespace {

class Encoder {
 public:
  Encoder(const TokenizerView& tokenizer, std::span<const char> text, std::span<int32_t> tokens, Error* error)
      : tokenizer_(tokenizer), text_(text), tokens_(tokens), error_(error) {}

  Status encode_segment(size_t start, size_t end);
  void put(uint32_t token) {
    if (count_ < tokens_.size()) tokens_[count_] = static_cast<int32_t>(token);
    ++count_;
  }

  // Returns the number of tokens so far. If it exceeds tokens.size(), a buffer of that size suffices for the text so
  // far.
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

// Encodes text between added tokens.
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
