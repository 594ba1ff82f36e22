// Remembers token masks: short ones as lists, long ones as words; equal ones once.
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
  // False: `mask_size` cannot hold one mask of that many words.
  bool lay_out(Arena& arena, uint32_t word_count, uint32_t mask_size);
  void init();

  // Where a new mask is put together: all zero at first.
  uint64_t* draft() { return draft_; }
  // Stores the draft, of which `tokens` are the first set ones, and clears it. kNoMask: no
  // room; the draft stays.
  uint32_t store(std::span<const uint32_t> tokens, uint32_t token_count);
  void clear_draft();
  // Forgets all masks.
  void flush();

  // Valid until the next call.
  const uint64_t* words(uint32_t mask);
  bool is_empty(uint32_t mask) const { return entries_[mask].list_count == 0; }

  // Longer lists are kept as words.
  static constexpr uint32_t kListTokens = 128;

 private:
  struct Entry {
    uint32_t offset;      // in 32-bit units of pool_
    uint32_t list_count;  // kWords: words
    uint64_t hash;
  };
  static constexpr uint32_t kWords = UINT32_MAX;

  uint32_t find(uint64_t hash, const void* bytes, size_t size, uint32_t list_count,
                uint32_t* slot) const;
  void show(const Entry& entry);
  void hide();

  uint32_t word_count_ = 0;
  uint32_t pool_capacity_ = 0;
  uint32_t entry_capacity_ = 0;
  uint32_t slot_mask_ = 0;
  uint32_t pool_size_ = 0;
  uint32_t entry_count_ = kFirstMask;
  uint32_t* pool_ = nullptr;
  Entry* entries_ = nullptr;
  uint32_t* slots_ = nullptr;
  uint64_t* draft_ = nullptr;
  uint64_t* shown_ = nullptr;  // the words of a list
  uint32_t shown_mask_ = kNoMask;
};

}  // namespace sotto
