#include "runtime/sampling/watermark/watermark.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <limits>

#include "runtime/base/random.h"
#include "runtime/base/scalar_math.h"
#include "runtime/sampling/stages/stage.h"
#include "runtime/sampling/watermark/gumbel_max.h"

namespace sotto {
namespace {

// Computes the 32-bit hash of Wellons (2018, "prospecting for hash functions").
uint32_t mix32(uint32_t h) {
  h = (h ^ h >> 16) * 0x21f0aaad;
  h = (h ^ h >> 15) * 0xd35a2d97;
  return h ^ h >> 15;
}

using Words = std::array<uint32_t, 4>;

Words philox(Words counter, uint64_t key) {
  return philox4x32_10(counter, {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
}

// Returns the newest `count` tokens, oldest first.
std::span<const int32_t> newest(const TokenHistory& history, size_t count, int32_t* context) {
  for (size_t i = 0; i < count; ++i) context[i] = history.from_end(count - 1 - i);
  return {context, count};
}

// Adds delta to the green tokens of a whole vocabulary. rows[n] contains the four terms to add for a nibble n of green
// bits.
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
  candidates.change_logits([&](std::span<float> logits) {
    if (candidates.ids() == nullptr) return add_by_words(logits, seed, threshold, delta);
    uint64_t word = 0, block = UINT64_MAX;
    for (size_t i = 0; i < logits.size(); ++i) {
      const auto token = static_cast<uint32_t>(candidates.id(i));
      if (token / 64 != block) word = green_word(seed, threshold, block = token / 64);
      if ((word >> (token % 64) & 1) != 0) logits[i] += delta;
    }
  });
}

void add_self_hash(Candidates& candidates, const SelfHash& hash, float delta) {
  candidates.change_logits([&](std::span<float> logits) {
    for (size_t i = 0; i < logits.size(); ++i) logits[i] += hash.is_green(candidates.id(i)) ? delta : 0.0f;
  });
}

constexpr uint32_t kMaxBits = 10;  // maximum number of layers per pass
constexpr uint32_t kWordBits = 32;
// Weights and factors that become smaller than this after some rounds are set to 0.
constexpr float kMinPart = 0x1p-64f;
constexpr double kMinFactor = 0x1p-60;

// The factor of a token's probability over several rounds. It depends only on the pattern of the token's g in these
// rounds, first round in the lowest bit: low[pattern % 32] * high[pattern / 32].
struct Factors {
  static constexpr uint32_t kLowBits = 5;
  float low[1 << kLowBits];
  float high[1 << kLowBits];
};

// Computes the `count` sums after a round, each from two sums before it; input and output may be the same array.
// `added` receives four partial totals of the result.
[[gnu::noinline]] void fold_sums(const double* sums, size_t count, double q, double* folded, double (&added)[4]) {
  const auto fold = [=](size_t g) { return sums[2 * g] * (1 - q) + sums[2 * g + 1] * (2 - q); };
  std::fill_n(added, 4, 0.0);
  if (count < 4) {
    for (size_t g = 0; g < count; ++g) added[g] = folded[g] = fold(g);
    return;
  }
  for (size_t g = 0; g < count; g += 4) {
    const double four[4] = {fold(g), fold(g + 1), fold(g + 2), fold(g + 3)};
    for (size_t k = 0; k < 4; ++k) {
      folded[g + k] = four[k];
      added[k] += four[k];
    }
  }
}

// Returns the factors of `bits` rounds. `sums` contains the unnormalized probabilities by pattern; each round combines
// pairs of them by its bit. `scratch` has the same size, and scratch[0] receives the final total.
Factors play_rounds(const double* sums, uint32_t bits, double* scratch) {
  double products[2][1 << Factors::kLowBits] = {{1}, {1}};
  double added[4] = {};
  for (size_t g = 0; g < size_t{1} << bits; ++g) added[g % 4] += sums[g];
  for (uint32_t bit = 0; bit < bits; ++bit) {
    const double zeros = added[0] + added[2], ones = added[1] + added[3];
    const double q = ones / (zeros + ones);
    fold_sums(sums, size_t{1} << (bits - bit - 1), q, scratch, added);
    sums = scratch;
    double* half = products[bit / Factors::kLowBits];
    const size_t run = size_t{1} << bit % Factors::kLowBits;
    for (size_t g = 0; g < run; ++g) {
      half[run + g] = half[g] * (2 - q);
      half[g] *= 1 - q;
    }
  }
  const auto factor = [](double product) { return product >= kMinFactor ? static_cast<float>(product) : 0.0f; };
  Factors factors;
  std::transform(products[0], products[0] + std::size(factors.low), factors.low, factor);
  std::transform(products[1], products[1] + std::size(factors.high), factors.high, factor);
  return factors;
}

// Plays the rounds for all tokens at the same time, several layers per pass over the tokens. The factors of the last
// pass are never multiplied in: the draw first selects a pattern of its layers, and then one of the tokens with that
// pattern.
class Tournament {
 public:
  // Overwrites the candidates' weights.
  Tournament(Candidates& candidates, const SamplerScratch& scratch, uint64_t seed, uint32_t layers)
      : candidates_(candidates), count_(candidates.count()), p_(candidates.scratch_weights()), words_(scratch.words) {
    for (uint32_t layer = 0;;) {
      shift_ = layer % kWordBits;
      if (shift_ == 0) hash_words(seed, layer > 0);
      bits_ = bits_from(layer, layers);
      sum_by_pattern();
      factors_ = play_rounds(sums_, bits_, scratch.bucket_totals);
      total_ = scratch.bucket_totals[0];
      layer += bits_;
      if (layer == layers) return;
      scale();
    }
  }

  // Returns the index where the sum of p reaches the fraction `random` (0 ... 1) of the total.
  size_t draw(double random) const {
    const size_t patterns = size_t{1} << bits_;
    const double target = random * total_;
    double before = 0;
    size_t likely = 0;  // last pattern with a probability above 0
    for (size_t g = 0; g < patterns; ++g) {
      if (!(part(g) > 0)) continue;
      likely = g;
      if (before + part(g) > target) return draw_of(g, (target - before) / factor(g));
      before += part(g);
    }
    // Because of rounding, the sum has not exceeded the target.
    return draw_of(likely, std::numeric_limits<double>::infinity());
  }

 private:
  uint32_t bits_from(uint32_t layer, uint32_t layers) const {
    const auto few = static_cast<uint32_t>(std::bit_width(count_)) - 1;
    return std::min({few, layers - layer, kMaxBits, kWordBits - layer % kWordBits});
  }
  size_t pattern(size_t i) const { return words_[i] >> shift_ & ((1u << bits_) - 1); }

  // Computes the low or the high half of each token's hash, which has the g of 32 layers.
  void hash_words(uint64_t seed, bool high) {
    for (size_t i = 0; i < count_; ++i) {
      const uint64_t hash = split_mix(seed, static_cast<uint32_t>(candidates_.id(i)));
      words_[i] = static_cast<uint32_t>(high ? hash >> 32 : hash);
    }
  }
  // Sums p in floats, over blocks that are small enough for the precision of a float.
  void sum_by_pattern() {
    constexpr size_t kPart = 1 << 16;  // number of tokens per block
    const size_t patterns = size_t{1} << bits_;
    std::fill_n(sums_, patterns, 0.0);
    for (size_t first = 0; first < count_; first += kPart) {
      float some[1 << kMaxBits] = {};
      for (size_t i = first; i < std::min(first + kPart, count_); ++i) some[pattern(i)] += p_[i];
      for (size_t g = 0; g < patterns; ++g) sums_[g] += static_cast<double>(some[g]);
    }
  }
  void scale() {
    for (size_t i = 0; i < count_; ++i) {
      const size_t g = pattern(i);
      const float scaled = p_[i] * (factors_.low[g % 32] * factors_.high[g / 32]);
      p_[i] = scaled >= kMinPart ? scaled : 0.0f;
    }
  }

  double factor(size_t pattern) const {
    return static_cast<double>(factors_.low[pattern % 32] * factors_.high[pattern / 32]);
  }
  double part(size_t pattern) const { return sums_[pattern] * factor(pattern); }

  // Returns the first index with this pattern where the running sum of p exceeds `target`, or the last index with a p
  // above 0.
  size_t draw_of(size_t wanted, double target) const {
    double sum = 0;
    size_t last = 0;
    for (size_t i = 0; i < count_; ++i) {
      if (pattern(i) != wanted || !(p_[i] > 0)) continue;
      last = i;
      sum += static_cast<double>(p_[i]);
      if (sum > target) return i;
    }
    return last;
  }

  const Candidates& candidates_;
  size_t count_;
  float* p_;  // p before the rounds of the last pass
  uint32_t* words_;
  uint32_t shift_ = 0;  // position of the bits of the last pass
  uint32_t bits_ = 0;
  Factors factors_;
  double total_ = 0;            // total after the rounds of the last pass
  double sums_[1 << kMaxBits];  // sums of p by pattern
};

}  // namespace

uint64_t context_seed(const WatermarkParams& params, std::span<const int32_t> context) {
  uint64_t seed = params.key;
  for (size_t i = 0; i < context.size(); ++i) {
    const Words words = philox({static_cast<uint32_t>(context[i]), static_cast<uint32_t>(i),
                                static_cast<uint32_t>(context.size()), static_cast<uint32_t>(params.scheme)},
                               seed);
    seed = words[0] | uint64_t{words[1]} << 32;
  }
  return seed;
}

uint32_t green_threshold(float gamma) {
  const auto threshold = static_cast<uint32_t>(gamma * 0x1p24f + 0.5f);  // NOLINT(bugprone-incorrect-roundings)
  return std::clamp<uint32_t>(threshold, 1, (1 << 24) - 1);
}

uint64_t green_word(uint64_t seed, uint32_t threshold, uint64_t block) {
  // Compares the 64 numbers with the threshold in parallel, from the lowest bit up. Bits below the threshold's lowest
  // set bit have no influence.
  uint64_t less = 0;
  for (uint32_t bit = static_cast<uint32_t>(std::countr_zero(threshold)); bit < 24; ++bit) {
    const uint64_t word = split_mix(seed, 24 * block + (23 - bit));
    less = (threshold >> bit & 1) != 0 ? less | ~word : less & ~word;
  }
  return less;
}

SelfHash::SelfHash(const WatermarkParams& params, std::span<const int32_t> context)
    : count_(context.size() + 1), threshold_(green_threshold(params.gamma)) {
  assert(count_ <= WatermarkParams::kMaxContextWidth);
  constexpr auto kScheme = static_cast<uint32_t>(WatermarkScheme::kSelfHash);
  for (size_t i = 0; i < context.size(); ++i) {
    const auto token = static_cast<uint32_t>(context[i]);
    anchors_[i] = static_cast<int32_t>(philox({token, 1, 0, kScheme}, params.key)[0]);
  }
  const Words own = philox({0, 0, 0, kScheme}, params.key);
  anchors_[context.size()] = static_cast<int32_t>(own[0]);
  in_ = own[1];
  out_ = own[2];
}

uint32_t SelfHash::hash(int32_t token) const {
  const auto mixed = static_cast<int32_t>(mix32(static_cast<uint32_t>(token) ^ in_));
  int32_t minimum = INT32_MAX;
  for (size_t a = 0; a < count_; ++a) minimum = std::min(minimum, anchors_[a] ^ mixed);
  return mix32(static_cast<uint32_t>(minimum) ^ out_) >> 8;
}

size_t SelfHash::anchor(int32_t token) const {
  const auto mixed = static_cast<int32_t>(mix32(static_cast<uint32_t>(token) ^ in_));
  size_t nearest = 0;
  for (size_t a = 1; a < count_; ++a) {
    if ((anchors_[a] ^ mixed) < (anchors_[nearest] ^ mixed)) nearest = a;
  }
  return nearest;
}

// Adds delta to the logits of the green tokens (Kirchenbauer et al. 2023, "A Watermark for Large Language Models"; for
// self hash and anchors: 2024, "On the Reliability of Watermarks for Large Language Models"). Does nothing if the
// history is shorter than the context, or if the scheme has no green list.
void stages::watermark(Candidates& candidates, const StageInput& input) {
  const WatermarkParams& params = input.params.watermark;
  const TokenHistory& history = input.sample.history;
  const size_t size = context_size(params);
  if (replaces_selection(params.scheme) || history.size() < size) return;
  int32_t tokens[WatermarkParams::kMaxContextWidth];
  const std::span<const int32_t> context = newest(history, size, tokens);
  const uint32_t threshold = green_threshold(params.gamma);
  if (params.scheme == WatermarkScheme::kLeftHash) {
    add_left_hash(candidates, context_seed(params, context), threshold, params.delta);
  } else {
    add_self_hash(candidates, SelfHash(params, context), params.delta);
  }
}

Status fail_without_watermark(Error* error) {
  return fail(error, Status::kUnsupported, "watermark: this library is built with SOTTO_WITH_WATERMARK=OFF");
}

bool watermark_seed(const WatermarkParams& params, PastTokens& past, uint64_t* seed) {
  const size_t size = context_size(params);
  if (past.history().size() < size) return false;
  const std::span<const uint32_t> repeats = past.repeats();
  const size_t last = std::min(past.generated_count(), repeats.size() - 1);
  for (size_t back = 1; back <= last; ++back) {
    if (repeats[back] >= size) return false;
  }
  int32_t tokens[WatermarkParams::kMaxContextWidth];
  *seed = context_seed(params, newest(past.history(), size, tokens));
  return true;
}

int32_t select_tournament(Candidates& candidates, const SamplerScratch& scratch, uint64_t seed, uint32_t layers,
                          uint64_t random) {
  if (candidates.count() == 1 || candidates.max() == kMinusInfinity) return candidates.id(0);
  const Tournament tournament(candidates, scratch, seed, layers);
  return candidates.id(tournament.draw(uniform(random)));
}

int32_t select_gumbel_watermark(const Candidates& candidates, uint64_t seed) {
  if (candidates.count() == 1 || candidates.max() == kMinusInfinity) return candidates.id(0);
  // -ln(r) / p is smallest where r^(1/p) is largest, and (1 - r) / p is a lower bound of it.
  const float* weights = candidates.weights();
  ComplementStream complements(seed);
  const size_t winner = find_first_arrival(candidates.count(), [&](size_t i, double earliest) {
    const auto weight = static_cast<double>(weights[i]);
    const double rest = complements.of(candidates.id(i));
    return rest < earliest * weight ? -ln(1 - rest) / weight : earliest;
  });
  return candidates.id(winner);
}

}  // namespace sotto
