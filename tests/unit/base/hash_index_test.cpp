// Compares HashIndex with a map, using hashes that collide.
#include "runtime/base/hash_index.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>
#include <vector>

namespace sotto {
namespace {

struct alignas(64) CacheLine {
  uint8_t bytes[64];
};

// Entries with keys, of whose hashes only few bits are used.
struct Keys {
  std::vector<uint32_t> keys;
  uint32_t hash_mask;

  uint32_t hash_of(uint32_t key) const { return key * 0x9E3779B1u & hash_mask; }
  uint32_t find(const HashIndex& index, uint32_t key) const {
    return index.find(hash_of(key), [&](uint32_t number) { return keys[number] == key; });
  }
  void insert(HashIndex& index, uint32_t key) {
    index.insert(hash_of(key), static_cast<uint32_t>(keys.size()));
    keys.push_back(key);
  }
};

void check_against_map(HashIndex& index, uint32_t capacity, uint32_t hash_mask) {
  Keys entries{{}, hash_mask};
  std::unordered_map<uint32_t, uint32_t> expected;
  std::mt19937 random(capacity);
  for (uint32_t i = 0; i < 3 * capacity; ++i) {
    const uint32_t key = static_cast<uint32_t>(random()) % (2 * capacity);
    const auto known = expected.find(key);
    ASSERT_EQ(entries.find(index, key), known == expected.end() ? HashIndex::kAbsent : known->second);
    if (known != expected.end() || entries.keys.size() == capacity) continue;
    expected[key] = static_cast<uint32_t>(entries.keys.size());
    entries.insert(index, key);
  }
}

TEST(HashIndex, FindsWhatWasInsertedInNarrowAndWideSlots) {
  for (const uint32_t capacity : {0u, 1u, 10u, 1000u, 65535u, 65536u}) {
    for (const uint32_t hash_mask : {0xFFFFFFFFu, 0xFF0u}) {
      if (capacity > 1000 && hash_mask == 0xFF0) continue;
      HashIndex measured;
      Arena measure;
      measured.layout(measure, capacity);
      std::vector<CacheLine> memory(measure.size() / sizeof(CacheLine));
      Arena arena(memory.data());
      HashIndex index;
      index.layout(arena, capacity);
      EXPECT_EQ(arena.size(), measure.size());
      index.clear();
      check_against_map(index, capacity, hash_mask);
      index.clear();
      check_against_map(index, capacity, hash_mask);
    }
  }
}

TEST(HashIndex, HoldsTheLastNumberThatFitsNarrowSlots) {
  std::vector<CacheLine> memory(100000 * sizeof(uint32_t) / sizeof(CacheLine));
  Arena arena(memory.data());
  HashIndex index;
  index.layout(arena, UINT16_MAX);
  index.clear();
  index.insert(7, UINT16_MAX - 1);
  EXPECT_EQ(index.find(7, [](uint32_t) { return true; }), uint32_t{UINT16_MAX - 1});
}

TEST(HashIndex, KeepsEntriesWhenItGrows) {
  std::vector<std::vector<uint32_t>> slots;
  HashIndex index;
  Keys entries{{}, 0xFFF};
  for (uint32_t key = 0; key < 3000; ++key) {
    const auto count = static_cast<uint32_t>(entries.keys.size());
    if (const uint32_t wanted = index.wanted_slots(count); wanted != 0) {
      EXPECT_GE(wanted, 2 * (count + 1));
      slots.emplace_back(wanted, 1u);
      index.rehash(slots.back().data(), wanted, [&](uint32_t number) { return entries.hash_of(entries.keys[number]); });
    }
    ASSERT_EQ(entries.find(index, key), HashIndex::kAbsent);
    entries.insert(index, key);
    for (uint32_t known = 0; known <= key; known += 97) ASSERT_EQ(entries.find(index, known), known);
  }
  EXPECT_EQ(slots.size(), 8u);  // for 64 ... 8192 entries
}

TEST(HashIndex, ErasingTheNewestRestoresTheIndexBefore) {
  std::vector<uint32_t> slots(64);
  HashIndex index;
  index.use(slots.data(), 64);
  Keys entries{{}, 0x33};
  for (uint32_t key = 0; key < 60; ++key) entries.insert(index, key);
  while (!entries.keys.empty()) {
    const uint32_t key = entries.keys.back();
    index.erase_newest(entries.hash_of(key), static_cast<uint32_t>(entries.keys.size() - 1));
    entries.keys.pop_back();
    ASSERT_EQ(entries.find(index, key), HashIndex::kAbsent);
    for (uint32_t known = 0; known < key; ++known) ASSERT_EQ(entries.find(index, known), known);
  }
  EXPECT_EQ(slots, std::vector<uint32_t>(64));
}

}  // namespace
}  // namespace sotto
