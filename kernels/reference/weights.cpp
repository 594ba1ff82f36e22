// The parts of sampling that look at a whole vocabulary.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>

#include "kernels/reference/math.h"
#include "kernels/reference/reference.h"

namespace sotto::reference {

uint64_t exp_weights(const float* x, size_t n, float max, float scale, float* y) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; ++i) {
    y[i] = x[i] >= max ? 1.0f : exp((x[i] - max) * scale);
    sum += weight_of(y[i]);
  }
  return sum;
}

void exp_shares(const float* x, size_t n, float max, float scale, float* y) { exp_weights(x, n, max, scale, y); }

size_t keep_from(const float* key, float floor, const float* x, const int32_t* ids, int32_t first_id, size_t n,
                 float* kept_x, int32_t* kept_ids) {
  size_t kept = 0;
  for (size_t i = 0; i < n; ++i) {
    if (!(key[i] >= floor)) continue;
    kept_x[kept] = x[i];
    kept_ids[kept++] = ids != nullptr ? ids[i] : first_id + static_cast<int32_t>(i);
  }
  return kept;
}

Split split(const float* x, float floor, float ceiling, const float* values, double base, int32_t first, size_t n,
            int32_t* between) {
  Split result = {};
  for (size_t i = 0; i < n; ++i) {
    if (x[i] >= ceiling) {
      result.sum += integer_of(values[i], base);
    } else if (x[i] >= floor) {
      between[result.collected++] = first + static_cast<int32_t>(i);
    }
  }
  return result;
}

void nearness(const float* x, size_t n, float max, float scale, float center, float* y) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < n; ++i) {
    const float gap = x[i] >= max ? 0.0f : (max - x[i]) * scale;
    const float near = -std::fabs(gap - center);
    y[i] = near > -kInfinity ? near : -kInfinity;
  }
}

namespace {

float gap_of(float x, float max, float scale) { return x >= max ? 0.0f : (max - x) * scale; }

double fold(const double (&sums)[8]) {
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

}  // namespace

double sum_gaps(const float* x, const float* y, size_t n, float max, float scale) {
  double sums[8] = {};
  for (size_t i = 0; i < n; ++i) {
    if (y[i] != 0) sums[i % 8] += static_cast<double>(y[i] * gap_of(x[i], max, scale));
  }
  return fold(sums);
}

double sum_bends(const float* p, size_t n) {
  double sums[8] = {};
  for (size_t i = 0; i < n; ++i) {
    sums[i % 8] += static_cast<double>(std::fabs((p[i] - p[i + 1]) - (p[i + 1] - p[i + 2])));
  }
  return fold(sums);
}

void sum_bends_twice(const float* p, size_t n, double sums[2]) {
  sums[0] = sum_bends(p, n);
  sums[1] = sum_bends(p + n, n);
}

FiniteSum sum_finite(const float* x, size_t n, double shift, bool squares) {
  double sums[8] = {};
  size_t count = 0;
  for (size_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) continue;
    const double d = static_cast<double>(x[i]) - shift;
    sums[i % 8] += squares ? d * d : d;
    ++count;
  }
  return {fold(sums), count};
}

void smooth(float* x, size_t n, float max, double square, double cube) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(x[i]) - static_cast<double>(max);
    const double smoothed = static_cast<double>(max) + d * d * (square + cube * d);
    x[i] = x[i] > kLowest ? static_cast<float>(smoothed) : kLowest;
  }
}

void aim(const float* shares, size_t n, float scale, float goal, float* p, float* x) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < n; ++i) {
    p[i] = shares[i] * scale;
    const float d = std::fabs(p[i] - goal) * (1 / 0.3f);
    const float l = 5 - 10 * (d * d) / (1 + d);
    x[i] = x[i] > kLowest ? l : kLowest;
  }
}

uint64_t surprises(const float* x, const float* shares, size_t n, float max, float scale, float offset, double base,
                   float* y) {
  uint64_t sum = 0;
  for (size_t i = 0; i < n; ++i) {
    y[i] = shares[i] != 0 ? shares[i] * (gap_of(x[i], max, scale) + offset) : 0.0f;
    sum += integer_of(y[i], base);
  }
  return sum;
}

size_t collect_below(const uint32_t* words, const float* y, float factor, int32_t first, size_t n, int32_t* below) {
  size_t collected = 0;
  for (size_t i = 0; i < n; ++i) {
    const float x = static_cast<float>(words[i] >> 8) * 0x1p-24f;
    if (x <= y[i] * factor) below[collected++] = first + static_cast<int32_t>(i);
  }
  return collected;
}

void mix_words(uint64_t seed, bool high, const int32_t* ids, int32_t first_id, size_t n, uint32_t* words) {
  for (size_t i = 0; i < n; ++i) {
    const int32_t id = ids != nullptr ? ids[i] : first_id + static_cast<int32_t>(i);
    words[i] = static_cast<uint32_t>(mix64(seed, static_cast<uint32_t>(id)) >> (high ? 32 : 0));
  }
}

