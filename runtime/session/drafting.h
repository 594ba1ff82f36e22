// Speculative decoding (Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding"; Chen et al.
// 2023). Drafts are tokens that may come next, evaluated in one batch with the pending token, which costs little more
// than evaluating that token alone.
//
// The output is exactly the same as without drafts, in every mode, for two reasons: the result of a row does not depend
// on the other rows of its batch, and random numbers depend only on the place in the stream. So the session draws each
// token from its own row of logits, as it would without drafts, and a draft that equals the drawn token has saved an
// evaluation. A draft d is accepted with probability p(d), which is the paper's min(1, p/q) with q(d) = 1. A drafting
// session uses the random numbers of the session that it drafts for; this coupling accepts at least as often as
// independent draws would.
//
// The sources of drafts are the text that a constraint forces, a callback, earlier text (prompt lookup), another
// session, the first layers of the model, and n-grams that the model has predicted before (lookahead decoding). For
// each kind of draft, a DraftPace decides how many drafts are worth their cost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/hash_index.h"
#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/sampling/sample_input.h"
#include "runtime/session/decoder.h"
#include "runtime/session/output/text_output.h"
#include "runtime/session/token_stream.h"
#include "runtime/transformer/kv_sequence.h"

namespace sotto {

// An earlier occurrence of the last tokens.
struct LookupMatch {
  size_t size = 0;  // number of tokens that match, or 0
  size_t next = 0;  // index of the token after them
};

// Prompt lookup (Saxena 2023; Yang et al. 2023, "Inference with Reference"): finds an earlier occurrence of the last
// tokens of the text, because what followed them then is likely to follow again. Returns the latest of the longest
// matches that have min_match to max_match tokens.
LookupMatch find_latest_match(std::span<const int32_t> text, size_t min_match, size_t max_match);

// Adapts the number of drafts per batch to the rate at which they are accepted. A batch contains the drafts whose
// estimated probability of being accepted exceeds their cost. If no draft is worth its cost, a single draft is tried at
// intervals, which grow after each failure.
class DraftPace {
 public:
  void restart();
  // Returns the number of drafts to evaluate, at most `max_length`. `cost` is the cost of one draft, relative to the
  // evaluation of a single token.
  size_t length(float cost, size_t max_length);
  // Records that the first `accepted` drafts of a batch were accepted. `rejected` is set if the draft after them was
  // not.
  void report(size_t accepted, bool rejected);

 private:
  static constexpr float kFirstRate = 0.6f;
  static constexpr uint32_t kFirstPause = 4;

  float rate_ = kFirstRate;       // estimated probability that a draft is accepted if all drafts before it were
  uint32_t pause_ = kFirstPause;  // number of batches from one single draft to the next
  uint32_t waited_ = 0;           // number of batches since the last single draft
  // true if drafts do not pay even if all of them are accepted
  bool is_too_costly_ = false;
};

// The n-gram pool of lookahead decoding (Fu et al. 2024, "Break the Sequential Dependency of LLM Inference Using
// Lookahead Decoding"): what the model predicted after rejected drafts. An n-gram is drafted when the text reaches its
// first token. The pool is a hash table of fixed size that keeps the newest n-gram per first token.
class DraftPool {
 public:
  static constexpr size_t kMaxTokens = 6;

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

// A copy of the stream's text, followed by the drafts.
class DraftText {
 public:
  // Reserves nothing if `used` is false.
  void layout(Arena& arena, uint32_t context_tokens, bool used);
  // Starts with a text of at most context_tokens tokens and no drafts.
  void begin(const TokenHistory& text);

  std::span<const int32_t> text() const { return {tokens_, count_}; }
  std::span<const int32_t> drafts() const { return text().subspan(known_count_); }
  void add(int32_t draft) { tokens_[count_++] = draft; }
  void truncate(size_t draft_count) { count_ = known_count_ + draft_count; }
  // Returns the free memory after the drafts. The caller writes drafts to it and then calls truncate() with their
  // number.
  std::span<int32_t> space() { return {tokens_ + count_, known_count_ + KvSequence::kMaxDraftTokens - count_}; }

 private:
  int32_t* tokens_ = nullptr;
  size_t known_count_ = 0;
  size_t count_ = 0;
};

// Proposes drafts, evaluates them in one batch with the pending token, and learns from each batch how many to propose.
class Drafting {
 public:
  void layout(Arena& arena, uint32_t context_tokens, uint32_t draft_tokens);
  // Requires layout() over real memory. The other objects must outlive this one. Nothing is drafted until set_params()
  // is called.
  void init(Decoder* decoder, TokenStream* stream, TextOutput* output, Cancellation* cancellation);

  // Validates all parameters except the drafting session itself.
  Status check(const SpeculationParams& params, Error* error) const;
  // Replaces the parameters, which check() must have accepted, and resets all estimates. `drafter` is the stream of the
  // drafting session, or null.
  void set_params(const SpeculationParams& params, TokenStream* drafter);
  // Stops using a drafting session, which is about to be destroyed.
  void drop_drafter();

  // Evaluates the pending token together with drafts. Does nothing if an earlier batch has evaluated this token as a
  // draft.
  Status evaluate_ahead();

  const SpeculationInfo& info() const { return info_; }
  void reset_info() { info_ = {}; }

 private:
  // Kinds of drafts, each with its own DraftPace. Prompt lookup has three, by the length of the match.
  enum Kind { kShortMatch, kMatch, kLongMatch, kSession, kEarlyExit, kLookahead, kCallback, kKindCount };

  // An evaluated batch of drafts, of which the constraint forced the first `forced`.
  struct Batch {
    size_t count = 0;  // 0 if no batch is open
    size_t forced = 0;
    size_t accepted = 0;
    Kind kind = kShortMatch;
  };

  size_t capacity() const;
  Status propose(Batch* batch);
  void draft_forced(size_t max_drafts);
  void draft_by_callback(size_t remaining);
  void draft_by_lookup(size_t remaining, Kind* kind);
  Status draft_by_session(size_t remaining);
  Status draft_by_early_exit(size_t remaining);
  void draft_by_lookahead(size_t remaining);
  bool draft_from(std::span<const float> logits);
  void learn_guesses();
  void drop_disallowed(size_t first);
  void accept_draft();
  void close_batch(bool rejected);

  Decoder* decoder_ = nullptr;
  TokenStream* stream_ = nullptr;
  TextOutput* output_ = nullptr;
  Cancellation* cancellation_ = nullptr;
  TokenStream* drafter_ = nullptr;
  SpeculationParams params_;
  std::array<DraftPace, kKindCount> paces_;
  SpeculationInfo info_ = {};
  DraftPool pool_;
  DraftText text_;
  SamplerState sampler_state_;  // sampler state after the drafts
  Batch batch_;
  // The model's predictions for the tokens after the next one, taken from rows whose drafts were rejected.
  std::array<int32_t, KvSequence::kMaxDraftTokens> guesses_ = {};
  size_t guess_count_ = 0;
};

}  // namespace sotto
