// What watermarks and draws by hashes do with a whole vocabulary.
#pragma once

#include "kernels/generic/block.h"

namespace sotto::generic {

// Integers, which compilers vectorize where the instruction set multiplies 64 bits; written
// out, as in min_hash.h.
template <class V, size_t kBatch>
class WordMixer {
 public:
  WordMixer(uint64_t seed, bool high, const int32_t* ids, int32_t first_id)
      : seed_(seed), shift_(high ? 32 : 0), ids_(ids), first_id_(static_cast<uint32_t>(first_id)) {
    for (size_t i = 0; i < kBatch; ++i) steps_[i] = i * kStep;
  }

  // Words [first, first + count), count <= kBatch.
  void write(size_t first, size_t count, uint32_t* words) const {
    words += first;
    if (ids_ != nullptr) {
      const int32_t* ids = ids_ + first;
      for (size_t i = 0; i < count; ++i) {
        words[i] = mix(seed_ + (uint64_t{static_cast<uint32_t>(ids[i])} + 1) * kStep);
      }
      return;
    }
    const uint32_t begin = first_id_ + static_cast<uint32_t>(first);
    const uint64_t base = seed_ + (uint64_t{begin} + 1) * kStep;
    for (size_t i = 0; i < count; ++i) words[i] = mix(base + steps_[i]);
  }

 private:
  static constexpr uint64_t kStep = 0x9e3779b97f4a7c15;

  uint32_t mix(uint64_t z) const {
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return static_cast<uint32_t>((z ^ z >> 31) >> shift_);
  }

  uint64_t seed_;
  int shift_;
  const int32_t* ids_;
  uint32_t first_id_;
  uint64_t steps_[kBatch];
};

template <class V>
inline void mix_words(uint64_t seed, bool high, const int32_t* ids, int32_t first_id, size_t n, uint32_t* words) {
  constexpr size_t kBatch = 256;
  const WordMixer<V, kBatch> mixer(seed, high, ids, first_id);
  for (size_t first = 0; first < n; first += kBatch) {
    mixer.write(first, n - first < kBatch ? n - first : kBatch, words);
  }
}

template <class V>
inline size_t collect_below(const uint32_t* words, const float* y, float factor, int32_t first, size_t n,
                            int32_t* below) {
  const V factors = V::broadcast(factor), unit = V::broadcast(0x1p-24f);
  size_t collected = 0;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const V x = V::from_high_bits(words + i) * unit;
    const uint32_t mask = greater_equal_mask(V::load(y + i, Whole{}) * factors, x);
    if (mask == 0) continue;
    collected += V::compress_ids(mask, first + static_cast<int32_t>(i), below + collected);
  }
  for (; i < n; ++i) {
    const float x = static_cast<float>(words[i] >> 8) * 0x1p-24f;
    if (x <= y[i] * factor) below[collected++] = first + static_cast<int32_t>(i);
  }
  return collected;
}

// Has make(first) make what is added, in batches: words and p, kAdded of each; then
// sums[bits [shift, shift + bits) of words_i] += p_i. A batch is added while vectors make the next:
// with more of either, processors do not see far enough to do both at once. Returns the end of
// the last batch.
inline constexpr size_t kAdded = 32;
template <class V, class Make>
[[gnu::always_inline]] inline size_t make_and_add(const uint32_t* words, uint32_t shift, uint32_t mask, const float* p,
                                                  size_t n, float* sums, Make make) {
  if (n < kAdded) return 0;
  alignas(64) uint32_t places[2 * kAdded];
  const auto place = [&](size_t first) {
    make(first);
    for (size_t i = 0; i < kAdded; i += kLanes) {
      V::store_bits(words + first + i, shift, mask, places + first % (2 * kAdded) + i);
    }
  };
  const auto add = [&](size_t first) {
    const uint32_t* to = places + first % (2 * kAdded);
    const float* from = p + first;
#pragma GCC unroll 32
    for (size_t k = 0; k < kAdded; ++k) sums[to[k]] += from[k];
  };
  place(0);
  size_t first = kAdded;
  for (; first + kAdded <= n; first += kAdded) {
    place(first);
    add(first - kAdded);
  }
  add(first - kAdded);
  return first;
}

