// Compares XXH64 with the vectors of the xxHash distribution's own tests.
#include "runtime/base/xxhash64.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string_view>
#include <vector>

namespace sotto {
namespace {

constexpr uint64_t kPrime32 = 2654435761;

// The sanity buffer of xxhsum.
std::array<uint8_t, 222> sanity_buffer() {
  std::array<uint8_t, 222> bytes;
  uint64_t state = kPrime32;
  for (uint8_t& byte : bytes) {
    byte = static_cast<uint8_t>(state >> 56);
    state *= 11400714785074694797u;
  }
  return bytes;
}

TEST(Xxhash64, PublishedVectorsHold) {
  const auto bytes = sanity_buffer();
  struct Vector {
    size_t size;
    uint64_t seed;
    uint64_t hash;
  };
  const Vector vectors[] = {
      {0, 0, 0xEF46DB3751D8E999},         {0, kPrime32, 0xAC75FDA2929B17EF}, {1, 0, 0xE934A84ADB052768},
      {1, kPrime32, 0x5014607643A9B4C3},  {4, 0, 0x9136A0DCA57457EE},        {14, 0, 0x8282DCC4994E35C8},
      {14, kPrime32, 0xC3BD6BF63DEB6DF0}, {222, 0, 0xB641AE8CB691C174},      {222, kPrime32, 0x20CB8AB7AE10C14A}};
  for (const Vector& vector : vectors) {
    EXPECT_EQ(xxhash64(bytes.data(), vector.size, vector.seed), vector.hash)
        << vector.size << " bytes, seed " << vector.seed;
  }
}

TEST(Xxhash64, PublishedTextsHold) {
  EXPECT_EQ(xxhash64("a", 1), 0xD24EC4F1A98C6E5Bu);
  EXPECT_EQ(xxhash64("abc", 3), 0x44BC2CF5AD770999u);
  constexpr std::string_view kText = "Nobody inspects the spammish repetition";
  EXPECT_EQ(xxhash64(kText.data(), kText.size()), 0xFBCEA83C8A378BF1u);
}

TEST(Xxhash64, AlignmentDoesNotMatterAndEveryByteDoes) {
  const auto bytes = sanity_buffer();
  for (const size_t size : {1, 3, 8, 31, 32, 33, 100}) {
    const uint64_t expected = xxhash64(bytes.data(), size);
    for (size_t offset = 1; offset < 8; ++offset) {
      std::vector<uint8_t> moved(offset + size);
      std::memcpy(moved.data() + offset, bytes.data(), size);
      EXPECT_EQ(xxhash64(moved.data() + offset, size), expected);
    }
    for (size_t i = 0; i < size; ++i) {
      auto damaged = bytes;
      damaged[i] ^= 1;
      EXPECT_NE(xxhash64(damaged.data(), size), expected);
    }
  }
}

}  // namespace
}  // namespace sotto
