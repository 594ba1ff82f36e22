// Watermarks mark generated text. With the key, a program can distinguish it from other text (README.md of this
// directory). The hashes below are a specification, so that other programs can detect the watermarks.
//
// philox(a, b, c, d; key) is Philox4x32-10 of that counter, with the low half of the key first. mix(s, i) is split_mix:
// output i of SplitMix64 seeded with s. Tokens are numbers below 2^32.
//
// The seed s of a context t_0 ... t_(w-1), oldest token first, under a scheme (its number): s = key, then for i = 0 ...
// w - 1: s = words 0 (low) and 1 of philox(t_i, i, w, scheme; s).
//
// kLeftHash: token x is green if its 24-bit number is below G, which is gamma 2^24, rounded. Bit 23 - j of this number,
// for j = 0 ... 23, is bit x % 64 of mix(s, 24 (x / 64) + j).
//
// kSelfHash: philox(0, 0, 0, 2; key) gives own, in and out, which are its words 0, 1 and 2. Let the context before x
// have w - 1 tokens, a_0 = own, and a_i be word 0 of philox(t_i, 1, 0, 2; key). Let b = mix32(x ^ in), and let m be the
// smallest of a_i ^ b as signed numbers. Token x is green if mix32(m ^ out) / 2^8 is below G. mix32 is the 32-bit hash
// of Wellons (2018, "prospecting for hash functions"): h ^= h >> 16, h *= 0x21f0aaad, h ^= h >> 15, h *= 0xd35a2d97, h
// ^= h >> 15.
//
// kTournament: the g of token x in layer l is bit l of mix(s, x).
//
// kGumbel: the r of token x is (h + 1/2) / 2^32, where h is the low half of mix(s, x / 2) if x is even, and the high
// half otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/random.h"
#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/sampling/candidates.h"
#include "runtime/sampling/past_tokens.h"
#include "runtime/sampling/sample_input.h"

namespace sotto {

// Returns the number of tokens that are hashed. With kSelfHash, one of them is the scored token itself.
inline size_t context_width(const WatermarkParams& params) {
  if (params.context_width > 0) return params.context_width;
  return params.scheme == WatermarkScheme::kLeftHash ? 1 : 4;
}

// Returns the number of hashed tokens that precede a token.
inline size_t context_size(const WatermarkParams& params) {
  return context_width(params) - (params.scheme == WatermarkScheme::kSelfHash ? 1 : 0);
}

uint64_t context_seed(const WatermarkParams& params, std::span<const int32_t> context);

// Returns gamma as a 24-bit number from 1 to 2^24 - 1 (G above).
uint32_t green_threshold(float gamma);
// Returns the fraction of tokens that are green with this threshold.
inline double green_fraction(uint32_t threshold) { return threshold * 0x1p-24; }

// Returns the bits of 64 tokens for kLeftHash: bit i is set if token 64 block + i is green.
uint64_t green_word(uint64_t seed, uint32_t threshold, uint64_t block);

// The self hash (kSelfHash) of the tokens that may follow one context.
class SelfHash {
 public:
  SelfHash(const WatermarkParams& params, std::span<const int32_t> context);

  uint32_t hash(int32_t token) const;  // has 24 bits
  bool is_green(int32_t token) const { return hash(token) < threshold_; }
  // Returns the index of the context token with the smallest anchor, or the size of the context if the token's own
  // anchor is the smallest.
  size_t anchor(int32_t token) const;

 private:
  int32_t anchors_[WatermarkParams::kMaxContextWidth];  // one per token of the context, then one for the token itself
  size_t count_;
  uint32_t in_;
  uint32_t out_;
  uint32_t threshold_;
};

// Generates 1 - r for each token (kGumbel), in (0, 1). Two neighbouring tokens share a hash.
class ComplementStream {
 public:
  explicit ComplementStream(uint64_t seed) : seed_(seed) {}
  double of(int32_t token) {
    const auto x = static_cast<uint32_t>(token);
    if (x / 2 != pair_) {
      pair_ = x / 2;
      hashed_ = split_mix(seed_, pair_);
    }
    return (~static_cast<uint32_t>(hashed_ >> (x % 2 * 32)) + 0.5) * 0x1p-32;
  }

 private:
  uint64_t seed_;
  uint32_t pair_ = UINT32_MAX;
  uint64_t hashed_ = 0;
};

inline double uniform_of(uint64_t seed, int32_t token) { return 1 - ComplementStream(seed).of(token); }

// Fails with the message that watermarks are not part of this build.
Status fail_without_watermark(Error* error);

// Returns whether the scheme replaces the selection.
inline bool replaces_selection(WatermarkScheme scheme) {
  return scheme == WatermarkScheme::kTournament || scheme == WatermarkScheme::kGumbel;
}

// Writes the seed for the next token of a scheme that replaces the selection. Returns false if the history is too
// short, or if the same context has already preceded a generated token: the same seed would select the same token again
// (repeated context masking, Dathathri et al. 2024).
bool watermark_seed(const WatermarkParams& params, PastTokens& past, uint64_t* seed);

// Tournament sampling (Dathathri et al. 2024, "Scalable watermarking for identifying large language model outputs")
// with two tokens per match. Returns the token that wins a tournament of `layers` rounds among the whole
// distribution. Each round replaces p by p (1 + g - q), where q is the probability of g = 1. `random` selects from the
// p after the last round.
int32_t select_tournament(Candidates& candidates, const SamplerScratch& scratch, uint64_t seed, uint32_t layers,
                          uint64_t random);

// Returns the token with the largest r^(1/p) (Aaronson 2022), and the lowest id among equals.
int32_t select_gumbel_watermark(const Candidates& candidates, uint64_t seed);

}  // namespace sotto
