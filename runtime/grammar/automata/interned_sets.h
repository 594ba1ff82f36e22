// Interned sequences of numbers: equal sequences have the same id, and ids are consecutive.
//
// The subset construction interns sets of NFA states, products intern pairs of states, and the JSON Schema front end
// interns goals. The id of a sequence is also the number of its state or rule.
//
// Example: intern({3, 7}) returns 0, then intern({3}) returns 1, and intern({3, 7}) returns 0 again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "runtime/base/hash_index.h"
#include "runtime/base/workspace.h"
#include "runtime/base/xxhash64.h"

namespace sotto {

class InternedSets {
 public:
  explicit InternedSets(Workspace& workspace)
      : workspace_(workspace), items_(workspace), begins_(workspace), slots_(workspace) {
    begins_.push(0);
  }

  void clear() {
    items_.truncate(0);
    begins_.truncate(1);
    index_ = {};
    first_shared_ = 0;
  }
  uint32_t count() const { return begins_.empty() ? 0 : begins_.size() - 1; }
  uint32_t item_count() const { return items_.size(); }
  std::span<const uint32_t> operator[](uint32_t set) const {
    return items_.span(begins_[set], begins_[set + 1] - begins_[set]);
  }

  // Returns the id of a sequence. Once the workspace is exhausted, the id is meaningless but remains a valid index.
  uint32_t intern(std::span<const uint32_t> items) {
    if (const uint32_t wanted = index_.wanted_slots(count()); wanted != 0 && !rehash(wanted)) return 0;
    const uint32_t hash = hash_of(items);
    const uint32_t known = index_.find(hash, [&](uint32_t set) {
      const auto other = (*this)[set];
      return std::equal(items.begin(), items.end(), other.begin(), other.end());
    });
    if (known != HashIndex::kAbsent) return known;
    const uint32_t before = count();
    append(items);
    if (count() == before) return 0;
    index_.insert(hash, before);
    return before;
  }

  // Adds the first sequence without indexing it, so that an equal sequence gets an id of its own.
  void append_unshared(std::span<const uint32_t> items) {
    append(items);
    first_shared_ = count();
  }

 private:
  void append(std::span<const uint32_t> items) {
    for (const uint32_t item : items) items_.push(item);
    if (!workspace_.exhausted()) begins_.push(items_.size());
  }
  static uint32_t hash_of(std::span<const uint32_t> items) {
    return static_cast<uint32_t>(xxhash64(items.data(), items.size_bytes()));
  }
  bool rehash(uint32_t slot_count) {
    slots_.truncate(0);
    if (!slots_.resize(slot_count)) return false;
    index_.use(slots_.begin(), slot_count);
    for (uint32_t set = first_shared_; set < count(); ++set) index_.insert(hash_of((*this)[set]), set);
    return true;
  }

  Workspace& workspace_;
  GrowingArray<uint32_t> items_;
  GrowingArray<uint32_t> begins_;
  GrowingArray<uint32_t> slots_;
  HashIndex index_;
  uint32_t first_shared_ = 0;
};

}  // namespace sotto