template <class V>
inline void add_rest(const uint32_t* words, uint32_t shift, uint32_t mask, const float* p, size_t begin, size_t n,
                     float* sums) {
  for (size_t i = begin; i < n; ++i) sums[words[i] >> shift & mask] += p[i];
}

// kCommon: the low halves for all tokens, which compilers make shorter.
template <class V, bool kCommon>
inline void mix_and_add_batches(uint64_t seed, bool high, const int32_t* ids, int32_t first_id, uint32_t bits,
                                const float* p, size_t n, uint32_t* words, float* sums) {
  const WordMixer<V, kAdded> mixer(seed, !kCommon && high, kCommon ? nullptr : ids, first_id);
  const uint32_t mask = (1u << bits) - 1;
  const size_t made =
      make_and_add<V>(words, 0, mask, p, n, sums, [&](size_t first) { mixer.write(first, kAdded, words); });
  mixer.write(made, n - made, words);
  add_rest<V>(words, 0, mask, p, made, n, sums);
}

template <class V>
inline void mix_and_add(uint64_t seed, bool high, const int32_t* ids, int32_t first_id, uint32_t bits, const float* p,
                        size_t n, uint32_t* words, float* sums) {
  const auto batches = ids == nullptr && !high ? mix_and_add_batches<V, true> : mix_and_add_batches<V, false>;
  batches(seed, high, ids, first_id, bits, p, n, words, sums);
}

template <class V>
inline void scale_by_bits(const uint32_t* words, uint32_t shift, uint32_t bits, const float* low, const float* high,
                          float least, size_t n, const float* p, float* y) {
  const V lowest = V::broadcast(least);
  const uint32_t mask = (1u << bits) - 1;
  const typename V::Factors factors(low, high, mask);
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const V scaled = V::load(p + i, Whole{}) * factors.of(words + i, shift, mask);
    select_ge(scaled, lowest, scaled, V::zero()).store(y + i, Whole{});
  }
  for (; i < n; ++i) {
    const uint32_t b = words[i] >> shift & mask;
    const float scaled = p[i] * (low[b % 32] * high[b / 32]);
    y[i] = scaled >= least ? scaled : 0.0f;
  }
}

template <class V>
inline void scale_and_add(const uint32_t* words, uint32_t shift, uint32_t bits, const float* low, const float* high,
                          float least, uint32_t next_bits, size_t n, const float* p, float* y, float* sums) {
  const V lowest = V::broadcast(least);
  const uint32_t mask = (1u << bits) - 1;
  const typename V::Factors factors(low, high, mask);
  const uint32_t next_shift = shift + bits, next_mask = (1u << next_bits) - 1;
  const size_t made = make_and_add<V>(words, next_shift, next_mask, y, n, sums, [&](size_t first) {
    for (size_t i = first; i < first + kAdded; i += kLanes) {
      const V scaled = V::load(p + i, Whole{}) * factors.of(words + i, shift, mask);
      select_ge(scaled, lowest, scaled, V::zero()).store(y + i, Whole{});
    }
  });
  scale_by_bits<V>(words + made, shift, bits, low, high, least, n - made, p + made, y + made);
  add_rest<V>(words, next_shift, next_mask, y, made, n, sums);
}

template <class V>
inline size_t collect_by_bits(const uint32_t* words, uint32_t shift, uint32_t bits, uint32_t pattern, int32_t first,
                              size_t n, int32_t* collected) {
  const uint32_t mask = (1u << bits) - 1;
  size_t count = 0;
  size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const uint32_t equal = V::equal_bits(words + i, shift, mask, pattern);
    if (equal == 0) continue;
    count += V::compress_ids(equal, first + static_cast<int32_t>(i), collected + count);
  }
  for (; i < n; ++i) {
    if ((words[i] >> shift & mask) == pattern) {
      collected[count++] = first + static_cast<int32_t>(i);
    }
  }
  return count;
}

}  // namespace sotto::generic
