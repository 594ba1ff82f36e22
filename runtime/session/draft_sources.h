// The sources of drafts without a model: prompt lookup copies earlier text, and lookahead decoding keeps a pool of
// n-grams. All sources continue DraftedTokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/hash_index.h"
#include "runtime/sampling/sample_input.h"
#include "runtime/transformer/kv_sequence.h"

namespace sotto {

// An earlier occurrence of the last tokens.
struct LookupMatch {
  size_t size = 0;  // number of tokens that match, or 0
  size_t next = 0;  // index of the token after them
};

// Prompt lookup (Saxena 2023; Yang et al. 2023, "Inference with Reference"): finds an earlier occurrence of the last
// tokens of the text, because the tokens after it are likely to follow again. Returns the longest match of min_match to
// max_match tokens, and the latest among equals. Example, with a token per word: in "the cat sat on the cat", the last
// two tokens match the first two, and `next` is the index of "sat".
LookupMatch find_latest_match(std::span<const int32_t> text, size_t min_match, size_t max_match);

// The n-gram pool of lookahead decoding (Fu et al. 2024, "Break the Sequential Dependency of LLM Inference Using
// Lookahead Decoding"): the model's predictions after rejected drafts. An n-gram is drafted when the text reaches its
// first token. The pool is a hash table of fixed size that keeps the newest n-gram for each first token.
class DraftPool {
 public:
  static constexpr size_t kMaxTokens = 6;  // so that an entry has 32 bytes

  // Reserves nothing if `used` is false.
  void layout(Arena& arena, bool used);
  void clear();
  // Adds a token and the tokens that follow it.
  void add(std::span<const int32_t> tokens);
  std::span<const int32_t> find(int32_t token) const;

 private:
  static constexpr int kIndexBits = 9;
  static constexpr size_t kEntryCount = size_t{1} << kIndexBits;
  // The n-gram that is stored for a first token.
  struct Entry {
    int32_t key;
    uint32_t count;
    int32_t tokens[kMaxTokens];
  };
  static_assert(sizeof(Entry) == 32);

  static size_t index_of(int32_t token) { return fibonacci_hash(static_cast<uint32_t>(token), kIndexBits); }

  Entry* entries_ = nullptr;
};

// A copy of the stream's newest tokens, followed by the drafts.
class DraftedTokens {
 public:
  // Reserves nothing if `used` is false.
  void layout(Arena& arena, uint32_t context_tokens, bool used);
  // Copies at most context_tokens tokens, and drops all drafts.
  void begin(const TokenHistory& tokens);

  std::span<const int32_t> all() const { return {tokens_, count_}; }
  std::span<const int32_t> drafts() const { return all().subspan(known_count_); }
  void add(int32_t draft) { tokens_[count_++] = draft; }
  void truncate(size_t draft_count) { count_ = known_count_ + draft_count; }
  // Returns the free memory after the drafts. The caller writes drafts there and passes their number to truncate().
  std::span<int32_t> space() { return {tokens_ + count_, known_count_ + KvSequence::kMaxDraftTokens - count_}; }

 private:
  int32_t* tokens_ = nullptr;
  size_t known_count_ = 0;
  size_t count_ = 0;
};

}  // namespace sotto
