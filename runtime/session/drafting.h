// Speculative decoding (Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding"; Chen et al.
// 2023). Drafts are tokens that may come next. Evaluating them in one batch with the pending token costs little more
// than evaluating that token alone.
//
// A draft is accepted if it equals the token that is drawn in its place anyway, which saves an evaluation. The output
// is therefore exactly the same as without drafts, in every mode, because drafts change nothing that a draw depends on:
// - a row of logits does not depend on the other rows of its batch;
// - a random number does not depend on the evaluations before it (sampling/README.md).
// A draft d is thus accepted with the probability p(d): the paper's min(1, p/q) with q(d) = 1. A drafting session uses
// the random numbers of its client, because drafts are then accepted at least as often as with independent ones.
//
// The sources of drafts are the forced text of a constraint, a callback, earlier text (prompt lookup), another session,
// the first layers of the model, and n-grams of earlier predictions (lookahead decoding). For each kind of draft, a
// DraftPace decides how many drafts are worth their cost.
//
// Example: the pending token is "the", and the drafts are "cat sat on". One batch evaluates all four. The row of "the"
// draws "cat", so the first draft is accepted. The row of "cat", however, draws "lay", so "sat" and "on" are dropped,
// and "lay" becomes the pending token: one evaluation has produced two tokens.
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
#include "runtime/session/draft_sources.h"
#include "runtime/session/output/text_output.h"
#include "runtime/session/token_stream.h"
#include "runtime/transformer/kv_sequence.h"

namespace sotto {

// Adapts the number of drafts per batch to their rate of acceptance. A batch grows as long as the next draft's
// estimated probability of acceptance exceeds its cost. If no draft is worth its cost, DraftPace tries a single draft
// now and then, at longer intervals after each failure.
class DraftPace {
 public:
  void restart();
  // Returns the number of drafts to evaluate, at most `max_length`. `cost` is the cost of one draft as a fraction of
  // the cost of evaluating a single token.
  size_t length(float cost, size_t max_length);
  // Records that the first `accepted` drafts of a batch were accepted. `rejected` says whether the draft after them was
  // rejected.
  void report(size_t accepted, bool rejected);

 private:
  static constexpr float kFirstRate = 0.6f;
  static constexpr uint32_t kFirstPause = 4;

  float rate_ = kFirstRate;       // estimated probability that a draft is accepted if all drafts before it were
  uint32_t pause_ = kFirstPause;  // number of batches between two single drafts
  uint32_t waited_ = 0;           // number of batches since the last single draft
  // True if drafts cost more than they save even if all of them are accepted.
  bool is_too_costly_ = false;
};

// Proposes drafts, evaluates them in one batch with the pending token, and adapts their number after each batch.
class Drafting {
 public:
  Drafting(Decoder& decoder, TokenStream& stream, TextOutput& output, Cancellation& cancellation)
      : decoder_(&decoder), stream_(&stream), output_(&output), cancellation_(&cancellation) {}

  void layout(Arena& arena, uint32_t context_tokens, uint32_t draft_tokens);
  // Requires layout() over real memory. Until set_params() is called, only text that a constraint forces is drafted.
  void init();

  // Validates all parameters except the drafting session itself.
  Status check(const SpeculationParams& params, Error* error) const;
  // Replaces the parameters and resets all estimates. check() must have accepted them. `drafter` is the stream of the
  // drafting session, or null.
  void set_params(const SpeculationParams& params, TokenStream* drafter);
  // Stops using a drafting session before it is destroyed.
  void drop_drafter();

  // Evaluates the pending token together with drafts. Does nothing if an earlier batch has evaluated this token as a
  // draft.
  Status evaluate_ahead();

  const SpeculationInfo& info() const { return info_; }
  void reset_info() { info_ = {}; }

 private:
  // Kinds of drafts, each with its own DraftPace. Prompt lookup has three, by the length of the match.
  enum Kind { kShortMatch, kMatch, kLongMatch, kSession, kEarlyExit, kLookahead, kCallback, kKindCount };

  // The drafts of one batch. The constraint forced the first `forced` of them.
  struct DraftRun {
    size_t count = 0;  // 0 if there are none
    size_t forced = 0;
    size_t accepted = 0;
    Kind kind = kShortMatch;
  };

  // A source of drafts. `draft` adds up to `remaining` drafts. `*kind` begins as the kind of the source; `draft` may
  // replace it.
  struct Source {
    uint32_t bit;
    Kind kind;
    Status (Drafting::*draft)(size_t remaining, Kind* kind);
  };
  static const Source kSources[];

  size_t capacity() const;
  Status propose(DraftRun* run);
  void draft_forced(size_t max_drafts);
  Status draft_by_callback(size_t remaining, Kind* kind);
  Status draft_by_lookup(size_t remaining, Kind* kind);
  Status draft_by_session(size_t remaining, Kind* kind);
  Status draft_by_early_exit(size_t remaining, Kind* kind);
  Status draft_by_lookahead(size_t remaining, Kind* kind);
  bool draft_from(std::span<const float> logits);
  void learn_guesses();
  void drop_disallowed(size_t first);
  void accept_draft();
  void close_batch(bool rejected);

  Decoder* decoder_;
  TokenStream* stream_;
  TextOutput* output_;
  Cancellation* cancellation_;
  TokenStream* drafter_ = nullptr;
  SpeculationParams params_;
  std::array<DraftPace, kKindCount> paces_;
  SpeculationInfo info_ = {};
  DraftPool pool_;
  DraftedTokens tokens_;
  SamplerState sampler_state_;  // sampler state after the drafts
  DraftRun run_;
  // The model's predictions for the tokens after the next one, from the rows of rejected drafts.
  std::array<int32_t, KvSequence::kMaxDraftTokens> guesses_ = {};
  size_t guess_count_ = 0;
};

}  // namespace sotto
