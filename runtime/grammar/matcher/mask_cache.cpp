#include "runtime/grammar/matcher/mask_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "runtime/base/token_mask.h"
#include "runtime/base/xxhash64.h"

namespace sotto {

void MaskCache::layout(Arena& arena, uint32_t token_count, uint32_t mask_bytes) {
  constexpr uint32_t kBytesPerEntry = 256;  // an estimate
  word_count_ = static_cast<uint32_t>(TokenMask::word_count(token_count));
  has_narrow_tokens_ = token_count <= UINT16_MAX + 1u;
  const size_t token_size = has_narrow_tokens_ ? sizeof(uint16_t) : sizeof(uint32_t);
  list_limit_ = static_cast<uint32_t>(std::min<size_t>(kMaxListTokens, words_size() / token_size));
  pool_capacity_ = mask_bytes;
  entry_capacity_ = kFirstMask + std::max(16u, mask_bytes / kBytesPerEntry);
  pool_ = arena.take<uint8_t>(pool_capacity_);
  entries_ = arena.take<Entry>(entry_capacity_);
  index_.layout(arena, entry_capacity_);
  buffer_ = arena.take<uint64_t>(word_count_);
}

uint64_t* MaskCache::begin_mask() {
  shown_ = kNoMask;
  std::memset(buffer_, 0, words_size());
  return buffer_;
}

void MaskCache::flush() {
  shown_ = kNoMask;
  pool_size_ = 0;
  base_count_ = 0;
  entry_count_ = kFirstMask;
  index_.clear();
}

// Hashes the open mask. Most masks allow only a few tokens, so only the words that contain tokens are hashed for them.
uint64_t MaskCache::hash_open_mask() const {
  constexpr uint32_t kFewWords = 64;
  uint64_t hash = 0;
  uint32_t count = 0;
  for (uint32_t i = 0; i < word_count_; ++i) {
    if (buffer_[i] == 0) continue;
    if (++count > kFewWords) return xxhash64(buffer_, words_size());
    hash = mix_hash(hash, buffer_[i] ^ uint64_t{i} << 48);
  }
  return hash;
}

// Compares the open mask with a stored mask. To do so, it flips the listed tokens in the open mask, compares the words
// with the base, and flips the tokens back.
bool MaskCache::equals_open_mask(const Entry& entry) {
  toggle(entry, buffer_);
  bool equals = false;
  if (entry.base == kNoMask) {
    equals = std::all_of(buffer_, buffer_ + word_count_, [](uint64_t word) { return word == 0; });
  } else {
    equals = std::memcmp(buffer_, pool_words(entry.base), words_size()) == 0;
  }
  toggle(entry, buffer_);
  return equals;
}

// Counts the tokens that differ between the open mask and the base, but stops at `limit`. A null base stands for the
// empty mask.
uint32_t MaskCache::difference(const uint64_t* base, uint32_t limit) const {
  const uint64_t* words = buffer_;
  uint32_t count = 0;
  for (uint32_t i = 0; i < word_count_ && count <= limit; ++i) {
    const uint64_t changed = base == nullptr ? words[i] : words[i] ^ base[i];
    if (changed != 0) count += static_cast<uint32_t>(std::popcount(changed));
  }
  return count;
}

// Returns the form of the open mask: a base and the length of the shortest list, or the open mask as its own base if
// every list would be longer than list_limit_.
MaskCache::Entry MaskCache::choose_form(uint32_t hash) const {
  Entry form{0, difference(nullptr, list_limit_), kNoMask, hash};
  for (uint32_t i = 0; i < base_count_; ++i) {
    if (form.count <= list_limit_ / 16) break;
    const uint32_t limit = std::min(form.count, list_limit_ + 1) - 1;
    const uint32_t count = difference(pool_words(bases_[i]), limit);
    if (count <= limit) form = {0, count, bases_[i], hash};
  }
  if (form.count > list_limit_) form = {0, 0, entry_count_, hash};
  return form;
}

bool MaskCache::take(uint32_t alignment, size_t size, uint32_t* offset) {
  *offset = static_cast<uint32_t>(align_up(pool_size_, alignment));
  if (*offset > pool_capacity_ || pool_capacity_ - *offset < size) return false;
  pool_size_ = *offset + static_cast<uint32_t>(size);
  return true;
}

// Writes the tokens of the open mask, or those that differ from its base, to the pool.
void MaskCache::write_list(const Entry& entry) {
  const uint64_t* words = buffer_;
  const uint64_t* base = entry.base == kNoMask ? nullptr : pool_words(entry.base);
  auto* narrow = reinterpret_cast<uint16_t*>(pool_ + entry.offset);
  auto* wide = reinterpret_cast<uint32_t*>(pool_ + entry.offset);
  for (uint32_t i = 0; i < word_count_; ++i) {
    const uint64_t changed = base == nullptr ? words[i] : words[i] ^ base[i];
    for (const uint32_t bit : SetBits(changed)) {
      const uint32_t token = i * 64 + bit;
      if (has_narrow_tokens_) {
        *narrow++ = static_cast<uint16_t>(token);
      } else {
        *wide++ = token;
      }
    }
  }
}

uint32_t MaskCache::store_mask() {
  const auto hash = static_cast<uint32_t>(hash_open_mask() >> 32);
  uint32_t mask = index_.find(
      hash, [&](uint32_t known) { return entries_[known].hash == hash && equals_open_mask(entries_[known]); });
  if (mask == HashIndex::kAbsent) {
    if (entry_count_ == entry_capacity_) return kNoMask;
    Entry entry = choose_form(hash);
    const bool is_list = entry.base != entry_count_;
    const size_t token_size = has_narrow_tokens_ ? sizeof(uint16_t) : sizeof(uint32_t);
    const size_t size = is_list ? entry.count * token_size : words_size();
    if (!take(is_list ? sizeof(uint32_t) : sizeof(uint64_t), size, &entry.offset)) return kNoMask;
    mask = entry_count_++;
    entries_[mask] = entry;
    index_.insert(hash, mask);
    if (is_list) {
      write_list(entry);
    } else {
      std::memcpy(pool_ + entry.offset, buffer_, size);
      if (base_count_ < kBaseCount) bases_[base_count_++] = mask;
    }
  }
  return shown_ = mask;
}

void MaskCache::toggle(const Entry& entry, uint64_t* words) const {
  const auto flip = [&](const auto* tokens) {
    for (uint32_t i = 0; i < entry.count; ++i) flip_bit(words, tokens[i]);
  };
  const uint8_t* list = pool_ + entry.offset;
  if (has_narrow_tokens_) {
    flip(reinterpret_cast<const uint16_t*>(list));
  } else {
    flip(reinterpret_cast<const uint32_t*>(list));
  }
}

void MaskCache::show(uint32_t mask) {
  const Entry& entry = entries_[mask];
  const uint32_t cheap = word_count_ / 16;  // flipping this many tokens takes no longer than copying the words
  const bool is_near = shown_ != kNoMask && entries_[shown_].base == entry.base && entries_[shown_].count <= cheap;
  if (is_near) {
    toggle(entries_[shown_], buffer_);
  } else if (entry.base == kNoMask) {
    std::memset(buffer_, 0, words_size());
  } else {
    std::memcpy(buffer_, pool_words(entry.base), words_size());
  }
  toggle(entry, buffer_);
  shown_ = mask;
}

const uint64_t* MaskCache::words(uint32_t mask) {
  if (entries_[mask].base == mask) return pool_words(mask);
  if (shown_ != mask) show(mask);
  return buffer_;
}

}  // namespace sotto
