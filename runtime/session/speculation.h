// Speculative decoding: which tokens a session evaluates ahead, and what came of it.
//
// Random numbers are counted by place, and a batch of rows has the bits of its rows one by one.
// So the session draws each token from its own row of logits exactly as it would without
// drafts; a draft that equals what is drawn has only saved an evaluation. Nothing else can
// differ: neither text nor probabilities, in any mode. For a draft that is always d this
// accepts with probability p(d), which is the min(1, p/q) of Leviathan et al. 2023 (q(d) = 1);
// a drafting session draws with the same random numbers as its target, a coupling that
// accepts at least as often as its own distribution and the target's let independent draws.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/status.h"
#include "runtime/sampling/sample_input.h"
#include "runtime/session/draft_pace.h"
#include "runtime/session/draft_pool.h"
#include "runtime/transformer/kv_sequence.h"

namespace sotto {

class Session;

// Numbered as SOTTO_DRAFT_: bits of SpeculationParams::sources.
inline constexpr uint32_t kDraftLookup = 1;
inline constexpr uint32_t kDraftSession = 2;
inline constexpr uint32_t kDraftEarlyExit = 4;
inline constexpr uint32_t kDraftLookahead = 8;
inline constexpr uint32_t kDraftCallback = 16;
inline constexpr uint32_t kAllDrafts = 31;

// As sotto_draft_fn.
using DraftFunction = size_t (*)(void* user_data, const int32_t* tokens, size_t token_count, const float* hidden,
                                 size_t hidden_count, int32_t* drafts, size_t capacity);

// As sotto_speculation_params.
struct SpeculationParams {
  uint32_t sources = kDraftLookup;
  uint32_t draft_tokens = 0;
  uint32_t min_match = 2;
  uint32_t max_match = 8;
  uint32_t exit_layer = 0;
  float draft_threshold = 0;
  Session* draft_session = nullptr;
  DraftFunction draft = nullptr;
  void* user_data = nullptr;
};

// As sotto_speculation_info.
struct SpeculationInfo {
  uint64_t batch_count = 0;
  uint64_t proposed_count = 0;
  uint64_t accepted_count = 0;
  uint64_t forced_proposed_count = 0;
  uint64_t forced_accepted_count = 0;
  uint64_t draft_ns = 0;
};

// A session's memory for drafts, and how they fared.
class Speculation {
 public:
  // Kinds of drafts that succeed differently: what a lookup found by how many tokens, ...
  enum Kind { kShortMatch, kMatch, kLongMatch, kSession, kEarlyExit, kLookahead, kCallback, kKindCount };

  void place(uint32_t context_tokens, uint32_t draft_tokens, Arena* arena);

  // Takes the parameters and forgets what was learned. They have been checked.
  void set(const SpeculationParams& params);
  const SpeculationParams& params() const { return params_; }
  SpeculationParams& params() { return params_; }
  SpeculationInfo info;
  std::array<DraftPace, kKindCount> paces;
  DraftPool pool;
  // Of the places behind the next token, by rows whose drafts did not come.
  std::array<int32_t, KvSequence::kMaxDraftTokens> guesses = {};
  size_t guess_count = 0;
  SamplerState state;  // after the drafts, if they come

  // Begins a proposal behind a text, of at most context_tokens.
  void begin(const TokenHistory& text, const SamplerState& sampler);
  void add(int32_t draft) { text_[text_count_++] = draft; }
  void drop_from(size_t index) { text_count_ = known_count_ + index; }
  // The text with the drafts behind it; room for KvSequence::kMaxDraftTokens.
  std::span<const int32_t> text() const { return {text_, text_count_}; }
  std::span<const int32_t> drafts() const { return text().subspan(known_count_); }
  std::span<int32_t> rest() { return {text_ + text_count_, room_end_ - text_count_}; }
  void take_rest(size_t count) { text_count_ += count; }

  // The drafts go into a batch; the first `forced` were forced, the others of a kind.
  void open_batch(size_t forced, Kind kind);
  void accept_one();
  // The batch is done; `refused`: another token came than the next draft.
  void close_batch(bool refused);

 private:
  SpeculationParams params_ = {0};
  int32_t* text_ = nullptr;  // (context_tokens + KvSequence::kMaxDraftTokens)
  size_t known_count_ = 0;
  size_t text_count_ = 0;
  size_t room_end_ = 0;

  size_t batch_count_ = 0;  // drafts of the open batch; 0: none
  size_t batch_forced_ = 0;
  size_t batch_accepted_ = 0;
  Kind batch_kind_ = kShortMatch;
};

}  // namespace sotto
