// Tokens that have been generated and not yet handed out, because their text may be part of
// a banned string; and the tokens refused at the places where one would have begun.
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/session/log_probabilities.h"
#include "runtime/session/text_stream.h"

namespace sotto {

struct HeldToken {
  int32_t token = 0;
  float log_probability = 0;
  float sampled_log_probability = 0;
  uint32_t alternative_count = 0;
  uint64_t elapsed_ns = 0;
  TextMark mark;  // of the text up to this token's end
  std::array<Alternative, kMaxAlternatives> alternatives;
};

// First in, first out; the newest may be taken back.
class HeldTokens {
 public:
  static constexpr size_t kCapacity = 32;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == kCapacity; }
  const HeldToken& operator[](size_t index) const {
    assert(index < size_);
    return tokens_[(first_ + index) % kCapacity];
  }
  HeldToken& operator[](size_t index) {
    assert(index < size_);
    return tokens_[(first_ + index) % kCapacity];
  }
  HeldToken& push() {
    assert(!full());
    ++size_;
    return (*this)[size_ - 1];
  }
  // The token stays in place until the next push().
  const HeldToken& pop() {
    const HeldToken& oldest = (*this)[0];
    first_ = (first_ + 1) % kCapacity;
    --size_;
    return oldest;
  }
  void keep(size_t count) { size_ = count; }
  void clear() { size_ = 0; }

 private:
  std::array<HeldToken, kCapacity> tokens_;
  size_t first_ = 0;
  size_t size_ = 0;
};

// Tokens refused at places of the stream. What is refused at a place holds only as long as
// the stream before it stays the same.
class RefusedTokens {
 public:
  static constexpr size_t kCapacity = 256;
  // Refusals until a token is handed out, after which there is no way round.
  static constexpr uint32_t kMaxAttempts = 1024;

  struct Refusal {
    uint64_t place;
    int32_t token;
  };

  // False if there are too many. Forgets what was refused further on.
  bool add(uint64_t place, int32_t token) {
    forget_from(place + 1);
    if (count_ == kCapacity || attempts_ == kMaxAttempts) return false;
    ++attempts_;
    refusals_[count_++] = {place, token};
    return true;
  }
  void forget_from(uint64_t place) {
    while (count_ > 0 && refusals_[count_ - 1].place >= place) --count_;
  }
  // The stream is settled before `place`.
  void settle(uint64_t place) {
    attempts_ = 0;
    size_t settled = 0;
    while (settled < count_ && refusals_[settled].place < place) ++settled;
    for (size_t i = settled; i < count_; ++i) refusals_[i - settled] = refusals_[i];
    count_ -= settled;
  }
  void clear() {
    count_ = 0;
    attempts_ = 0;
  }

  uint32_t attempts() const { return attempts_; }
  // As it was when all() and attempts() were asked.
  void restore(std::span<const Refusal> refusals, uint32_t attempts) {
    attempts_ = attempts;
    count_ = refusals.size();
    std::copy(refusals.begin(), refusals.end(), refusals_.begin());
  }

  std::span<const Refusal> all() const { return {refusals_.data(), count_}; }
  // Those at one place; places are in ascending order.
  std::span<const Refusal> at(uint64_t place) const {
    size_t first = count_;
    while (first > 0 && refusals_[first - 1].place >= place) --first;
    size_t end = first;
    while (end < count_ && refusals_[end].place == place) ++end;
    return {refusals_.data() + first, end - first};
  }

 private:
  std::array<Refusal, kCapacity> refusals_;
  size_t count_ = 0;
  uint32_t attempts_ = 0;
};

}  // namespace sotto
