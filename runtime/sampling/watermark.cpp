#include "runtime/sampling/watermark.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "runtime/base/scalar_math.h"
#include "runtime/sampling/race.h"
#include "runtime/sampling/watermark_hash.h"

namespace sotto {

namespace {

// The newest tokens, oldest first.
std::span<const int32_t> newest(const TokenHistory& history, size_t count, int32_t* context) {
  for (size_t i = 0; i < count; ++i) context[i] = history.from_end(count - 1 - i);
  return {context, count};
}

// All tokens: sixteen rows of four summands for the four bits of a nibble.
void add_by_words(std::span<float> logits, uint64_t seed, uint32_t threshold, float delta) {
  float rows[16][4];
  for (int row = 0; row < 16; ++row) {
    for (int bit = 0; bit < 4; ++bit) rows[row][bit] = (row >> bit & 1) != 0 ? delta : 0.0f;
  }
  size_t i = 0;
  for (; i + 64 <= logits.size(); i += 64) {
    uint64_t word = green_word(seed, threshold, i / 64);
    float* l = logits.data() + i;
    for (int nibble = 0; nibble < 16; ++nibble, word >>= 4, l += 4) {
      const float* row = rows[word & 15];
      for (int bit = 0; bit < 4; ++bit) l[bit] += row[bit];
    }
  }
  if (i == logits.size()) return;
  uint64_t word = green_word(seed, threshold, i / 64);
  for (; i < logits.size(); ++i, word >>= 1) logits[i] += rows[word & 1][0];
}

void add_left_hash(Candidates& candidates, uint64_t seed, uint32_t threshold, float delta) {
  const std::span<float> logits = candidates.edit();
  if (candidates.ids() == nullptr) return add_by_words(logits, seed, threshold, delta);
  uint64_t word = 0, block = UINT64_MAX;
  for (size_t i = 0; i < logits.size(); ++i) {
    const auto token = static_cast<uint32_t>(candidates.id(i));
    if (token / 64 != block) word = green_word(seed, threshold, block = token / 64);
    if ((word >> (token % 64) & 1) != 0) logits[i] += delta;
  }
}

void add_self_hash(Candidates& candidates, const SelfHash& hash, uint32_t threshold,
                   float delta) {
  const std::span<float> logits = candidates.edit();
  const int32_t* ids = candidates.ids();
  const auto below = static_cast<int32_t>(threshold);
  constexpr size_t kBatch = 512;
  int32_t hashes[kBatch];
  for (size_t first = 0; first < logits.size(); first += kBatch) {
    const size_t count = std::min(kBatch, logits.size() - first);
    candidates.kernels().min_hash(hash.min_hash(), ids != nullptr ? ids + first : nullptr,
                                  static_cast<int32_t>(first), count, hashes);
    float* l = logits.data() + first;
    for (size_t i = 0; i < count; ++i) l[i] += hashes[i] < below ? delta : 0.0f;
  }
}

constexpr uint32_t kMostBits = 10;  // rounds in one go
constexpr uint32_t kWordBits = 32;
// What is less is lost: of what rounds make of shares, and of halves of factors.
constexpr float kLeastPart = 0x1p-64f;
constexpr double kLeastFactor = 0x1p-60;

// What a token's probability is multiplied by, for each pattern of its g in some rounds, the first
// round's lowest: low[pattern % 32] * high[pattern / 32].
struct Factors {
  static constexpr uint32_t kLowBits = 5;
  float low[1 << kLowBits];
  float high[1 << kLowBits];
};

// The factors of `bits` rounds. `sums`: the probabilities by pattern, together anything; each
// round folds them by its bit.
Factors play_rounds(double* sums, uint32_t bits) {
  double products[2][1 << Factors::kLowBits] = {{1}, {1}};
  for (uint32_t bit = 0; bit < bits; ++bit) {
    const size_t folded = size_t{1} << (bits - bit - 1);
    double ones = 0, zeros = 0;
    for (size_t g = 0; g < folded; ++g) {
      zeros += sums[2 * g];
      ones += sums[2 * g + 1];
    }
    const double q = ones / (zeros + ones);
    for (size_t g = 0; g < folded; ++g) sums[g] = sums[2 * g] * (1 - q) + sums[2 * g + 1] * (2 - q);
    double* half = products[bit / Factors::kLowBits];
    const size_t run = size_t{1} << bit % Factors::kLowBits;
    for (size_t g = 0; g < run; ++g) {
      half[run + g] = half[g] * (2 - q);
      half[g] *= 1 - q;
    }
  }
  const auto factor = [](double product) {
    return product >= kLeastFactor ? static_cast<float>(product) : 0.0f;
  };
  Factors factors;
  std::transform(products[0], products[0] + std::size(factors.low), factors.low, factor);
  std::transform(products[1], products[1] + std::size(factors.high), factors.high, factor);
  return factors;
}

// The probabilities after the rounds, up to a common factor, in place of the keys.
std::span<const float> play_tournament(Candidates& candidates, uint64_t seed, uint32_t layers) {
  double sums[1 << kMostBits];
  const Kernels& kernels = candidates.kernels();
  const size_t count = candidates.count();
  const float* p = candidates.shares();
  float* parts = candidates.whole();
  auto* words = reinterpret_cast<uint32_t*>(parts + count);
  const auto few = static_cast<uint32_t>(std::bit_width(count)) - 1;
  uint32_t bits = 0;
  for (uint32_t layer = 0; layer < layers; layer += bits) {
    const uint32_t shift = layer % kWordBits;
    bits = std::min({few, layers - layer, kMostBits, kWordBits - shift});
    if (shift == 0) kernels.mix_words(seed, layer > 0, candidates.ids(), 0, count, words);
    std::fill_n(sums, size_t{1} << bits, 0.0);
    kernels.add_by_bits(words, shift, bits, p, count, sums);
    const Factors factors = play_rounds(sums, bits);
    kernels.scale_by_bits(words, shift, bits, factors.low, factors.high, kLeastPart, count, p,
                          parts);
    p = parts;
  }
  return {p, count};
}

// The first index at which the sum of p exceeds `share` of the whole, 0 ... 1. `sums`: room for
// half as many as p.
size_t draw_part(const Kernels& kernels, std::span<const float> p, double share, double* sums) {
  constexpr size_t kBlock = 256;  // under one sum
  const float zeros[kBlock] = {};
  double total = 0;
  for (size_t i = 0; i < p.size(); i += kBlock) {
    const size_t count = std::min(kBlock, p.size() - i);
    sums[i / kBlock] = kernels.sum_gaps(zeros, p.data() + i, count, 1, 1);  // every gap is 1
    total += sums[i / kBlock];
  }
  const double target = share * total;
  double before = 0;
  for (size_t first = 0; first < p.size(); first += kBlock) {
    const size_t end = std::min(first + kBlock, p.size());
    const double next = before + sums[first / kBlock];
    double sum = before;
    for (size_t i = first; i < end && next > target; ++i) {
      sum += static_cast<double>(p[i]);
      if (sum > target && p[i] > 0) return i;
    }
    before = next;
  }
  // Rounding kept the sum at the target: the last with a probability.
  size_t last = p.size() - 1;
  while (last > 0 && !(p[last] > 0)) --last;
  return last;
}

}  // namespace

void add_green_bias(Candidates& candidates, const WatermarkParams& params,
                    const TokenHistory& history) {
  const size_t size = context_size(params);
  if (replaces_selection(params.scheme) || history.size() < size) return;
  int32_t tokens[kMaxContextWidth];
  const std::span<const int32_t> context = newest(history, size, tokens);
  const uint32_t threshold = green_threshold(params.gamma);
  if (params.scheme == WatermarkScheme::kLeftHash) {
    add_left_hash(candidates, context_seed(params, context), threshold, params.delta);
  } else {
    add_self_hash(candidates, SelfHash(params, context), threshold, params.delta);
  }
}

bool replaces_selection(WatermarkScheme scheme) {
  return scheme == WatermarkScheme::kTournament || scheme == WatermarkScheme::kGumbel;
}

bool watermark_seed(const WatermarkParams& params, PastTokens& past, uint64_t* seed) {
  const size_t size = context_size(params);
  if (past.history().size() < size) return false;
  const std::span<const uint32_t> repeats = past.repeats();
  const size_t last = std::min(past.generated_count(), repeats.size() - 1);
  for (size_t back = 1; back <= last; ++back) {
    if (repeats[back] >= size) return false;
  }
  int32_t tokens[kMaxContextWidth];
  *seed = context_seed(params, newest(past.history(), size, tokens));
  return true;
}

size_t select_tournament(Candidates& candidates, uint64_t seed, uint32_t layers,
                         uint64_t random) {
  if (candidates.count() == 1 || candidates.max() == Candidates::kLowest) return 0;
  const std::span<const float> p = play_tournament(candidates, seed, layers);
  auto* sums = reinterpret_cast<double*>(candidates.keys() + (p.size() + 1) / 2);  // behind p
  return draw_part(candidates.kernels(), p, static_cast<double>(random >> 11) * 0x1p-53, sums);
}

size_t select_gumbel_watermark(Candidates& candidates, uint64_t seed) {
  if (candidates.count() == 1 || candidates.max() == Candidates::kLowest) return 0;
  // -ln(r) / p is least where r^(1/p) is largest, and not less than (1 - r) / p. No product
  // with a share of 0 is above anything.
  const float* shares = candidates.shares();
  RestStream rests(seed);
  const auto time = [&](size_t i, double least) {
    const auto share = static_cast<double>(shares[i]);
    const double rest = rests.of(candidates.id(i));
    return rest < least * share ? -ln(1 - rest) / share : least;
  };
  const auto write_words = [&](size_t first, size_t count, uint32_t* words) {
    constexpr size_t kPairs = 256;
    uint32_t low[kPairs], high[kPairs];
    const auto pairs = static_cast<int32_t>(first / 2);
    const size_t pair_count = (count + 1) / 2;
    candidates.kernels().mix_words(seed, false, nullptr, pairs, pair_count, low);
    candidates.kernels().mix_words(seed, true, nullptr, pairs, pair_count, high);
    for (size_t i = 0; i < pair_count; ++i, words += 2) {
      words[0] = ~low[i];
      words[1] = ~high[i];
    }
  };
  return find_winner(candidates, write_words, time);
}

}  // namespace sotto
