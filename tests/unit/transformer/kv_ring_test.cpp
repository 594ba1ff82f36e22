// Tests the size of the KV ring: the documented formula, and overflow of size_t.
#include "runtime/transformer/kv_ring.h"

#include <gtest/gtest.h>

namespace sotto {
namespace {

TEST(KvRing, SizeMatchesTheFormula) {
  KvSizes config = {12, 12, 64, 1024, 4, 256};
  const size_t rows = 12 * 12 * (1024 + 256);
  EXPECT_EQ(KvRing::byte_size(config), 2 * rows * (64 + sizeof(float)));
  config.head_size = 60;  // padded
  EXPECT_EQ(KvRing::byte_size(config), 2 * rows * (64 + sizeof(float)));
}

// The size of 64 sequences of a model with 1.5 billion parameters overflows 32 bits; the other sizes overflow 64 bits.
TEST(KvRing, ReportsSizesBeyondTheAddressSpace) {
  const KvSizes sequences = {48, 25, 64, 1024, 4, 64 * 1024};
  const KvSizes layers_by_heads = {UINT32_MAX, UINT32_MAX, 64, UINT32_MAX, 4, UINT32_MAX};
  const KvSizes rows_by_bytes = {1u << 20, 1u << 20, 256, 1u << 20, 4, 0};
  for (const KvSizes& config : {sequences, layers_by_heads, rows_by_bytes}) {
    if (sizeof(size_t) > 4 && config.layer_count == sequences.layer_count) continue;
    Arena measure;
    KvRing().layout(measure, config);
    EXPECT_TRUE(measure.overflowed()) << config.layer_count;
  }
}

}  // namespace
}  // namespace sotto
