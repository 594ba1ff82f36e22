#include "runtime/sampling/watermark.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "runtime/base/scalar_math.h"
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

// What a token's probability is multiplied by in `bits` rounds, for each pattern of its g in
// those rounds. `sums`: the probabilities by pattern, together anything.
void play_rounds(double* sums, double* factors, uint32_t bits) {
  const size_t patterns = size_t{1} << bits;
  double total = 0;
  for (size_t g = 0; g < patterns; ++g) total += sums[g];
  std::fill_n(factors, patterns, 1.0);
  for (uint32_t bit = 0; bit < bits; ++bit) {
    const size_t run = size_t{1} << bit;
    double ones = 0;
    for (size_t g = run; g < patterns; g += 2 * run) {
      for (size_t i = 0; i < run; ++i) ones += sums[g + i];
    }
    const double q = std::min(ones / total, 1.0);
    for (size_t g = 0; g < patterns; ++g) {
      const double factor = (g >> bit & 1) != 0 ? 2 - q : 1 - q;
      sums[g] *= factor;
      factors[g] *= factor;
    }
  }
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
  constexpr uint32_t kMostBits = 10;
  double sums[1 << kMostBits], factors[1 << kMostBits];
  // The probabilities up to a common factor, at first the shares, as doubles.
  const float* shares = candidates.shares();
  const std::span<uint64_t> p = candidates.scratch();
  const auto most = static_cast<uint32_t>(std::bit_width(p.size())) - 1;
  const uint32_t bits = std::min({most, layers, kMostBits});
  uint32_t played = 0;
  for (uint32_t layer = 0; layer < layers; layer += played) {
    // A pass brings the last rounds' result to the tokens and sorts them by pattern anew.
    const uint32_t now = std::min(bits, layers - layer);
    const uint32_t mask = (1u << now) - 1, last_mask = (1u << played) - 1;
    std::fill_n(sums, size_t{1} << now, 0.0);
    for (size_t i = 0; i < p.size(); ++i) {
      const uint64_t g = split_mix(seed, static_cast<uint32_t>(candidates.id(i)));
      const double value =
          layer == 0 ? static_cast<double>(shares[i])
                     : std::bit_cast<double>(p[i]) * factors[g >> (layer - played) & last_mask];
      p[i] = std::bit_cast<uint64_t>(value);
      sums[g >> layer & mask] += value;
    }
    play_rounds(sums, factors, now);
    played = now;
  }
  double total = 0;
  for (size_t i = 0; i < p.size(); ++i) {
    const uint64_t g = split_mix(seed, static_cast<uint32_t>(candidates.id(i)));
    const uint32_t last_mask = (1u << played) - 1;
    const double value = std::bit_cast<double>(p[i]) * factors[g >> (layers - played) & last_mask];
    p[i] = std::bit_cast<uint64_t>(value);
    total += value;
  }
  const double target = static_cast<double>(random >> 11) * 0x1p-53 * total;
  double sum = 0;
  size_t last = 0;  // with a probability, should rounding keep the sum below the target
  for (size_t i = 0; i < p.size(); ++i) {
    const double value = std::bit_cast<double>(p[i]);
    if (!(value > 0)) continue;
    last = i;
    sum += value;
    if (sum > target) break;
  }
  return last;
}

size_t select_gumbel_watermark(Candidates& candidates, uint64_t seed) {
  if (candidates.count() == 1 || candidates.max() == Candidates::kLowest) return 0;
  // -ln(r) / p is least where r^(1/p) is largest, and not less than (1 - r) / p. No product
  // with a share of 0 is above anything.
  const float* shares = candidates.shares();
  double least = std::numeric_limits<double>::infinity();
  size_t best = 0;
  RestStream rests(seed);
  for (size_t i = 0; i < candidates.count(); ++i) {
    const auto share = static_cast<double>(shares[i]);
    const double rest = rests.of(candidates.id(i));
    if (!(rest < least * share)) continue;
    const double score = -ln(1 - rest) / share;
    if (score < least) {
      least = score;
      best = i;
    }
  }
  return best;
}

}  // namespace sotto
