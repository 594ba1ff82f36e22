// Stores token masks compactly, in the shortest of three forms: the words of the mask; a list of its tokens; or a base,
// another mask stored as words, with a list of the tokens that differ. Equal masks are stored once. A buffer contains
// the words of the last mask, so a similar mask takes only a few flips.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/base/hash_index.h"

namespace sotto {

inline constexpr uint32_t kNoMask = 0;
// Stands for a mask that is undecided, because the stacks were truncated too early.
inline constexpr uint32_t kMaskCutOff = 1;
inline constexpr uint32_t kFirstMask = 2;

class MaskCache {
 public:
  // `mask_bytes` must suffice for one mask of this many tokens. flush() must be called before the first use.
  void layout(Arena& arena, uint32_t token_count, uint32_t mask_bytes);

  // Returns zeroed words for a new mask, the open mask. The caller composes it until the next call.
  uint64_t* begin_mask();
  // Stores the open mask and returns its number. If it does not fit, returns kNoMask and keeps the open mask.
  uint32_t store_mask();
  // Drops all stored masks but keeps the open mask.
  void flush();

  // Returns the words of a mask, valid until the next call.
  const uint64_t* words(uint32_t mask);
  bool is_empty(uint32_t mask) const { return entries_[mask].base == kNoMask && entries_[mask].count == 0; }
  uint32_t entry_count() const { return entry_count_; }

 private:
  // A mask is its base with the listed tokens flipped. A mask that is stored as words is its own base.
  struct Entry {
    uint32_t offset;  // offset of its words or list in pool_
    uint32_t count;   // number of listed tokens
    uint32_t base;    // kNoMask if the base is the empty mask
    uint32_t hash;
  };
  static constexpr uint32_t kMaxListTokens = 256;  // flipping more takes too long
  // Number of bases that a new mask is compared with.
  static constexpr uint32_t kBaseCount = 8;

  size_t words_size() const { return size_t{word_count_} * sizeof(uint64_t); }
  const uint64_t* pool_words(uint32_t mask) const {
    return reinterpret_cast<const uint64_t*>(pool_ + entries_[mask].offset);
  }
  uint64_t hash_open_mask() const;
  bool equals_open_mask(const Entry& entry);
  uint32_t difference(const uint64_t* base, uint32_t limit) const;
  Entry choose_form(uint32_t hash) const;
  bool take(uint32_t alignment, size_t size, uint32_t* offset);
  void write_list(const Entry& entry);
  void toggle(const Entry& entry, uint64_t* words) const;
  void show(uint32_t mask);

  bool has_narrow_tokens_ = false;  // true if the tokens in lists have 16 bits
  // Longer lists are stored as words. No list takes more bytes, so each mask fits an empty pool.
  uint32_t list_limit_ = 0;
  uint32_t word_count_ = 0;
  uint32_t pool_capacity_ = 0;
  uint32_t entry_capacity_ = 0;
  uint32_t pool_size_ = 0;
  uint32_t entry_count_ = kFirstMask;
  uint32_t base_count_ = 0;
  uint32_t bases_[kBaseCount] = {};
  uint8_t* pool_ = nullptr;
  Entry* entries_ = nullptr;
  HashIndex index_;             // index of the entries
  uint64_t* buffer_ = nullptr;  // words of the open mask, or of the mask shown_
  uint32_t shown_ = kNoMask;
};

}  // namespace sotto
