// A hash index maps the hash of a key to the number of the key's entry in an array of the owner.
//
// The owner compares keys itself, so the index depends on neither keys nor entries. It is an open-addressing table with
// linear probing (Knuth, The Art of Computer Programming, volume 3, section 6.4, algorithm L), in which a slot contains
// the number plus one, or zero if it is free. Its slots come from an arena (layout), or from any array of the owner
// (use, rehash).
//
//   uint32_t number = index.find(hash, [&](uint32_t known) { return entries[known].key == key; });
//   if (number == HashIndex::kAbsent) {
//     number = entry_count++;
//     entries[number] = {key};
//     index.insert(hash, number);
//   }
//
// Only the low bits of a hash select the slot, so they must be well mixed.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "runtime/base/arena.h"

namespace sotto {

inline constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15u;  // 2^64 divided by the golden ratio

// Fibonacci hashing (Knuth, section 6.4): returns a hash of `bits` bits.
constexpr uint32_t fibonacci_hash(uint64_t value, int bits = 32) {
  return static_cast<uint32_t>(value * kGoldenRatio >> (64 - bits));
}

// Mixes a value into a hash: Fibonacci hashing, with the high bits folded into the low ones.
inline uint64_t mix_hash(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * kGoldenRatio;
  return hash ^ hash >> 29;
}

class HashIndex {
 public:
  static constexpr uint32_t kAbsent = UINT32_MAX;

  // Takes slots for `capacity` entries from the arena. A slot has 16 bits if the numbers of the entries fit, and
  // otherwise 32. clear() must be called before the first use.
  void layout(Arena& arena, uint32_t capacity) {
    const uint32_t slot_count = std::bit_ceil(std::max(capacity + capacity / 2 + 1, 16u));
    mask_ = slot_count - 1;
    is_narrow_ = capacity <= UINT16_MAX;
    if (is_narrow_) {
      slots_ = arena.take<uint16_t>(slot_count);
    } else {
      slots_ = arena.take<uint32_t>(slot_count);
    }
  }

  // Empties the index and uses these slots from now on. `slot_count` is a power of two.
  void use(uint32_t* slots, uint32_t slot_count) {
    assert(std::has_single_bit(slot_count));
    is_narrow_ = false;
    slots_ = slots;
    mask_ = slot_count - 1;
    clear();
  }

  void clear() {
    if (is_narrow_) {
      std::fill_n(static_cast<uint16_t*>(slots_), size_t{mask_} + 1, uint16_t{0});
    } else {
      std::fill_n(static_cast<uint32_t*>(slots_), size_t{mask_} + 1, uint32_t{0});
    }
  }

  // Returns a number that was inserted with this hash and for which equals(number) is true, or kAbsent.
  template <typename Equals>
  uint32_t find(uint32_t hash, Equals equals) const {
    for (uint32_t slot = hash & mask_; at(slot) != 0; slot = (slot + 1) & mask_) {
      if (equals(at(slot) - 1)) return at(slot) - 1;
    }
    return kAbsent;
  }

  // Inserts a number that is not in the index. At least one slot must stay free.
  void insert(uint32_t hash, uint32_t number) {
    uint32_t slot = hash & mask_;
    while (at(slot) != 0) slot = (slot + 1) & mask_;
    set(slot, number + 1);
  }

  // Erases the entry that was inserted last. Erasing in reverse order of insertion never interrupts a chain of probes,
  // so the whole index can be emptied in time proportional to its entries.
  void erase_newest(uint32_t hash, uint32_t number) {
    uint32_t slot = hash & mask_;
    while (at(slot) != number + 1) slot = (slot + 1) & mask_;
    set(slot, 0);
  }

  // Returns the number of slots to grow to before one more entry is inserted, or 0 if the index need not grow. Only an
  // index that starts without slots and grows through rehash() needs this function.
  uint32_t wanted_slots(uint32_t entry_count) const {
    if (slots_ == nullptr) return std::max(kMinSlots, 2 * std::bit_ceil(entry_count + 1));
    return entry_count >= (mask_ + 1) / 2 ? 2 * (mask_ + 1) : 0;
  }
  // Moves all entries into new slots. hash_of(number) must return the hash with which the number was inserted.
  template <typename HashOf>
  void rehash(uint32_t* slots, uint32_t slot_count, HashOf hash_of) {
    const HashIndex old = *this;
    use(slots, slot_count);
    for (uint32_t slot = 0; old.slots_ != nullptr && slot <= old.mask_; ++slot) {
      if (old.at(slot) != 0) insert(hash_of(old.at(slot) - 1), old.at(slot) - 1);
    }
  }

 private:
  static constexpr uint32_t kMinSlots = 64;

  uint32_t at(uint32_t slot) const {
    return is_narrow_ ? static_cast<const uint16_t*>(slots_)[slot] : static_cast<const uint32_t*>(slots_)[slot];
  }
  void set(uint32_t slot, uint32_t value) {
    if (is_narrow_) {
      static_cast<uint16_t*>(slots_)[slot] = static_cast<uint16_t>(value);
    } else {
      static_cast<uint32_t*>(slots_)[slot] = value;
    }
  }

  void* slots_ = nullptr;
  uint32_t mask_ = 0;
  bool is_narrow_ = false;  // true if slots have 16 bits instead of 32
};

}  // namespace sotto
