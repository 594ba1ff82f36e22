#include "runtime/text/tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/bits.h"
#include "runtime/base/utf8.h"
#include "runtime/model/tokenizer_view.h"
#include "runtime/text/bpe.h"
#include "runtime/text/normalizer.h"
#include "runtime/text/pre_tokenizer.h"
#include "runtime/text/splitter.h"
#include "runtime/text/unigram.h"

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
      set_bit(single_, first);
    } else {
      set_bit(pairs_, pair_bit(first, static_cast<uint8_t>(bytes[1])));
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
  if (has_bit(single_, first)) return true;
  if (at + 1 == text.size()) return false;
  return has_bit(pairs_, pair_bit(first, static_cast<uint8_t>(text[at + 1])));
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

  // Encodes text between added tokens.
  Status encode_segment(size_t start, size_t end);
  void put(uint32_t token) {
    if (count_ < tokens_.size()) tokens_[count_] = static_cast<int32_t>(token);
    ++count_;
  }

  // Returns the number of tokens so far. If it exceeds tokens.size(), a buffer with that many elements would have
  // sufficed.
  size_t count() const { return count_; }

 private:
  Status normalize_segment(std::span<const char> segment, const NormalizedSize& normalized);
  Status encode_text(std::span<const char> text);
  bool needs_prefix(std::span<const char> text) const;
  Status encode_gpt2_words(const Word& segment);
  Status split(std::span<const uint32_t> steps, const Word& word, bool is_bare);
  Status encode_piece(Word word, bool is_bare);
  Status encode_bytes(const Word& word);
  Status encode_characters(const Word& word);
  Status merge_units(const Word& word, uint32_t* tokens, size_t count);
  Status encode_long_word(const Word& word);
  Status encode_unigram(const Word& word);
  Status encode_word_piece(const Word& word);
  Status check_bytes(const Word& word);
  void put_known(uint32_t token) {
    put(token);
    after_unknown_ = false;
  }
  Status put_unknown(const Word& part);
  uint64_t offset_of(const char* at) const;
  size_t capacity_left() const { return tokens_.size() - std::min(count_, tokens_.size()); }

  const TokenizerView& tokenizer_;
  std::span<const char> text_;
  std::span<int32_t> tokens_;
  Error* error_;
  size_t count_ = 0;
  size_t segment_start_ = 0;
  bool after_unknown_ = false;  // true if the newest token of the word is the unknown token
};

Status Encoder::encode_segment(size_t start, size_t end) {
  segment_start_ = start;
  const auto segment = text_.subspan(start, end - start);
  const NormalizedSize normalized = measure_normalized(tokenizer_.normalizer, segment);
  return normalized.is_changed ? normalize_segment(segment, normalized) : encode_text(segment);
}

// Normalizes and encodes a segment. A long normalized text is stored at the end of the token buffer. The buffer must
// therefore also have elements for the tokens of the text and for the working memory of a long word (one token per
// byte).
Status Encoder::normalize_segment(std::span<const char> segment, const NormalizedSize& normalized) {
  constexpr size_t kLocalSize = 1024;
  const uint64_t size = normalized.size;
  if (size <= kLocalSize) {
    char local[kLocalSize];
    normalize(tokenizer_.normalizer, segment, normalized, local);
    return encode_text({local, static_cast<size_t>(size)});
  }
  const uint64_t text_tokens = (size + sizeof(int32_t) - 1) / sizeof(int32_t);
  const uint64_t needed = text_tokens + size + 2;
  if (needed > capacity_left()) {
    count_ += static_cast<size_t>(needed);
    return Status::kOk;
  }
  auto* text = reinterpret_cast<char*>(tokens_.data() + tokens_.size() - text_tokens);
  normalize(tokenizer_.normalizer, segment, normalized, text);
  return encode_text({text, static_cast<size_t>(size)});
}

Status Encoder::encode_text(std::span<const char> text) {
  if (text.empty()) return Status::kOk;
  const Word segment{text, needs_prefix(text)};
  const bool is_gpt2 = tokenizer_.model == TokenizerModel::kByteBpe && tokenizer_.split_steps.empty();
  return is_gpt2 ? encode_gpt2_words(segment) : split(tokenizer_.split_steps, segment, false);
}

