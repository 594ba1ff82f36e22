// Speculative decoding (Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding"; Chen et al.
// 2023): tokens that may follow are evaluated in one batch with the pending token, which costs little more than
// evaluating it alone.
//
// Random numbers are counted by place, and a batch of rows has the same bits as its rows one by one. So the session
// draws each token from its own row of logits exactly as it would without drafts, and a draft that equals the drawn
// token has merely saved an evaluation. Neither text nor probabilities can differ, in any mode. A draft d is accepted
// with probability p(d), which is min(1, p/q) of the paper with q(d) = 1. A drafting session draws with the same random
// numbers as its target; this coupling accepts at least as often as independent draws would.
//
// Drafts come from the text that a constraint forces, from a callback, from earlier text (prompt lookup), from another
// session, from the model's first layers, or from n-grams that the model has guessed before (lookahead decoding). A
// pace per kind of draft decides how many are worth their cost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/sampling/sample_input.h"
#include "runtime/session/decoder.h"
#include "runtime/session/text_output.h"
#include "runtime/session/token_stream.h"
#include "runtime/transformer/kv_sequence.h"

namespace sotto {

struct LookupMatch {
  size_t size = 0;  // number of tokens that match, or 0
  size_t next = 0;  // index of the token after them
};

// Prompt lookup (Saxena 2023; Yang et al. 2023, "Inference with Reference"): finds where the text's last tokens
// occurred before, because what followed then is likely to follow again. Returns the latest of the longest matches of
// min_match ... max_match tokens.
LookupMatch find_latest_match(std::span<const int32_t> text, size_t min_match, size_t max_match);

// Decides how many drafts to evaluate: those whose probability of being right exceeds their cost. After failures it
// tries a single draft at growing intervals.
class DraftPace {
 public:
  void restart();
  // Returns how many drafts, at most `most`, are worth `cost` each, which is relative to evaluating one token.
  size_t length(float cost, size_t most);
  // Reports that `accepted` drafts of a batch were accepted. If `rejected` is set, a different token followed them.
  void report(size_t accepted, bool rejected);

 private:
  static constexpr float kFirstRate = 0.6f;
  static constexpr uint32_t kFirstPause = 4;

  float rate_ = kFirstRate;  // estimated probability that a draft is accepted if all earlier ones were
  uint32_t pause_ = kFirstPause;
  uint32_t waited_ = 0;
  bool is_hopeless_ = false;  // whether drafts are not worth their cost even if all are accepted
};

// The pool of n-grams of lookahead decoding (Fu et al. 2024, "Break the Sequential Dependency of LLM Inference Using
// Lookahead Decoding"). It keeps what the model guessed after rejected drafts, until the text reaches that
// place. It is a hash table of fixed size that holds the newest n-gram for each first token.
class DraftPool {
 public:
  static constexpr size_t kMaxTokens = 6;

  // Takes no memory unless the pool is `used`.
  void layout(Arena& arena, bool used);
  void clear();
  // Adds a token and the tokens that follow it.
  void add(std::span<const int32_t> tokens);
  std::span<const int32_t> find(int32_t token) const;

 private:
  static constexpr size_t kEntryCount = 512;
  struct Entry {
    int32_t key;
    uint32_t count;
    int32_t tokens[kMaxTokens];
  };
  static_assert(sizeof(Entry) == 32);

  static size_t index_of(int32_t token) { return (static_cast<uint32_t>(token) * 0x9E3779B1u) >> (32 - 9); }

  Entry* entries_ = nullptr;
};

// The text with the drafts after it.
class DraftText {
 public:
  // Takes no memory unless it is `used`.
  void layout(Arena& arena, uint32_t context_tokens, bool used);
  // Starts with a text of at most context_tokens and without drafts.
  void begin(const TokenHistory& text);

  std::span<const int32_t> text() const { return {tokens_, count_}; }
  std::span<const int32_t> drafts() const { return text().subspan(known_count_); }
  void add(int32_t draft) { tokens_[count_++] = draft; }
  void truncate(size_t draft_count) { count_ = known_count_ + draft_count; }
  // Space for more drafts, for a writer that calls truncate() afterwards.
  std::span<int32_t> space() { return {tokens_ + count_, known_count_ + KvSequence::kMaxDraftTokens - count_}; }

 private:
  int32_t* tokens_ = nullptr;
  size_t known_count_ = 0;
  size_t count_ = 0;
};

class Drafting {
 public:
  void layout(Arena& arena, uint32_t context_tokens, uint32_t draft_tokens);
  // Must follow layout() over real memory. The other objects must outlive this one. There are no drafts until
  // set_params() is called.
  void init(Decoder* decoder, TokenStream* stream, TextOutput* output, Cancellation* cancellation);

  // Validates all parameters except the drafting session itself.
  Status check(const SpeculationParams& params, Error* error) const;
  // Replaces the parameters, which check() has accepted, and resets all estimates. `drafter` is the stream of the
  // drafting session, or null.
  void set_params(const SpeculationParams& params, TokenStream* drafter);
  // Stops drafting with a session that is about to be destroyed.
  void drop_drafter();

  // Evaluates the pending token together with drafts, unless an earlier batch has evaluated it as a draft.
  Status evaluate_ahead();

  const SpeculationInfo& info() const { return info_; }
  void reset_info() { info_ = {}; }

 private:
  // Kinds of drafts with different rates of success. Lookups differ by the number of tokens that match.
  enum Kind { kShortMatch, kMatch, kLongMatch, kSession, kEarlyExit, kLookahead, kCallback, kKindCount };

  // A batch of drafts that has been evaluated. The first `forced` drafts were forced by the constraint.
  struct Batch {
    size_t count = 0;  // 0 if there is none
    size_t forced = 0;
    size_t accepted = 0;
    Kind kind = kShortMatch;
  };

  size_t capacity() const;
  Status propose(Batch* batch);
  void draft_forced(size_t most);
  void draft_by_callback(size_t free);
  void draft_by_lookup(size_t free, Kind* kind);
  Status draft_by_session(size_t free);
  Status draft_by_early_exit(size_t free);
  void draft_by_lookahead(size_t free);
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
  SamplerState sampler_state_;  // state after the drafts
  Batch batch_;
  // The model's guesses for the places after the next token, from rows whose drafts did not come.
  std::array<int32_t, KvSequence::kMaxDraftTokens> guesses_ = {};
  size_t guess_count_ = 0;
};

}  // namespace sotto
