#include "runtime/grammar/mask_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/base/xxhash64.h"

namespace sotto {

bool MaskCache::lay_out(Arena& arena, uint32_t word_count, uint32_t mask_size) {
  word_count_ = word_count;
  pool_capacity_ = static_cast<uint32_t>(mask_size / sizeof(uint32_t));
  entry_capacity_ = kFirstMask + std::max(16u, mask_size / 256);
  slot_mask_ = std::bit_ceil(entry_capacity_) * 2 - 1;
  pool_ = arena.take<uint32_t>(pool_capacity_);
  entries_ = arena.take<Entry>(entry_capacity_);
  slots_ = arena.take<uint32_t>(size_t{slot_mask_} + 1);
  draft_ = arena.take<uint64_t>(word_count);
  shown_ = arena.take<uint64_t>(word_count);
  return pool_capacity_ >= std::max(2 * word_count + 1, kListTokens);
}

void MaskCache::init() {
  flush();
  clear_draft();
  std::fill_n(shown_, word_count_, uint64_t{0});
}

void MaskCache::clear_draft() {
  std::fill_n(draft_, word_count_, uint64_t{0});
}

void MaskCache::flush() {
  if (shown_mask_ != kNoMask) hide();
  pool_size_ = 0;
  entry_count_ = kFirstMask;
  std::memset(slots_, 0, (size_t{slot_mask_} + 1) * sizeof *slots_);
}

uint32_t MaskCache::find(uint64_t hash, const void* bytes, size_t size, uint32_t list_count,
                         uint32_t* slot) const {
  *slot = static_cast<uint32_t>(hash) & slot_mask_;
  for (; slots_[*slot] != 0; *slot = (*slot + 1) & slot_mask_) {
    const Entry& known = entries_[slots_[*slot]];
    if (known.hash == hash && known.list_count == list_count &&
        std::memcmp(pool_ + known.offset, bytes, size) == 0) {
      return slots_[*slot];
    }
  }
  return kNoMask;
}

uint32_t MaskCache::store(std::span<const uint32_t> tokens, uint32_t token_count) {
  const bool is_list = token_count <= tokens.size() && token_count <= kListTokens;
  const void* bytes = is_list ? static_cast<const void*>(tokens.data()) : draft_;
  const size_t size =
      is_list ? token_count * sizeof(uint32_t) : size_t{word_count_} * sizeof(uint64_t);
  const uint32_t list_count = is_list ? token_count : kWords;
  const uint64_t hash = xxhash64(bytes, size, list_count);
  uint32_t slot = 0;
  uint32_t mask = find(hash, bytes, size, list_count, &slot);
  if (mask == kNoMask) {
    // Words begin on a boundary of 64 bits.
    const uint32_t offset = is_list ? pool_size_ : (pool_size_ + 1) / 2 * 2;
    const auto units = static_cast<uint32_t>(size / sizeof(uint32_t));
    if (entry_count_ == entry_capacity_ || offset > pool_capacity_ ||
        pool_capacity_ - offset < units) {
      return kNoMask;
    }
    mask = entry_count_++;
    entries_[mask] = {offset, list_count, hash};
    if (size > 0) std::memcpy(pool_ + offset, bytes, size);
    pool_size_ = offset + units;
    slots_[slot] = mask;
  }
  if (is_list) {
    for (const uint32_t token : tokens.first(token_count)) draft_[token / 64] = 0;
  } else {
    clear_draft();
  }
  return mask;
}

void MaskCache::hide() {
  const Entry& entry = entries_[shown_mask_];
  for (uint32_t i = 0; i < entry.list_count; ++i) shown_[pool_[entry.offset + i] / 64] = 0;
  shown_mask_ = kNoMask;
}

void MaskCache::show(const Entry& entry) {
  for (uint32_t i = 0; i < entry.list_count; ++i) {
    const uint32_t token = pool_[entry.offset + i];
    shown_[token / 64] |= uint64_t{1} << token % 64;
  }
}

const uint64_t* MaskCache::words(uint32_t mask) {
  const Entry& entry = entries_[mask];
  if (entry.list_count == kWords) return reinterpret_cast<const uint64_t*>(pool_ + entry.offset);
  if (shown_mask_ != mask) {
    if (shown_mask_ != kNoMask) hide();
    show(entry);
    shown_mask_ = mask;
  }
  return shown_;
}

}  // namespace sotto