bool Encoder::needs_prefix(std::span<const char> text) const {
  switch (tokenizer_.prefix_space) {
    case PrefixSpace::kNever:
      return false;
    case PrefixSpace::kIfMissing:
      return text[0] != ' ';
    case PrefixSpace::kIfMissingAtStart:
      return segment_start_ == 0 && text[0] != ' ';
    case PrefixSpace::kAlways:
      return true;
  }
  return false;
}

Status Encoder::encode_gpt2_words(const Word& segment) {
  const auto text = segment.bytes;
  size_t at = 0;
  if (segment.space_before) {
    at = word_end_after_space(text);
    SOTTO_TRY(encode_bytes({text.first(at), true}));
  }
  while (at < text.size()) {
    const size_t word_start = at;
    at = word_end(text, word_start);
    SOTTO_TRY(encode_bytes({text.subspan(word_start, at - word_start)}));
  }
  return Status::kOk;
}

// Applies the remaining steps of the pre-tokenizer to a piece of text. The recursion has at most kMaxSplitSteps levels.
Status Encoder::split(std::span<const uint32_t> steps, const Word& word, bool is_bare) {
  if (steps.empty()) return encode_piece(word, is_bare);
  const SplitStep step = read_split_step(&steps);
  const uint32_t flags = step.header.flags;
  FailedSearches failed;
  for (size_t at = 0; at < word.size();) {
    const SplitPiece piece = next_piece(step, word, at, &failed);
    const bool becomes_bare = is_bare || (piece.is_match && (flags & SplitStep::kBareMatches) != 0);
    if ((flags & (piece.is_match ? SplitStep::kKeepMatches : SplitStep::kKeepGaps)) != 0) {
      SOTTO_TRY(split(steps, word.slice(at, piece.end), becomes_bare));
    }
    at = piece.end;
  }
  return Status::kOk;
}

Status Encoder::encode_piece(Word word, bool is_bare) {
  if (!is_bare) {
    word.space_before |= tokenizer_.word_space == WordSpace::kBefore;
    word.space_after |= tokenizer_.word_space == WordSpace::kAfter;
  }
  after_unknown_ = false;
  switch (tokenizer_.model) {
    case TokenizerModel::kByteBpe:
      return encode_bytes(word);
    case TokenizerModel::kCharacterBpe:
      return encode_characters(word);
    case TokenizerModel::kUnigram:
      return encode_unigram(word);
    case TokenizerModel::kWordPiece:
      return encode_word_piece(word);
    case TokenizerModel::kWordLevel:
      break;
  }
  const uint32_t token = find_token(tokenizer_, word);
  if (token == kNoToken) return put_unknown(word);
  put_known(token);
  return Status::kOk;
}

Status Encoder::encode_bytes(const Word& word) {
  SOTTO_TRY(check_bytes(word));
  if (word.size() > kShortWordUnits) return encode_long_word(word);
  uint32_t tokens[kShortWordUnits];
  return merge_units(word, tokens, unit_tokens(tokenizer_, word, tokens));
}

// Encodes a word from its characters. Characters without a token are unknown, and the text between them is merged.
Status Encoder::encode_characters(const Word& word) {
  uint32_t tokens[kShortWordUnits];
  size_t count = 0;  // number of known units before `at`
  size_t start = 0;  // offset of the first of them
  for (size_t at = 0; at < word.size();) {
    const size_t end = at + unit_size(tokenizer_.model, tokenizer_.word_space, word, at);
    const uint32_t token = find_token(tokenizer_, word.slice(at, end));
    if (token != kNoToken) {
      if (count < kShortWordUnits) tokens[count] = token;
      ++count;
    } else {
      if (count > 0) SOTTO_TRY(merge_units(word.slice(start, at), tokens, count));
      SOTTO_TRY(put_unknown(word.slice(at, end)));
      count = 0;
      start = end;
    }
    at = end;
  }
  return count > 0 ? merge_units(word.slice(start, word.size()), tokens, count) : Status::kOk;
}

// Merges the units of a word. `tokens` contains the tokens of all units if there are at most kShortWordUnits.
Status Encoder::merge_units(const Word& word, uint32_t* tokens, size_t count) {
  after_unknown_ = false;
  if (count > kShortWordUnits) return encode_long_word(word);
  count = merge_tokens(tokenizer_, tokens, count);
  for (size_t i = 0; i < count; ++i) put(tokens[i]);
  return Status::kOk;
}

