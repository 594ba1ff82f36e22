// Tests that objects in the caller's memory need exactly the measured size, and that failures write nothing.
#include "runtime/base/object_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace sotto {
namespace {

struct Table {
  static constexpr size_t kObjectBytes = 128;

  void layout(Arena& arena, size_t key_count, size_t value_count) {
    keys = arena.take<float>(key_count);
    values = arena.take<float>(value_count);
    bytes = arena.size();
  }

  float* keys = nullptr;
  float* values = nullptr;
  size_t bytes = 0;
};

struct alignas(kMemoryAlignment) Block {
  uint8_t bytes[kMemoryAlignment];
};

TEST(ObjectMemory, MeasuresWhatItUses) {
  size_t size = 0;
  ASSERT_EQ(measure_object<Table>(&size, nullptr, size_t{3}, size_t{100}), Status::kOk);
  EXPECT_EQ(size, 128u + 64u + 448u);
  std::vector<Block> memory(size / sizeof(Block));
  Table* table = nullptr;
  ASSERT_EQ(create_object(memory.data(), size, &table, nullptr, size_t{3}, size_t{100}), Status::kOk);
  EXPECT_EQ(static_cast<void*>(table), memory.data());
  EXPECT_EQ(static_cast<void*>(table->keys), memory.data() + 2);
  EXPECT_EQ(static_cast<void*>(table->values), memory.data() + 3);
  EXPECT_EQ(table->bytes, size);
}

// On 32-bit hosts, the parameters of sessions, chats, matchers and samplers can ask for more than can be addressed.
TEST(ObjectMemory, WritesNothingIfTheSizeOverflows) {
  for (const size_t count : {SIZE_MAX, SIZE_MAX / 8}) {
    size_t size = 17;
    Error error;
    EXPECT_EQ(measure_object<Table>(&size, &error, count, count), Status::kInvalidArgument);
    EXPECT_EQ(size, 17u);
    EXPECT_EQ(error.status, Status::kInvalidArgument);
    Block memory = {};
    Table* table = nullptr;
    EXPECT_EQ(create_object(&memory, SIZE_MAX, &table, nullptr, count, count), Status::kInvalidArgument);
    EXPECT_EQ(table, nullptr);
  }
}

TEST(ObjectMemory, WritesNothingIfTheMemoryDoesNotSuffice) {
  std::vector<Block> memory(4);
  std::memset(memory.data(), 0x5a, 4 * sizeof(Block));
  const std::vector<Block> before = memory;
  Table* table = nullptr;
  EXPECT_EQ(create_object(memory.data(), 255, &table, nullptr, size_t{1}, size_t{1}), Status::kMemoryTooSmall);
  EXPECT_EQ(create_object(memory[0].bytes + 8, 512, &table, nullptr, size_t{1}, size_t{1}), Status::kMemoryMisaligned);
  EXPECT_EQ(table, nullptr);
  EXPECT_EQ(std::memcmp(memory.data(), before.data(), 4 * sizeof(Block)), 0);
  EXPECT_EQ(create_object(memory.data(), 256, &table, nullptr, size_t{1}, size_t{1}), Status::kOk);
}

}  // namespace
}  // namespace sotto
