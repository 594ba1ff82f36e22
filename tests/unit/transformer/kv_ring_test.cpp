// The ring's size: as documented, and never less than it needs where size_t cannot hold that.
#include "runtime/transformer/kv_ring.h"

#include <gtest/gtest.h>

namespace sotto {
namespace {

TEST(KvRing, TakesWhatItSays) {
  KvShape shape = {12, 12, 64, 1024, 4, 256};
  const size_t rows = 12 * 12 * (1024 + 256);
  EXPECT_EQ(KvRing::byte_size(shape), 2 * rows * (64 + sizeof(float)));
  shape.head_size = 60;  // padded
  EXPECT_EQ(KvRing::byte_size(shape), 2 * rows * (64 + sizeof(float)));
}

// What 64 sequences of a 1.5 billion model take wraps around in 32 bits, these in 64.
TEST(KvRing, TellsWhatNoMachineCanHold) {
  const KvShape sequences = {48, 25, 64, 1024, 4, 64 * 1024};
  const KvShape layers_by_heads = {UINT32_MAX, UINT32_MAX, 64, UINT32_MAX, 4, UINT32_MAX};
  const KvShape rows_by_bytes = {1u << 20, 1u << 20, 256, 1u << 20, 4, 0};
  for (const KvShape& shape : {sequences, layers_by_heads, rows_by_bytes}) {
    if (sizeof(size_t) > 4 && shape.layer_count == sequences.layer_count) continue;
    Arena measure;
    KvRing().lay_out(shape, &measure);
    EXPECT_TRUE(measure.overflowed()) << shape.layer_count;
  }
}

}  // namespace
}  // namespace sotto
