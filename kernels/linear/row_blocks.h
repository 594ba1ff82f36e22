// Divides rows into blocks of nearly equal height. kernels/generic/vector.h explains the unnamed namespace.
#pragma once

#include <cassert>
#include <cstddef>

#include "kernels/sizes.h"

namespace sotto {
namespace {

// Rows first ... first + count - 1.
struct RowBlock {
  size_t first;
  size_t count;
};

// Divides rows into the smallest number of blocks of at most `max_rows` rows, the higher ones first. Example: for
// (RowBlock b : RowBlocks(31, 13)) visits blocks of 11, 10 and 10 rows.
class RowBlocks {
 public:
  RowBlocks(size_t rows, size_t max_rows)
      : count_(divide_up(rows, max_rows)), min_rows_(rows / count_), higher_count_(rows % count_) {
    assert(rows > 0);
  }

  size_t count() const { return count_; }
  RowBlock operator[](size_t index) const {
    return {index * min_rows_ + (index < higher_count_ ? index : higher_count_),
            min_rows_ + (index < higher_count_ ? 1 : 0)};
  }

  class Iterator {
   public:
    Iterator(const RowBlocks& blocks, size_t index) : blocks_(blocks), index_(index) {}
    RowBlock operator*() const { return blocks_[index_]; }
    void operator++() { ++index_; }
    bool operator!=(const Iterator& other) const { return index_ != other.index_; }

   private:
    const RowBlocks& blocks_;
    size_t index_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, count_}; }

 private:
  size_t count_;
  size_t min_rows_;
  size_t higher_count_;  // number of blocks that have one more row than the others
};

}  // namespace
}  // namespace sotto
