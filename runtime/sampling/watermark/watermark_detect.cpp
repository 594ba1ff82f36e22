#include "runtime/sampling/watermark/watermark_detect.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "runtime/base/bits.h"
#include "runtime/base/features.h"
#include "runtime/base/range_check.h"
#include "runtime/base/scalar_math.h"
#include "runtime/sampling/chain.h"
#include "runtime/sampling/watermark/watermark.h"

namespace sotto {
namespace {

// A Bloom filter with one hash function. The filter proves that most new hashes are new, which saves a search.
class SeenFilter {
 public:
  // Adds the hash. Returns false if it has certainly not been added before.
  bool may_contain(uint64_t hash) {
    const auto place = static_cast<size_t>(hash >> 48);
    const bool seen = has_bit(words_, place);
    set_bit(words_, place);
    return seen;
  }

 private:
  uint64_t words_[1024] = {};
};

class Detector {
 public:
  Detector(const WatermarkParams& params, std::span<const int32_t> tokens)
      : params_(params), tokens_(tokens), size_(context_size(params)), threshold_(green_threshold(params.gamma)) {}

  void score() {
    for (size_t place = size_; place < tokens_.size(); ++place) {
      switch (params_.scheme) {
        case WatermarkScheme::kLeftHash:
          score_left_hash(place);
          break;
        case WatermarkScheme::kSelfHash:
          score_self_hash(place);
          break;
        case WatermarkScheme::kTournament:
          score_tournament(place);
          break;
        case WatermarkScheme::kGumbel:
          score_gumbel(place);
          break;
        case WatermarkScheme::kNone:
          break;
      }
    }
  }

  WatermarkResult result() const {
    WatermarkResult result;
    if (count_ == 0) return result;
    const auto n = static_cast<double>(count_);
    const double gamma = green_fraction(threshold_);
    result.token_count = count_;
    if (params_.scheme == WatermarkScheme::kTournament) {
      const double rounds = n * params_.tournament_layers;
      result.score = sum_ / rounds;
      result.z = (result.score - 0.5) * 2 * std::sqrt(rounds);
    } else if (params_.scheme == WatermarkScheme::kGumbel) {
      result.score = sum_ / n;
      result.z = (cube_root(result.score) - (1 - 1 / (9 * n))) * 3 * std::sqrt(n);
    } else {
      result.score = sum_;
      result.z = (sum_ - gamma * n) / std::sqrt(n * gamma * (1 - gamma));
    }
    result.p_value = normal_tail(result.z);
    result.is_marked = result.z > kMarkedAbove;
    return result;
  }

 private:
  // Returns the cube root of x < 2^10, by Newton's method from above.
  static double cube_root(double x) {
    double y = x > 1 ? x : 1;
    for (int i = 0; i < 40; ++i) y = (2 * y + x / (y * y)) / 3;
    return y;
  }

  std::span<const int32_t> context(size_t place) const { return tokens_.subspan(place - size_, size_); }
  void add(double score) {
    sum_ += score;
    ++count_;
  }

  // Returns whether the `count` tokens before `end` also occur earlier. These tokens are the context of a scored place,
  // or its context followed by its token.
  bool stands_earlier(size_t end, size_t count) const {
    for (size_t other = end - 1; other >= size_ + (count > size_ ? 1 : 0); --other) {
      size_t same = 0;
      while (same < count && tokens_[other - 1 - same] == tokens_[end - 1 - same]) ++same;
      if (same == count) return true;
    }
    return false;
  }

  void score_left_hash(size_t place) {
    const uint64_t seed = context_seed(params_, context(place));
    const auto token = static_cast<uint32_t>(tokens_[place]);
    if (seen_.may_contain(split_mix(seed, token)) && stands_earlier(place + 1, size_ + 1)) return;
    add(green_word(seed, threshold_, token / 64) >> (token % 64) & 1 ? 1 : 0);
  }

  // Returns the token whose anchor decides whether the token at `place` is green.
  int32_t anchor_token(size_t place, const SelfHash& hash) const {
    const size_t anchor = hash.anchor(tokens_[place]);
    return anchor == size_ ? kNoTokenId : context(place)[anchor];
  }

  void score_self_hash(size_t place) {
    const SelfHash hash(params_, context(place));
    const int32_t token = tokens_[place], decides = anchor_token(place, hash);
    const uint64_t pair = uint64_t{static_cast<uint32_t>(decides)} << 32 | static_cast<uint32_t>(token);
    if (seen_.may_contain(split_mix(params_.key, pair))) {
      for (size_t other = size_; other < place; ++other) {
        if (tokens_[other] != token) continue;
        if (anchor_token(other, SelfHash(params_, context(other))) == decides) return;
      }
    }
    add(hash.is_green(token) ? 1 : 0);
  }

  bool is_new_context(size_t place, uint64_t* seed) {
    *seed = context_seed(params_, context(place));
    return !(seen_.may_contain(*seed) && stands_earlier(place, size_));
  }

  void score_tournament(size_t place) {
    uint64_t seed;
    if (!is_new_context(place, &seed)) return;
    const uint64_t g = split_mix(seed, static_cast<uint32_t>(tokens_[place]));
    add(std::popcount(g << (64 - params_.tournament_layers)));
  }

  void score_gumbel(size_t place) {
    uint64_t seed;
    if (!is_new_context(place, &seed)) return;
    add(-ln(1 - uniform_of(seed, tokens_[place])));
  }

  const WatermarkParams& params_;
  std::span<const int32_t> tokens_;
  size_t size_;  // size of the context
  uint32_t threshold_;
  uint64_t count_ = 0;
  double sum_ = 0;
  SeenFilter seen_;
};

}  // namespace

double normal_tail(double z) {
  if (!(z >= 0)) return z < 0 ? 1 - normal_tail(-z) : 1;
  if (z > 37) return 0;
  constexpr double kDensityAtZero = 0.39894228040143267794;  // 1 / sqrt(2 pi)
  const double density = kDensityAtZero * e_to(-z * z / 2);
  if (z < 2.5) {
    // The power series is 1/2 - density (z + z^3/3 + z^5/(3 5) + ...).
    double term = z, sum = z;
    for (int k = 3; k < 81; k += 2) {
      term *= z * z / k;
      sum += term;
    }
    return 0.5 - density * sum;
  }
  // The continued fraction is density / (z + 1/(z + 2/(z + 3/(z + ...)))) (Laplace 1805).
  double fraction = z;
  for (int k = 160; k >= 1; --k) fraction = z + k / fraction;
  return density / fraction;
}

Status detect_watermark(const WatermarkParams& params, std::span<const int32_t> tokens, size_t vocabulary_size,
                        WatermarkResult* result, Error* error) {
  if constexpr (!kHasWatermark) return fail_without_watermark(error);
  SOTTO_TRY(check_ranges(params, error));
  if (params.scheme == WatermarkScheme::kNone) {
    return fail(error, Status::kInvalidArgument, "watermark.scheme is NONE; it must be the scheme to detect");
  }
  SOTTO_TRY(check_tokens("tokens", tokens, vocabulary_size, error));
  Detector detector(params, tokens);
  detector.score();
  *result = detector.result();
  return Status::kOk;
}

}  // namespace sotto
