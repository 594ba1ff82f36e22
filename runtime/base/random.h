// Philox4x32-10 (Salmon et al. 2011), a counter-based generator. Each number is a function of the seed and of its place
// in the stream, so that a session can be rewound, forked and replayed without storing a generator's state.
#pragma once

#include <array>
#include <cstdint>

namespace sotto {

std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// Returns 64 uniform bits: number `index` of the stream that `seed`, `sequence` and `lane` select.
uint64_t random_bits(uint64_t seed, uint64_t index, uint32_t sequence = 0, uint32_t lane = 0);

// Returns 64 uniform bits: output `index` of SplitMix64 (Steele et al. 2014) seeded with `seed`. Several times faster
// than Philox, for uses that need a number per token of the vocabulary.
inline uint64_t split_mix(uint64_t seed, uint64_t index) {
  uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

// Returns a uniform number in [0, 1), from uniform bits.
inline double uniform(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

// Returns the upper half of a * b. For uniform `a` this is a uniform number less than b.
uint64_t multiply_high(uint64_t a, uint64_t b);

}  // namespace sotto
