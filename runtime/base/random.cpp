#include "runtime/base/random.h"

namespace sotto {

std::array<uint32_t, 4> philox4x32_10(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = uint64_t{0xD2511F53} * counter[0];
    const uint64_t product1 = uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key[0] += 0x9E3779B9;  // the Weyl sequence of Philox: its increments are the golden ratio and sqrt(3) - 1
    key[1] += 0xBB67AE85;
  }
  return counter;
}

uint64_t random_bits(uint64_t seed, uint64_t index, uint32_t sequence, uint32_t lane) {
  const std::array<uint32_t, 4> words =
      philox4x32_10({static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32), sequence, lane},
                    {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return words[0] | uint64_t{words[1]} << 32;
}

uint64_t multiply_high(uint64_t a, uint64_t b) {
  const uint64_t a_low = a & UINT32_MAX, a_high = a >> 32;
  const uint64_t b_low = b & UINT32_MAX, b_high = b >> 32;
  const uint64_t carry = a_high * b_low + (a_low * b_low >> 32);
  const uint64_t middle = a_low * b_high + (carry & UINT32_MAX);
  return a_high * b_high + (carry >> 32) + (middle >> 32);
}

}  // namespace sotto
