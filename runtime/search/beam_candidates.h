// The candidates of beam search: their order, bounded lists of the best ones, and phrases that must appear in the
// result. A candidate is a token that may continue a beam.
//
// Phrases use dynamic beam allocation (Post and Vilar 2018, "Fast Lexically Constrained Decoding with Dynamic Beam
// Allocation for Neural Machine Translation"). Candidates that have begun a phrase would lose against those that have
// not. The beams are therefore distributed evenly over banks: a bank is the set of candidates with the same number of
// phrase tokens in their sequences.
//
// Example: with the phrase "New York" (two tokens), bank 0 has the candidates without "New", bank 1 those that end with
// "New", and bank 2 those that contain "New York". Three beams are one per bank.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/generated/params.h"

namespace sotto {

// A token that may continue a beam.
struct BeamCandidate {
  double key = 0;              // order of the candidates: the score, plus noise in stochastic beam search
  double score = 0;            // score of the sequence including this token
  double log_probability = 0;  // ln p of the sequence including this token
  int32_t token = 0;
  uint32_t beam = 0;  // index of the running sequence that the token continues
  uint32_t bank = 0;  // number of phrase tokens in the sequence
};

// Orders candidates, best first. Ties go to the lowest token, then to the lowest beam.
inline bool is_better(const BeamCandidate& a, const BeamCandidate& b) {
  if (a.key != b.key) return a.key > b.key;
  if (a.token != b.token) return a.token < b.token;
  return a.beam < b.beam;
}

// Returns the capacity for candidates that do not end their sequence: twice the number of beams. Phrases add the most
// likely token of each beam and the next token of each phrase.
constexpr size_t continuing_capacity(size_t sequence_count) {
  return sequence_count * (2 + 1 + SearchParams::kMaxPhraseCount);
}

// A bounded list of the best candidates, best first.
class BestList {
 public:
  BestList() = default;
  BestList(BeamCandidate* memory, size_t capacity) : memory_(memory), capacity_(capacity) {}

  void clear() { count_ = 0; }
  bool full() const { return count_ == capacity_; }
  std::span<BeamCandidate> view() { return {memory_, count_}; }
  // Returns whether a candidate with this key would enter the list.
  bool takes(double key) const { return !full() || key >= memory_[count_ - 1].key; }

  void insert(const BeamCandidate& candidate) {
    if (full()) {
      if (capacity_ == 0 || !is_better(candidate, memory_[count_ - 1])) return;
      --count_;
    }
    BeamCandidate* at = std::upper_bound(memory_, memory_ + count_, candidate, is_better);
    std::move_backward(at, memory_ + count_, memory_ + count_ + 1);
    *at = candidate;
    ++count_;
  }

 private:
  BeamCandidate* memory_ = nullptr;
  size_t capacity_ = 0;
  size_t count_ = 0;
};

// The progress of a sequence in its phrases.
struct PhraseState {
  uint32_t satisfied = 0;  // bit i is set if group i is complete
  // Number of tokens of each phrase with which the sequence ends.
  std::array<uint32_t, SearchParams::kMaxPhraseCount> progress = {};
};

// The phrases that a continuation must contain.
class Phrases {
 public:
  Phrases() = default;
  // Phrases with the same number in `groups` are alternatives: one of them must appear.
  Phrases(std::span<const TokenList> phrases, const uint32_t* groups);

  bool empty() const { return phrases_.empty(); }
  // Returns the number of phrase tokens in a sequence. A group counts the tokens of its most advanced alternative, but
  // no more than its shortest alternative has.
  uint32_t bank(const PhraseState& state) const;
  bool all_satisfied(const PhraseState& state) const { return state.satisfied == all_; }

  // Returns the state after `token` follows `tokens`.
  PhraseState advance(const PhraseState& state, std::span<const int32_t> tokens, int32_t token) const;

  // Finds the next tokens of the incomplete phrases and returns their number. A token may occur several times.
  size_t next_tokens(const PhraseState& state, std::array<int32_t, SearchParams::kMaxPhraseCount>* tokens) const;

 private:
  bool is_missing(const PhraseState& state, size_t phrase) const {
    return (state.satisfied >> group_of_[phrase] & 1) == 0;
  }

  std::span<const TokenList> phrases_;
  std::array<uint8_t, SearchParams::kMaxPhraseCount> group_of_ = {};
  std::array<uint32_t, SearchParams::kMaxPhraseCount> shortest_ = {};  // (group)
  size_t group_count_ = 0;
  uint32_t all_ = 0;
};

// Moves the `wanted` best candidates to the front, best first, with the same number from each bank and the remainder
// from the fullest banks. Returns their number; it is smaller if there are fewer candidates.
size_t allocate_banks(std::span<BeamCandidate> candidates, size_t wanted);

}  // namespace sotto