namespace {

uint32_t bits_of(uint32_t word, uint32_t shift, uint32_t bits) { return word >> shift & ((1u << bits) - 1); }

void add_by_bits(const uint32_t* words, uint32_t shift, uint32_t bits, const float* p, size_t n, float* sums) {
  for (size_t i = 0; i < n; ++i) sums[bits_of(words[i], shift, bits)] += p[i];
}

}  // namespace

void mix_and_add(uint64_t seed, bool high, const int32_t* ids, int32_t first_id, uint32_t bits, const float* p,
                 size_t n, uint32_t* words, float* sums) {
  mix_words(seed, high, ids, first_id, n, words);
  add_by_bits(words, 0, bits, p, n, sums);
}

void scale_by_bits(const uint32_t* words, uint32_t shift, uint32_t bits, const float* low, const float* high,
                   float least, size_t n, const float* p, float* y) {
  for (size_t i = 0; i < n; ++i) {
    const uint32_t b = bits_of(words[i], shift, bits);
    const float scaled = p[i] * (low[b % 32] * high[b / 32]);
    y[i] = scaled >= least ? scaled : 0.0f;
  }
}

void scale_and_add(const uint32_t* words, uint32_t shift, uint32_t bits, const float* low, const float* high,
                   float least, uint32_t next_bits, size_t n, const float* p, float* y, float* sums) {
  scale_by_bits(words, shift, bits, low, high, least, n, p, y);
  add_by_bits(words, shift + bits, next_bits, y, n, sums);
}

size_t collect_by_bits(const uint32_t* words, uint32_t shift, uint32_t bits, uint32_t pattern, int32_t first, size_t n,
                       int32_t* collected) {
  size_t count = 0;
  for (size_t i = 0; i < n; ++i) {
    if (bits_of(words[i], shift, bits) == pattern) {
      collected[count++] = first + static_cast<int32_t>(i);
    }
  }
  return count;
}

void slice_numbers(const float* x, size_t n, const Slices& slices, uint16_t* numbers) {
  for (size_t i = 0; i < n; ++i) {
    const uint32_t below = std::bit_cast<uint32_t>(1.0f) - std::bit_cast<uint32_t>(x[i]);
    const float place = static_cast<float>(below) * slices.scale;
    const float t = place < float{kSections - 1} ? place : float{kSections - 1};
    const auto section = static_cast<size_t>(t);
    numbers[i] =
        static_cast<uint16_t>(std::fma(t - static_cast<float>(section), slices.width[section], slices.first[section]));
  }
}

size_t move_to_columns(const float* x, size_t n, const Slices& slices, float* table, size_t stride, uint8_t* counts,
                       LeftShare* left) {
  size_t left_count = 0;
  for (size_t i = 0; i < n; ++i) {
    uint16_t column;
    slice_numbers(x + i, 1, slices, &column);
    if (counts[column] == kColumnRows) {
      left[left_count++] = {column, x[i]};
    } else {
      table[counts[column]++ * stride + column] = x[i];
    }
  }
  return left_count;
}

size_t sort_columns(const float* x, size_t stride, const uint8_t* counts, float* sorted) {
  float* end = sorted;
  for (size_t c = 0; c < kColumns; ++c) {
    float* column = end;
    for (size_t row = 0; row < counts[c]; ++row) *end++ = x[row * stride + c];
    std::sort(column, end, std::greater<float>());
  }
  return static_cast<size_t>(end - sorted);
}

double sum_column_bends(const float* x, size_t stride, const uint8_t* counts, float next[2]) {
  if (std::find(counts, counts + kColumns, 0) != counts + kColumns) return -1;
  float sorted[kColumns * kColumnRows + 2];
  const size_t count = sort_columns(x, stride, counts, sorted);
  if (sorted[0] > 1.25f * next[1]) return -1;
  std::copy_n(next, 2, sorted + count);
  std::copy_n(sorted, 2, next);
  return sum_bends(sorted, count);
}

void min_hash(const MinHash& hash, const int32_t* ids, int32_t first_id, size_t n, int32_t* hashes) {
  for (size_t i = 0; i < n; ++i) {
    const int32_t id = ids != nullptr ? ids[i] : first_id + static_cast<int32_t>(i);
    const auto mixed = static_cast<int32_t>(mix32(static_cast<uint32_t>(id) ^ hash.in));
    int32_t least = INT32_MAX;
    for (size_t a = 0; a < hash.anchor_count; ++a) {
      const int32_t m = hash.anchors[a] ^ mixed;
      least = m < least ? m : least;
    }
    hashes[i] = static_cast<int32_t>(mix32(static_cast<uint32_t>(least) ^ hash.out) >> 8);
  }
}

}  // namespace sotto::reference
