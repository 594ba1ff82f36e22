// The tokens with which beams may continue: their order, bounded lists of the best, and phrases that have to appear.
//
// Phrases use dynamic beam allocation (Post and Vilar 2018, "Fast Lexically Constrained Decoding with Dynamic Beam
// Allocation for Neural Machine Translation"): candidates are put into banks by the number of phrase tokens that their
// sequence has, and the beams are distributed evenly over the banks.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/generated/params.h"

namespace sotto {

struct BeamCandidate {
  double key = 0;              // the rank of candidates: the score, plus noise in beam sampling
  double score = 0;            // score of the sequence with this token
  double log_probability = 0;  // ln p of the same sequence
  int32_t token = 0;
  uint32_t beam = 0;  // index of the running sequence
  uint32_t bank = 0;  // number of phrase tokens that the sequence has
};

// Orders candidates, best first. Ties go to the lowest token, then to the lowest beam.
inline bool is_better(const BeamCandidate& a, const BeamCandidate& b) {
  if (a.key != b.key) return a.key > b.key;
  if (a.token != b.token) return a.token < b.token;
  return a.beam < b.beam;
}

// Returns the capacity for candidates that do not end their sequence: twice the beams and, for phrases, the most likely
// token of each beam and the next token of each phrase.
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
  // Returns whether a candidate with this key may enter the list.
  bool takes(double key) const { return !full() || key >= memory_[count_ - 1].key; }

  void insert(const BeamCandidate& candidate) {
    if (full()) {
      if (capacity_ == 0 || !is_better(candidate, memory_[count_ - 1])) return;
      --count_;
    }
    BeamCandidate* place = std::upper_bound(memory_, memory_ + count_, candidate, is_better);
    std::move_backward(place, memory_ + count_, memory_ + count_ + 1);
    *place = candidate;
    ++count_;
  }

 private:
  BeamCandidate* memory_ = nullptr;
  size_t capacity_ = 0;
  size_t count_ = 0;
};

// The phrases of a sequence that have appeared or begun.
struct PhraseState {
  uint32_t met = 0;  // bit i is set if group i has appeared
  std::array<uint32_t, SearchParams::kMaxPhraseCount> progress =
      {};  // number of tokens of each phrase at the end of the sequence
};

// Phrases that have to appear in a continuation.
class Phrases {
 public:
  Phrases() = default;
  // Phrases with the same number in `groups` are alternatives, of which one has to appear.
  Phrases(std::span<const TokenList> phrases, const uint32_t* groups);

  bool empty() const { return phrases_.empty(); }
  // Returns the number of phrase tokens that the sequence has. A group counts its most advanced alternative, but at
  // most the length of its shortest one.
  uint32_t bank(const PhraseState& state) const;
  bool all_met(const PhraseState& state) const { return state.met == all_; }

  // Returns the state after `token` follows `tokens`.
  PhraseState advance(const PhraseState& state, std::span<const int32_t> tokens, int32_t token) const;

  // Finds the next tokens of the missing phrases, possibly with duplicates. Returns their number.
  size_t next_tokens(const PhraseState& state, std::array<int32_t, SearchParams::kMaxPhraseCount>* tokens) const;

 private:
  bool is_missing(const PhraseState& state, size_t phrase) const { return (state.met >> group_of_[phrase] & 1) == 0; }

  std::span<const TokenList> phrases_;
  std::array<uint8_t, SearchParams::kMaxPhraseCount> group_of_ = {};
  std::array<uint32_t, SearchParams::kMaxPhraseCount> shortest_ = {};  // (group)
  size_t group_count_ = 0;
  uint32_t all_ = 0;
};

// Moves `wanted` candidates to the front, best first: the same number from each bank, and the remainder from the
// fullest banks. Returns the number of chosen candidates.
size_t allocate_banks(std::span<BeamCandidate> candidates, size_t wanted);

}  // namespace sotto
