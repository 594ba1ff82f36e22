// Sets of numbers that get consecutive ids: what subset and product constructions intern.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "runtime/base/xxhash64.h"
#include "runtime/grammar/compiler/workspace.h"

namespace sotto {

class InternedSets {
 public:
  explicit InternedSets(Workspace& workspace) : workspace_(workspace), items_(workspace), begins_(workspace) {
    begins_.push(0);
  }

  uint32_t count() const { return begins_.empty() ? 0 : begins_.size() - 1; }
  std::span<const uint32_t> operator[](uint32_t set) const {
    return items_.span(begins_[set], begins_[set + 1] - begins_[set]);
  }
  // The id of the set with these items, in this order. `fresh`: a new one even so.
  uint32_t intern(std::span<const uint32_t> items, bool fresh = false) {
    if (2 * (count() + 1) > slot_count_ && !rehash()) return 0;
    uint32_t slot = find(items);
    if (slots_[slot] != 0 && !fresh) return slots_[slot] - 1;
    const uint32_t known = count();
    for (const uint32_t item : items) items_.push(item);
    begins_.push(items_.size());
    if (count() == known) return 0;  // out of memory: no slot without a set
    if (!fresh) slots_[slot] = count();
    return count() - 1;
  }

 private:
  uint32_t find(std::span<const uint32_t> items) const {
    const uint32_t mask = slot_count_ - 1;
    auto slot = static_cast<uint32_t>(xxhash64(items.data(), items.size_bytes())) & mask;
    for (; slots_[slot] != 0; slot = (slot + 1) & mask) {
      const auto other = (*this)[slots_[slot] - 1];
      if (std::equal(items.begin(), items.end(), other.begin(), other.end())) break;
    }
    return slot;
  }
  bool rehash() {
    const uint32_t count = std::max(256u, slot_count_ * 2);
    auto* slots = workspace_.take<uint32_t>(count);
    if (slots == nullptr) return false;
    const uint32_t* old = slots_;
    const uint32_t old_count = slot_count_;
    std::fill(slots, slots + count, 0);
    slots_ = slots;
    slot_count_ = count;
    for (uint32_t i = 0; i < old_count; ++i) {
      if (old[i] != 0) slots_[find((*this)[old[i] - 1])] = old[i];
    }
    return true;
  }

  Workspace& workspace_;
  GrowingArray<uint32_t> items_;
  GrowingArray<uint32_t> begins_;
  uint32_t* slots_ = nullptr;  // set + 1
  uint32_t slot_count_ = 0;
};

}  // namespace sotto
