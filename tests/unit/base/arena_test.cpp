// Tests that measuring and placing with an Arena agree for any sequence of arrays.
#include "runtime/base/arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/linear/linear.h"

namespace sotto {
namespace {

struct alignas(64) Block {
  uint8_t bytes[192];
};

struct Layout {
  uint8_t* bytes;
  double* numbers;
  char* none;
  Block* blocks;
  uint16_t* last;
};

Layout lay_out(Arena& arena) {
  Layout layout;
  layout.bytes = arena.take<uint8_t>(3);
  layout.numbers = arena.take<double>(9);
  layout.none = arena.take<char>(0);
  layout.blocks = arena.take<Block>(2);
  layout.last = arena.take<uint16_t>(32);
  return layout;
}

TEST(Arena, MeasuresWhatItPlaces) {
  Arena measure;
  const Layout nothing = lay_out(measure);
  EXPECT_EQ(nothing.bytes, nullptr);
  EXPECT_EQ(nothing.last, nullptr);
  EXPECT_EQ(measure.size(), 64u + 128u + 0u + 384u + 64u);
  EXPECT_FALSE(measure.overflowed());

  std::vector<Block> memory(measure.size() / sizeof(Block) + 1);
  Arena arena(memory.data());
  const Layout layout = lay_out(arena);
  EXPECT_EQ(arena.size(), measure.size());
  const auto* base = reinterpret_cast<const uint8_t*>(memory.data());
  EXPECT_EQ(layout.bytes, base);
  EXPECT_EQ(reinterpret_cast<uint8_t*>(layout.numbers), base + 64);
  EXPECT_EQ(reinterpret_cast<uint8_t*>(layout.blocks), base + 192);
  EXPECT_EQ(reinterpret_cast<uint8_t*>(layout.last), base + 576);
}

TEST(Arena, OverlaysSharePartOfTheMemory) {
  std::vector<Block> memory(4);
  Arena arena(memory.data());
  const auto* first = arena.take<uint8_t>(64);
  const uint8_t* parts[3] = {};
  arena.overlay([&](Arena& part) { parts[0] = part.take<uint8_t>(1); },
                [&](Arena& part) { parts[1] = part.take<uint8_t>(200); }, [](Arena&) {});
  parts[2] = arena.take<uint8_t>(1);
  EXPECT_EQ(parts[0], first + 64);
  EXPECT_EQ(parts[1], first + 64);
  EXPECT_EQ(parts[2], first + 64 + 256);

  Arena full;
  full.overlay([](Arena& part) { part.take<uint8_t>(SIZE_MAX); }, [](Arena&) {});
  EXPECT_TRUE(full.overflowed());
}

TEST(Arena, ReportsOverflow) {
  Arena one;
  EXPECT_EQ(one.take<uint64_t>(SIZE_MAX / 8), nullptr);
  EXPECT_TRUE(one.overflowed());

  Arena two;
  two.take<char>(SIZE_MAX - 256);
  EXPECT_FALSE(two.overflowed());
  two.take<char>(256);
  EXPECT_TRUE(two.overflowed());
}

TEST(Arena, RejectsProductsBeyondTheAddressSpace) {
  EXPECT_EQ(saturating_product(0, SIZE_MAX), 0u);
  EXPECT_EQ(saturating_product(1, SIZE_MAX), SIZE_MAX);
  EXPECT_EQ(saturating_product(SIZE_MAX / 3, 3), SIZE_MAX / 3 * 3);
  const size_t root = size_t{1} << (sizeof(size_t) * 4);
  EXPECT_EQ(saturating_product(root, root), SIZE_MAX);
  EXPECT_EQ(saturating_product(root, root + 1), SIZE_MAX);
  Arena arena;
  arena.take<char>(saturating_product(root, root + 1));
  EXPECT_TRUE(arena.overflowed());
}

// The figures of a 32-bit host: 1,024 layers that each need 4,200,000 bytes would wrap to less than 7 MB.
TEST(Arena, ManySizesDoNotWrap) {
  Arena measure;
  for (int layer = 0; layer < 1024; ++layer) measure.take<uint8_t>(SIZE_MAX / 1000);
  EXPECT_TRUE(measure.overflowed());
  EXPECT_EQ(packed_size_bound<uint32_t>(65536, 1 << 18), UINT32_MAX);
  EXPECT_EQ(packed_size_bound<uint32_t>(768, 50257), packed_size_bound(768, 50257));
  EXPECT_EQ(packed_size_bound<uint64_t>(65536, 1 << 18), (uint64_t{65536} + 16) << 18);
}

TEST(AlignUp, RoundsToTheNextMultiple) {
  EXPECT_EQ(align_up(0, 64), 0u);
  EXPECT_EQ(align_up(1, 64), 64u);
  EXPECT_EQ(align_up(64, 64), 64u);
  EXPECT_EQ(align_up(65, 64), 128u);
  EXPECT_EQ(align_up(7, 3), 9u);
}

}  // namespace
}  // namespace sotto
