#include "runtime/sampling/watermark/watermark_hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

namespace sotto {

namespace {

// The 32-bit hash of Wellons (2018, "prospecting for hash functions").
uint32_t mix32(uint32_t h) {
  h = (h ^ h >> 16) * 0x21f0aaad;
  h = (h ^ h >> 15) * 0xd35a2d97;
  return h ^ h >> 15;
}

using Words = std::array<uint32_t, 4>;

Words philox(Words counter, uint64_t key) {
  return philox4x32_10(counter, {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
}

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
  const auto threshold = static_cast<uint32_t>(gamma * 0x1p24f + 0.5f);
  return std::clamp<uint32_t>(threshold, 1, (1 << 24) - 1);
}

uint64_t green_word(uint64_t seed, uint32_t threshold, uint64_t block) {
  // Compares 64 numbers with the threshold at once, from the lowest bit up. The bits below the threshold's
  // lowest one do not matter.
  uint64_t less = 0;
  for (uint32_t bit = static_cast<uint32_t>(std::countr_zero(threshold)); bit < 24; ++bit) {
    const uint64_t word = split_mix(seed, 24 * block + (23 - bit));
    less = (threshold >> bit & 1) != 0 ? less | ~word : less & ~word;
  }
  return less;
}

SelfHash::SelfHash(const WatermarkParams& params, std::span<const int32_t> context)
    : count_(context.size() + 1), threshold_(green_threshold(params.gamma)) {
  assert(count_ <= kMaxContextWidth);
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
  int32_t least = INT32_MAX;
  for (size_t a = 0; a < count_; ++a) least = std::min(least, anchors_[a] ^ mixed);
  return mix32(static_cast<uint32_t>(least) ^ out_) >> 8;
}

size_t SelfHash::anchor(int32_t token) const {
  const auto mixed = static_cast<int32_t>(mix32(static_cast<uint32_t>(token) ^ in_));
  size_t least = 0;
  for (size_t a = 1; a < count_; ++a) {
    if ((anchors_[a] ^ mixed) < (anchors_[least] ^ mixed)) least = a;
  }
  return least;
}

}  // namespace sotto
