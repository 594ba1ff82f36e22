// Remembers token masks: as lists of tokens, as few changes to another mask, or as words;
// equal ones once. A buffer holds the words of the one shown last.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/arena.h"

namespace sotto {

inline constexpr uint32_t kNoMask = 0;
inline constexpr uint32_t kMaskCutOff = 1;  // the context was cut off too early to tell
inline constexpr uint32_t kFirstMask = 2;

class MaskCache {
 public:
  // False: `mask_bytes` cannot hold one mask of that many tokens.
  bool lay_out(Arena& arena, uint32_t token_count, uint32_t mask_bytes);
  void init();

  // Where a new mask is put together: all zero at first. Valid until the next call.
  uint64_t* begin_draft();
  // Remembers the draft. kNoMask: no room; the draft stays.
  uint32_t store_draft();
  // Forgets all masks; the draft stays.
  void flush();

  // Valid until the next call.
  const uint64_t* words(uint32_t mask);
  bool is_empty(uint32_t mask) const { return entries_[mask].base == kNoMask && entries_[mask].count == 0; }
  uint32_t entry_count() const { return entry_count_; }
  uint32_t pool_size() const { return pool_size_; }  // bytes

 private:
  // A mask is its base with the listed tokens changed. One of words is its own base.
  struct Entry {
    uint32_t offset;  // of words or list in pool_
    uint32_t count;   // of the list
    uint32_t base;    // kNoMask: no token
    uint32_t hash;
  };
  static constexpr uint32_t kListTokens = 256;  // longer ones are kept as words
  static constexpr uint32_t kBaseCount = 8;     // masks of words to compare a new one with

  size_t words_size() const { return size_t{word_count_} * sizeof(uint64_t); }
  const uint64_t* pool_words(uint32_t mask) const {
    return reinterpret_cast<const uint64_t*>(pool_ + entries_[mask].offset);
  }
  uint64_t hash_draft() const;
  uint32_t find_equal(uint32_t hash, uint32_t* slot);
  bool equals_draft(const Entry& entry);
  uint32_t difference(const uint64_t* base, uint32_t most) const;
  Entry choose_form(uint32_t hash) const;
  bool take(uint32_t alignment, size_t size, uint32_t* offset);
  void write_list(const Entry& entry);
  void toggle(const Entry& entry, uint64_t* words) const;
  void show(uint32_t mask);

  bool has_narrow_tokens_ = false;  // of 16 bits in lists
  uint32_t word_count_ = 0;
  uint32_t pool_capacity_ = 0;
  uint32_t entry_capacity_ = 0;
  uint32_t slot_mask_ = 0;
  uint32_t pool_size_ = 0;
  uint32_t entry_count_ = kFirstMask;
  uint32_t base_count_ = 0;
  uint32_t bases_[kBaseCount] = {};
  uint8_t* pool_ = nullptr;
  Entry* entries_ = nullptr;
  uint32_t* slots_ = nullptr;
  uint64_t* buffer_ = nullptr;  // the draft, or
  uint32_t shown_ = kNoMask;    // the mask
};

}  // namespace sotto
