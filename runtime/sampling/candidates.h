// The working set of the sampling chain: the tokens still in play and their logits, in
// order of id, so that the lowest index is the lowest id everywhere.
//
// At first the set is the caller's whole array, unread and uncopied; a stage that changes
// logits or drops tokens moves it into the sampler's own memory.
//
// Probabilities are summed exactly, as integers, so that no sum depends on an order:
// a token's relative probability exp((l - max) / T) is rounded to a multiple of
// 2^-kWeightBits and that is its weight. NaN counts as -infinity: the weight is 0.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "kernels/kernels.h"
#include "runtime/base/arena.h"
#include "runtime/base/token_mask.h"
#include "runtime/sampling/sampler_params.h"

namespace sotto {

inline constexpr int kWeightBits = 40;
inline constexpr size_t kMaxVocabularySize = size_t{1} << 22;  // keeps sums below 2^63

// `relative_probability`: 0 ... 1. In [2^12, 2^13) a double's last bit is 2^-40.
inline uint64_t weight_of(float relative_probability) {
  static_assert(kWeightBits == 40);
  return std::bit_cast<uint64_t>(static_cast<double>(relative_probability) + 0x1p12) -
         std::bit_cast<uint64_t>(0x1p12);
}

// Sorts as (descending logit, ascending index) and holds the index in its low half.
// NaN sorts as -infinity, -0 as 0.
inline uint64_t sort_key(float logit, size_t index) {
  const float value = logit != logit ? -std::numeric_limits<float>::infinity() : logit + 0.0f;
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t descending = (bits >> 31) != 0 ? bits : ~bits & 0x7fffffff;
  return uint64_t{descending} << 32 | static_cast<uint32_t>(index);
}

inline size_t key_index(uint64_t key) { return static_cast<uint32_t>(key); }

class Candidates {
 public:
  static constexpr float kLowest = -std::numeric_limits<float>::infinity();
  static constexpr size_t kBlock = 128;     // tokens under one maximum
  static constexpr size_t kChunk = 1024;    // tokens whose probabilities are at hand at once
  static constexpr size_t kBuckets = 1024;  // slices of the sorted order, by (max - l) / T

  // Lays the working memory out; over a measuring arena it only adds up.
  void place(size_t vocabulary_size, Arena& arena);

  // Begins a token: all that the mask allows, at temperature 1.
  void begin(const Kernels& kernels, std::span<const float> logits, const TokenMask& mask);

  size_t count() const { return count_; }
  int32_t id(size_t index) const {
    return ids_ == nullptr ? static_cast<int32_t>(index) : ids_[index];
  }
  float logit(size_t index) const { return logits_[index]; }
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

  // A logit that at least `k` tokens reach, found without looking at every token; kLowest
  // if it would take that.
  float reached_by(size_t k);
  // Sort keys of the tokens whose logit is at least `floor`, in order of id. The array
  // holds until the next call and may be permuted.
  std::span<uint64_t> collect_keys(float floor);

  // The slice of the sorted order in which the running sum of a measure reaches `target`,
  // 1 ... its sum over all: the slice's sort keys, in order of id, and the sum of what
  // sorts before it. Two passes over the tokens, none sorted. max() is not kLowest.
  enum class Measure { kCount, kWeight };
  struct Border {
    std::span<uint64_t> keys;
    uint64_t before;
  };
  Border find_border(Measure measure, uint64_t target);

  // Truncations. At least one token must stay.
  void keep(std::span<uint64_t> keys);  // these; permutes them
  void keep_up_to(uint64_t key);        // a prefix of the sorted order
  void keep_from_logit(float floor);    // NaN goes too
  void keep_from_relative_probability(float least);

  // The weights of all, or of the tokens of some keys, together. max() is not kLowest.
  uint64_t total_weight();
  uint64_t weight(std::span<const uint64_t> keys);
  // The first index at which the sum of the weights, in order of id, exceeds `target`;
  // target < total_weight().
  size_t find_cumulative(uint64_t target);

  // The weight of each, in order of id. The array holds until the next call and may be
  // overwritten. max() is not kLowest.
  std::span<uint64_t> weights();

  // ln p: (l - max) / T - ln sum exp((l - max) / T); -infinity of -infinity.
  double log_probability(size_t index);

  // exp((l - max) / T) of up to kChunk tokens; holds until the next call.
  const float* relative_probabilities(size_t first, size_t count);
  const float* relative_probabilities(std::span<const uint64_t> keys);

 private:
  void own_logits();
  void changed();
  const float* block_maxima();
  // exp((l - max) / T), or its exponent, of logit_at(0 ... count - 1) into chunk_.
  template <typename LogitAt>
  void shift(size_t count, LogitAt logit_at);
  template <typename LogitAt>
  const float* exponentials(size_t count, LogitAt logit_at);
  template <typename Keep>
  void keep_if(float floor, Keep keep);
  void kept_in_own(size_t kept);
  const int32_t* buckets(size_t first, size_t count);  // leaves the exponents in chunk_

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
  uint64_t total_weight_ = 0;
  bool has_total_weight_ = false;
  // Working memory.
  float* own_logits_ = nullptr;       // (vocabulary)
  int32_t* own_ids_ = nullptr;        // (vocabulary)
  uint64_t* keys_ = nullptr;          // (vocabulary)
  float* block_maxima_ = nullptr;     // (block), twice: the second half is for selection
  uint64_t* chunk_weights_ = nullptr;  // (chunk), valid with total_weight_
  float* chunk_ = nullptr;            // (kChunk)
  int32_t* chunk_buckets_ = nullptr;  // (kChunk)
  uint64_t* bucket_sums_ = nullptr;   // (kBuckets)
};

template <typename Change>
void Candidates::change(int32_t token, Change change) {
  const size_t index = find(token);
  if (index == count_) return;
  own_logits();
  own_logits_[index] = change(own_logits_[index]);
  changed();
}

}  // namespace sotto
