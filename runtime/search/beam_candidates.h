// Ways to go on that beams compete with, and bounded lists of the best of them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/search/search_params.h"

namespace sotto {

struct BeamCandidate {
  double key = 0;              // what candidates are ranked by: the score, but where drawn
  double score = 0;            // of the sequence with this token
  double log_probability = 0;  // of the same
  int32_t token = 0;
  uint32_t beam = 0;  // index of the running sequence
  uint32_t bank = 0;  // tokens of phrases that the sequence has
};

// Ties go to the lowest token, then to the lowest beam.
inline bool is_better(const BeamCandidate& a, const BeamCandidate& b) {
  if (a.key != b.key) return a.key > b.key;
  if (a.token != b.token) return a.token < b.token;
  return a.beam < b.beam;
}

// Candidates kept of those that go on: twice the beams, and with phrases for each beam the
// likeliest token and those that bring a phrase further.
constexpr size_t going_capacity(size_t sequence_count) { return sequence_count * (2 + 1 + kMaxPhrases); }

// The best candidates, best first.
class BestList {
 public:
  BestList() = default;
  BestList(BeamCandidate* memory, size_t capacity) : memory_(memory), capacity_(capacity) {}

  void clear() { count_ = 0; }
  bool full() const { return count_ == capacity_; }
  std::span<BeamCandidate> view() { return {memory_, count_}; }
  // Whether a candidate with this key may still come in.
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

}  // namespace sotto
