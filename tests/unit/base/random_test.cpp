// Compares Philox4x32-10 with the known answers of Random123, and tests the stream built on it.
#include "runtime/base/random.h"

#include <gtest/gtest.h>

#include <set>

namespace sotto {
namespace {

using Words = std::array<uint32_t, 4>;

// tests/kat_vectors of Random123, the lines "philox4x32 10".
TEST(Philox, PublishedVectorsHold) {
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32_10({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomBits, AreTheFirstWordsOfTheBlock) {
  EXPECT_EQ(random_bits(0, 0), 0xe169c58d6627e8d5u);
  const Words words = philox4x32_10({0x89abcdef, 0x01234567, 0, 0}, {0x76543210, 0xfedcba98});
  EXPECT_EQ(random_bits(0xfedcba9876543210, 0x0123456789abcdef), words[0] | uint64_t{words[1]} << 32);
}

TEST(RandomBits, BothHalvesOfSeedAndIndexCount) {
  std::set<uint64_t> seen;
  for (const uint64_t seed : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32, UINT64_MAX}) {
    for (const uint64_t index : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 32, UINT64_MAX}) {
      seen.insert(random_bits(seed, index));
    }
  }
  EXPECT_EQ(seen.size(), 16u);
}

TEST(RandomBits, EveryBitIsSetHalfTheTime) {
  constexpr int kDraws = 100000;
  for (int bit = 0; bit < 64; ++bit) {
    int set = 0;
    for (int i = 0; i < kDraws; ++i) set += static_cast<int>(random_bits(7, i) >> bit & 1);
    EXPECT_NEAR(set, kDraws / 2, 800) << bit;  // five standard deviations
  }
}

TEST(MultiplyHigh, AgreesWithWideArithmetic) {
  EXPECT_EQ(multiply_high(UINT64_MAX, UINT64_MAX), UINT64_MAX - 1);
  EXPECT_EQ(multiply_high(UINT64_MAX, 1), 0u);
  EXPECT_EQ(multiply_high(uint64_t{1} << 63, 10), 5u);
#ifdef __SIZEOF_INT128__
  __extension__ using Wide = unsigned __int128;
  for (uint64_t i = 0; i < 10000; ++i) {
    const uint64_t a = random_bits(1, i) >> (i % 64), b = random_bits(2, i) >> (i / 64 % 64);
    ASSERT_EQ(multiply_high(a, b), static_cast<uint64_t>(Wide{a} * b >> 64)) << a << " " << b;
  }
#endif
}

}  // namespace
}  // namespace sotto
