// Tests the slots of the KV ring against a simulation, the rows that it stores and passes to kernels, and its size: the
// documented formula, and overflow of size_t.
#include "runtime/transformer/kv_ring.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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
        const SlotWindow window = ring.window_of(position);
        for (const SlotSpan& span : window.view()) {
          EXPECT_GT(span.count, 0u);
          for (uint32_t i = 0; i < span.count; ++i) seen.push_back(held.at(span.first + i));
        }
        ASSERT_EQ(seen, expected) << slot_count << " slots, " << sink_count << " sinks, position " << position;
      }
    }
  }
}

// A ring of 3 layers, 2 heads, 5 slots and 2 slots of beams, in memory that is 0x55.
class KvRingMemory : public testing::Test {
 protected:
  static constexpr KvSizes kSizes = {3, 2, 31, 5, 1, 2};
  static constexpr size_t kSlots = 7, kStride = 32;

  KvRingMemory() : memory_(KvRing::byte_size(kSizes) + kMemoryAlignment, 0x55) {
    const auto address = reinterpret_cast<uintptr_t>(memory_.data());
    Arena arena(memory_.data() + (align_up(address, kMemoryAlignment) - address));
    ring_.layout(arena, kSizes);
    kernels_.quantize_symmetric = [](const float* x, size_t n, int8_t* q) {
      std::fill_n(q, n, static_cast<int8_t>(*x));
      return *x;
    };
    kernels_.attention = [](const AttentionArgs& args) { attention_ = args; };
    kernels_.attention_rows = [](const AttentionRowsArgs& args) { rows_ = args; };
  }

  std::vector<uint8_t> memory_;
  KvRing ring_;
  Kernels kernels_ = {};
  static inline AttentionArgs attention_;
  static inline AttentionRowsArgs rows_;
};

TEST_F(KvRingMemory, HeadsShareNoBytes) {
  const KvRing::Head first = ring_.head_of(0, 0);
  for (uint32_t i = 0; i < 6; ++i) {
    const KvRing::Head head = ring_.head_of(i / 2, i % 2);
    EXPECT_EQ(head.stride, kStride);
    EXPECT_EQ(head.keys, first.keys + i * kSlots * kStride);
    EXPECT_EQ(head.values, first.values + i * kSlots * kStride);
    EXPECT_EQ(head.key_scales, first.key_scales + i * kSlots);
    EXPECT_EQ(head.value_scales, first.value_scales + i * kSlots);
  }
  EXPECT_LE(first.keys + 6 * kSlots * kStride, first.values);
  EXPECT_LE(first.key_scales + 6 * kSlots, first.value_scales);
}

TEST_F(KvRingMemory, StoresRowsThatEndInZeros) {
  const float key = 3, value = 5;
  constexpr size_t kSlot = 4;
  ring_.store(kernels_, 1, 1, kSlot, &key, &value);
  const KvRing::Head head = ring_.head_of(1, 1);
  const int8_t* const row = head.keys + kSlot * kStride;
  const int8_t* const value_row = head.values + kSlot * kStride;
  for (size_t i = 0; i < kStride; ++i) {
    EXPECT_EQ(row[i], i < 31 ? 3 : 0) << i;
    EXPECT_EQ(value_row[i], i < 31 ? 5 : 0) << i;
  }
  EXPECT_EQ(head.key_scales[kSlot], 3);
  EXPECT_EQ(head.value_scales[kSlot], 5);
  EXPECT_EQ(memory_.size() - static_cast<size_t>(std::count(memory_.begin(), memory_.end(), 0x55)),
            2 * (kStride + sizeof(float)));
}

TEST_F(KvRingMemory, AttentionReadsTheRowsOfItsHead) {
  const float query = 1;
  float scores = 0, output = 0;
  const SlotWindow window = ring_.window_of(6);
  for (const uint32_t head : {0u, 1u}) {
    ring_.attend(kernels_, 2, head, window.view(), &query, &scores, &output);
    const KvRing::Head rows = ring_.head_of(2, head);
    EXPECT_EQ(attention_.query, &query);
    EXPECT_EQ(attention_.keys, rows.keys);
    EXPECT_EQ(attention_.key_scales, rows.key_scales);
    EXPECT_EQ(attention_.values, rows.values);
    EXPECT_EQ(attention_.value_scales, rows.value_scales);
    EXPECT_EQ(attention_.head_size, 31u);
    EXPECT_EQ(attention_.row_stride, kStride);
    EXPECT_EQ(attention_.score_scale, 1 / std::sqrt(31.0f));
    EXPECT_EQ(attention_.spans, window.spans);
    EXPECT_EQ(attention_.span_count, window.span_count);
    EXPECT_EQ(attention_.scores, &scores);
    EXPECT_EQ(attention_.output, &output);
    EXPECT_EQ(attention_.next_keys, head == 0 ? ring_.head_of(2, 1).keys : nullptr);
  }
}

TEST_F(KvRingMemory, AttentionOfRowsBeginsAtTheirPosition) {
  AttentionRowsArgs args = {};
  args.row_count = 2;
  ring_.attend_rows(kernels_, 1, 1, 3, args);
  const KvRing::Head rows = ring_.head_of(1, 1);
  EXPECT_EQ(rows_.slot_count, 4u);
  EXPECT_EQ(rows_.row_count, 2u);
  EXPECT_EQ(rows_.keys, rows.keys);
  EXPECT_EQ(rows_.key_scales, rows.key_scales);
  EXPECT_EQ(rows_.values, rows.values);
  EXPECT_EQ(rows_.value_scales, rows.value_scales);
  EXPECT_EQ(rows_.head_size, 31u);
  EXPECT_EQ(rows_.row_stride, kStride);
  EXPECT_EQ(rows_.score_scale, 1 / std::sqrt(31.0f));
}

}  // namespace
}  // namespace sotto
