#include "runtime/sampling/watermark_hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

namespace sotto {

namespace {

using Words = std::array<uint32_t, 4>;

Words philox(Words counter, uint64_t key) {
  return philox4x32_10(counter, {static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)});
}

inline uint32_t mix32(uint32_t h) {
  h = (h ^ h >> 16) * 0x21f0aaad;
  h = (h ^ h >> 15) * 0xd35a2d97;
  return h ^ h >> 15;
}

inline int32_t lesser(int32_t a, int32_t b) { return a < b ? a : b; }

}  // namespace

uint64_t context_seed(const WatermarkParams& params, std::span<const int32_t> context) {
  uint64_t seed = params.key;
  for (size_t i = 0; i < context.size(); ++i) {
    const Words words = philox({static_cast<uint32_t>(context[i]), static_cast<uint32_t>(i),
                                static_cast<uint32_t>(context.size()),
                                static_cast<uint32_t>(params.scheme)},
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
  // 64 comparisons at once, from the lowest bit up. Below the threshold's lowest one bit
  // every number is no less.
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

void SelfHash::hash(const int32_t* ids, size_t first, size_t count, int32_t* hashes) const {
  assert(count <= kBatch);
  int32_t mixed[kBatch];
  for (size_t i = 0; i < count; ++i) {
    const uint32_t token = ids != nullptr ? static_cast<uint32_t>(ids[i])
                                          : static_cast<uint32_t>(first + i);
    mixed[i] = static_cast<int32_t>(mix32(token ^ in_));
  }
  for (size_t i = 0; i < count; ++i) hashes[i] = mixed[i] ^ anchors_[0];
  for (size_t a = 1; a < count_; ++a) {
    const int32_t anchor = anchors_[a];
    for (size_t i = 0; i < count; ++i) hashes[i] = lesser(hashes[i], mixed[i] ^ anchor);
  }
  for (size_t i = 0; i < count; ++i) {
    hashes[i] = static_cast<int32_t>(mix32(static_cast<uint32_t>(hashes[i]) ^ out_) >> 8);
  }
}

bool SelfHash::is_green(int32_t token) const {
  int32_t hashed;
  hash(&token, 0, 1, &hashed);
  return static_cast<uint32_t>(hashed) < threshold_;
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
