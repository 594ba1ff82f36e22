// Phrases that must appear in a continuation, and how far a sequence has come with them
// (dynamic beam allocation: Post and Vilar 2018).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/search/search_params.h"

namespace sotto {

struct BeamCandidate;

struct PhraseState {
  uint32_t met = 0;                                 // bit i: group i has appeared
  std::array<uint32_t, kMaxPhrases> progress = {};  // (phrase): its tokens at the end
};

class Phrases {
 public:
  Phrases() = default;
  // Phrases with the same number in `groups` are alternatives.
  Phrases(std::span<const TokenList> phrases, const uint32_t* groups);

  bool empty() const { return phrases_.empty(); }
  // Tokens of phrases that the sequence has: of each group those of its most advanced
  // alternative, not counting more than the shortest has.
  uint32_t bank(const PhraseState& state) const;
  bool all_met(const PhraseState& state) const { return state.met == all_; }

  // The state once `token` follows `tokens`.
  PhraseState advance(const PhraseState& state, std::span<const int32_t> tokens, int32_t token) const;

  // The tokens that bring a phrase that is still missing further; the same one may come twice.
  size_t next_tokens(const PhraseState& state, std::array<int32_t, kMaxPhrases>* tokens) const;

 private:
  bool is_missing(const PhraseState& state, size_t phrase) const { return (state.met >> group_of_[phrase] & 1) == 0; }

  std::span<const TokenList> phrases_;
  std::array<uint8_t, kMaxPhrases> group_of_ = {};
  std::array<uint32_t, kMaxPhrases> shortest_ = {};  // (group)
  size_t group_count_ = 0;
  uint32_t all_ = 0;
};

// Chooses `wanted` of the candidates, evenly among the banks that have some, what is left over
// to those with the most tokens. They come first then, best first; returns their number.
size_t allocate_banks(std::span<BeamCandidate> candidates, size_t wanted);

}  // namespace sotto
