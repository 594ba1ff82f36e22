// Tests the slots of the KV ring against a simulation, and its size: the documented formula, and overflow of size_t.
#include "runtime/transformer/kv_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

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

// Simulates which position each slot holds: a full ring overwrites the oldest token that is not a sink.
TEST(KvRing, WindowsHoldTheSinksAndTheNewestTokens) {
  for (uint32_t slot_count = 1; slot_count < 9; ++slot_count) {
    for (uint32_t sink_count = 0; sink_count < slot_count; ++sink_count) {
      KvRing ring;
      Arena measure;
      ring.layout(measure, {1, 1, 4, slot_count, sink_count, 3});
      std::vector<uint32_t> held;  // the position in each slot
      for (uint32_t position = 0; position < 4 * slot_count; ++position) {
        const uint32_t slot = ring.slot_of(position);
        if (held.size() < slot_count) {
          ASSERT_EQ(slot, held.size());
          held.push_back(position);
        } else {
          const auto oldest = std::min_element(held.begin() + sink_count, held.end());
          ASSERT_EQ(slot, static_cast<size_t>(oldest - held.begin()));
          held[slot] = position;
        }
        std::vector<uint32_t> expected = held;
        std::sort(expected.begin(), expected.end());
        std::vector<uint32_t> seen;
        for (const SlotSpan& span : ring.window_of(position).view()) {
          EXPECT_GT(span.count, 0u);
          for (uint32_t i = 0; i < span.count; ++i) seen.push_back(held.at(span.first + i));
        }
        ASSERT_EQ(seen, expected) << slot_count << " slots, " << sink_count << " sinks, position " << position;
      }
    }
  }
}

TEST(KvRing, HeadsShareNoBytes) {
  const KvSizes sizes = {3, 2, 20, 5, 1, 2};
  std::vector<uint8_t> memory(KvRing::byte_size(sizes) + kMemoryAlignment);
  const auto address = reinterpret_cast<uintptr_t>(memory.data());
  Arena arena(memory.data() + (align_up(address, kMemoryAlignment) - address));
  KvRing ring;
  ring.layout(arena, sizes);
  const int8_t* key = ring.head_of(0, 0).keys;
  const int8_t* value = ring.head_of(0, 0).values;
  const float* key_scale = ring.head_of(0, 0).key_scales;
  const float* value_scale = ring.head_of(0, 0).value_scales;
  for (uint32_t layer = 0; layer < 3; ++layer) {
    for (uint32_t head = 0; head < 2; ++head) {
      const KvRing::Head rows = ring.head_of(layer, head);
      EXPECT_EQ(rows.stride, align_up(20, kHeadAlignment));
      EXPECT_EQ(rows.keys, key);
      EXPECT_EQ(rows.values, value);
      EXPECT_EQ(rows.key_scales, key_scale);
      EXPECT_EQ(rows.value_scales, value_scale);
      key += 7 * rows.stride;
      value += 7 * rows.stride;
      key_scale += 7;
      value_scale += 7;
    }
  }
  EXPECT_LE(key, ring.head_of(0, 0).values);
}

}  // namespace
}  // namespace sotto
