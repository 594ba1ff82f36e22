// The working set of the sampling chain: the tokens still in play and their logits, in
// order of id, so that the lowest index is the lowest id everywhere.
//
// At first the set is the caller's whole array, unread and uncopied; a stage that changes
// logits or drops tokens moves it into the sampler's own memory.
//
// A share is a probability relative to the largest, exp((l - max) / T). Shares are summed
// exactly, as integers (weight_of in kernels/math.h), so that no sum depends on an order.
// NaN counts as -infinity: its share is 0.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/kernels.h"
#include "kernels/math.h"
#include "runtime/base/arena.h"
#include "runtime/base/scalar_math.h"
#include "runtime/base/token_mask.h"
#include "runtime/sampling/sampler_params.h"

namespace sotto {

inline constexpr size_t kMaxVocabularySize = size_t{1} << 22;  // keeps sums below 2^63

// Sorts as (descending logit, ascending index) and holds the index in its low half.
// NaN sorts as -infinity, -0 as 0.
inline uint64_t sort_key(float logit, size_t index) {
  const float value = logit != logit ? -std::numeric_limits<float>::infinity() : logit + 0.0f;
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t positive = (bits >> 31) - 1;  // all ones
  const uint32_t descending = bits ^ (positive & 0x7fffffff);
  return uint64_t{descending} << 32 | static_cast<uint32_t>(index);
}

inline size_t key_index(uint64_t key) { return static_cast<uint32_t>(key); }

// (max - l) / T by index; NaN of NaN. For loops that are to be vectorized.
struct Gaps {
  const float* logits;
  float max;
  float inverse_temperature;

  float operator()(size_t index) const {
    const float l = logits[index];
    return zero_unless(!(l >= max), (max - l) * inverse_temperature);
  }
};

class Candidates {
 public:
  static constexpr float kLowest = -std::numeric_limits<float>::infinity();
  static constexpr size_t kBlock = 128;     // tokens under one maximum
  static constexpr size_t kChunk = 1024;    // tokens under one sum of weights
  static constexpr size_t kBuckets = 1024;  // slices of an order

  // Lays the working memory out; over a measuring arena it only adds up.
  void place(size_t vocabulary_size, Arena& arena);

  // Begins a token: all that the mask allows, at temperature 1.
  void begin(const Kernels& kernels, std::span<const float> logits, const TokenMask& mask);

  const Kernels& kernels() const { return *kernels_; }
  size_t vocabulary_size() const { return vocabulary_size_; }
  size_t count() const { return count_; }
  int32_t id(size_t index) const { return ids_ == nullptr ? static_cast<int32_t>(index) : ids_[index]; }
  // Before any division by a temperature that is not yet done: see divide_by.
  float logit(size_t index) const { return logits_[index]; }
  const float* logits() const { return logits_; }
  const int32_t* ids() const { return ids_; }  // null: the identity
  float max();
  size_t argmax() const;  // index

  // The index of a token, or count() if it is not in the set. Any number may be asked for.
  size_t find(int32_t token) const;
  // Changes the logit of a token, if it is in the set, by `change(float) -> float`.
  template <typename Change>
  void change(int32_t token, Change change);
  // The logits, to be written; whoever divided them before sees the quotients.
  std::span<float> edit();
  // Has `function` change the logits of the whole vocabulary; those of tokens that are not
  // in the set are -infinity and do not come back. NaN becomes -infinity.
  void rewrite(LogitsFunction function, void* user_data);
  // Keeps those of `tokens` (ascending, none twice) that are in the set; all if none is.
  // True if one is.
  bool keep_tokens(std::span<const int32_t> tokens);

  // Divides logits by T > 0. Lazily: they are kept as they are, and only probabilities see
  // it, until a stage changes logits.
  void divide_by(float temperature);
  float inverse_temperature() const { return inverse_temperature_; }

  // The shares of all, until the set or the temperature changes. max() is not kLowest.
  const float* shares();
  // The same; the sum of the weights, which most draws need, takes another look at them.
  const float* shares_alone();
  // To be written over; whoever asks for them later has them computed anew.
  float* take_shares();
  // The sum of their weights.
  uint64_t total_weight();
  double total() { return static_cast<double>(total_weight()) * 0x1p-40; }
  // The first index at which the sum of the weights, in order of id, exceeds `target`;
  // target < total_weight().
  size_t find_cumulative(uint64_t target);
  // The same for `random` / 2^64 of the whole.
  size_t draw(uint64_t random);
  // Lets the next truncation leave the set as it is if that saves time: draw() looks only at
  // what it would have kept. Nothing but draw() may follow it, and id() and log_probability()
  // of what that draws.
  void draw_after_truncation() { draws_next_ = true; }
  // Room for a number a token, until the next call that collects keys.
  std::span<uint64_t> scratch() { return {keys_, count_}; }
  Gaps gaps();
  // H = -sum p ln p = ln total + sum p gap.
  double entropy();
  // ln p = (l - max) / T - ln total; -infinity of -infinity.
  double log_probability(size_t index);