Status Encoder::encode_long_word(const Word& word) {
  auto result = SearchResult::kNoSpace;
  size_t count = 0;
  if (capacity_left() > 0) {
    result = search_word(tokenizer_, word, tokens_.subspan(count_), &count);
  }
  if (result == SearchResult::kInconsistent) {
    return fail(error_, Status::kModelCorrupt, "tokenizer: sorted_tokens does not agree with merges");
  }
  count_ += result == SearchResult::kFound ? count : word.size();
  return Status::kOk;
}

Status Encoder::encode_unigram(const Word& word) {
  uint32_t local[kShortWordUnits];
  std::span<uint32_t> tokens(local);
  if (word.size() > kShortWordUnits) {
    if (capacity_left() < word.size()) {
      count_ += word.size();
      return Status::kOk;
    }
    // The tokens are found in the output buffer itself: each is read before the output reaches it.
    tokens = {reinterpret_cast<uint32_t*>(tokens_.data() + count_), word.size()};
  }
  find_best_tokens(tokenizer_, word, tokens);
  for (size_t at = 0; at < word.size();) {
    const uint32_t token = tokens[at];
    if (token == kNoToken) {
      const size_t end = at + word.character_at(at).size;
      SOTTO_TRY(put_unknown(word.slice(at, end)));
      at = end;
    } else {
      put_known(token);
      at += tokenizer_.bytes_of(token).size();
    }
  }
  return Status::kOk;
}

// WordPiece (Wu et al. 2016, "Google's Neural Machine Translation System"): repeatedly takes the longest token that is
// a prefix of the rest of the word. If there is none, the whole word is unknown.
Status Encoder::encode_word_piece(const Word& word) {
  size_t characters = 0;
  for (size_t at = 0; at < word.bytes.size() && characters <= tokenizer_.max_word_characters; ++characters) {
    at += Word{word.bytes}.character_at(at).size;
  }
  if (characters > tokenizer_.max_word_characters) return put_unknown(word);
  const size_t count = count_;
  for (Word rest = word; rest.size() > 0;) {
    const uint32_t token = longest_token(tokenizer_, tokenizer_.sorted_tokens, rest, rest.size());
    if (token == kNoToken) {
      count_ = count;
      return put_unknown(word);
    }
    put_known(token);
    rest = rest.from(tokenizer_.bytes_of(token).size());
  }
  return Status::kOk;
}

// Returns the offset of a byte in the text, or the offset of its segment if the byte is in normalized text.
uint64_t Encoder::offset_of(const char* at) const {
  const bool is_inside = at >= text_.data() && at <= text_.data() + text_.size();
  return is_inside ? static_cast<uint64_t>(at - text_.data()) : segment_start_;
}

// Encodes text that the vocabulary does not spell: as the tokens of its bytes if it has them, or else as the unknown
// token.
Status Encoder::put_unknown(const Word& part) {
  const auto byte_token = [&](size_t at) { return tokenizer_.byte_tokens[static_cast<uint8_t>(part.at(at))]; };
  bool has_bytes = true;
  for (size_t at = 0; at < part.size() && has_bytes; ++at) has_bytes = byte_token(at) != kNoToken;
  if (has_bytes) {
    for (size_t at = 0; at < part.size(); ++at) put_known(byte_token(at));
    return Status::kOk;
  }
  if (tokenizer_.unknown_token == kNoToken) {
    return fail_at(error_, Status::kInvalidArgument, offset_of(part.bytes.data()),
                   "the vocabulary has no token for this text");
  }
  if (!after_unknown_ || !tokenizer_.fuse_unknown) put(tokenizer_.unknown_token);
  after_unknown_ = true;
  return Status::kOk;
}

Status Encoder::check_bytes(const Word& word) {
  const auto lacks_token = [this](char byte) { return tokenizer_.byte_tokens[static_cast<uint8_t>(byte)] == kNoToken; };
  const auto bad = std::find_if(word.bytes.begin(), word.bytes.end(), lacks_token);
  const bool bad_space = word.space_before && lacks_token(' ');
  if (bad == word.bytes.end() && !bad_space) return Status::kOk;
  const char* at = word.bytes.data() + (bad_space ? 0 : bad - word.bytes.begin());
  const auto byte = static_cast<uint8_t>(bad_space ? ' ' : *at);
  return fail_at(error_, Status::kInvalidArgument, offset_of(at), "the vocabulary has no token for byte ", byte);
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