  // A logit that at least `k` tokens reach, found without looking at every token; kLowest
  // if it would take that.
  float reached_by(size_t k);
  // Sort keys of the tokens whose logit is at least `floor`, in order of id. The array
  // holds until the next call and may be permuted.
  std::span<uint64_t> collect_keys(float floor);
  // The same of the tokens up to `key` in the sorted order.
  std::span<uint64_t> collect_up_to(uint64_t key);
  // How many tokens have at least `ceiling`, and how many others at least `floor`, whose
  // indices it leaves in indices(), in order, until the next call that collects.
  static constexpr float kNoCeiling = std::numeric_limits<float>::quiet_NaN();
  struct Counts {
    size_t above;
    size_t between;
  };
  Counts count_between(float floor, float ceiling);
  // The keys of the first `count` indices there.
  std::span<uint64_t> keys_of_indices(size_t count);

  // Truncations. At least one token must stay.
  void keep(std::span<uint64_t> keys);  // these; permutes them
  void keep_up_to(uint64_t key);        // a prefix of the sorted order
  void keep_from_logit(float floor);    // NaN goes too
  void keep_from_share(float least);
  void keep_before(uint64_t key);       // the same without the last; its logit is not kLowest
  void drop(std::span<uint64_t> keys);  // all but these; permutes them
  // The tokens of at least `floor` before index `end`, of more from there, by other numbers
  // than logits: numbers(first, count) -> const float*, of up to kChunk tokens.
  template <typename Numbers>
  void keep_by(Numbers numbers, float floor, size_t end);
  // The same by numbers that stay where they are until the draw, if only that follows and the
  // likeliest stays, to which shares relate; else false. `likeliest`: its number.
  bool leave_to_draw(const float* numbers, float floor, size_t end, float likeliest);

  // For the stages: room for anything until the next call of a member.
  uint64_t* keys() { return keys_; }  // (vocabulary)
  // (vocabulary), in the upper half of that place: keys may be written over them in order.
  int32_t* indices() { return reinterpret_cast<int32_t*>(keys_) + vocabulary_size_; }
  float* whole() { return reinterpret_cast<float*>(keys_); }  // (vocabulary), in their place
  // (vocabulary), or null if the logits are the sampler's own; may be the numbers to keep by.
  float* unused_own() { return logits_ == own_logits_ ? nullptr : own_logits_; }
  uint64_t* bucket_sums() { return bucket_sums_; }  // (kBuckets)
  float* chunk() { return chunk_; }                 // (kChunk)

 private:
  // Tokens stay that have at least `floor` before index `end`, more from there.
  struct Cut {
    const float* numbers;  // (count); null: there is none
    float floor;
    size_t end;
  };

  void own_logits();
  void changed();
  Split collect_part(float floor, float ceiling, size_t begin, size_t end, size_t collected);
  bool leaves_to_draw(float least_share);
  double estimate_total() const;
  void weigh(const Cut& cut);
  bool stays(size_t index) const;
  void kept_in_own(size_t count);
  const float* block_maxima();
  void keep_logits(size_t border, size_t end);
  size_t keep_part(const float* numbers, float floor, size_t first, size_t count, size_t kept);

  const Kernels* kernels_ = nullptr;
  size_t vocabulary_size_ = 0;
  // The set.
  size_t count_ = 0;
  const float* logits_ = nullptr;
  const int32_t* ids_ = nullptr;  // null: the identity
  float inverse_temperature_ = 1.0f;
  // What is known of it.
  float max_ = kLowest;
  bool has_max_ = false;
  bool has_block_maxima_ = false;
  bool has_shares_ = false;
  bool has_weights_ = false;  // of these
  uint64_t total_weight_ = 0;
  bool draws_next_ = false;
  Cut cut_ = {};
  // Working memory.
  float* own_logits_ = nullptr;        // (vocabulary)
  int32_t* own_ids_ = nullptr;         // (vocabulary)
  float* shares_ = nullptr;            // (vocabulary)
  uint64_t* keys_ = nullptr;           // (vocabulary)
  float* block_maxima_ = nullptr;      // (block), twice: the second half is for selection
  uint64_t* chunk_weights_ = nullptr;  // (chunk), valid with total_weight_
  float* chunk_ = nullptr;             // (kChunk)
  uint64_t* bucket_sums_ = nullptr;    // (kBuckets)
};

template <typename Change>
void Candidates::change(int32_t token, Change change) {
  const size_t index = find(token);
  if (index == count_) return;
  own_logits();
  own_logits_[index] = change(own_logits_[index]);
  changed();
}

template <typename Numbers>
void Candidates::keep_by(Numbers numbers, float floor, size_t end) {
  size_t kept_count = 0;
  for (size_t first = 0; first < count_; first += kChunk) {
    const size_t count = count_ - first < kChunk ? count_ - first : kChunk;
    const float* n = numbers(first, count);
    const size_t reaching = end <= first ? 0 : end - first < count ? end - first : count;
    kept_count = keep_part(n, floor, first, reaching, kept_count);
    // Floats have no gaps but these: what is more than floor is at least the next one.
    if (reaching < count && floor < std::numeric_limits<float>::infinity()) {
      const float above = next_above(floor);
      kept_count = keep_part(n + reaching, above, first + reaching, count - reaching, kept_count);
    }
  }
  kept_in_own(kept_count);
}

}  // namespace sotto
