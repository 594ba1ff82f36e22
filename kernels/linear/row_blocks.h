// Splits rows into blocks of nearly equal height, whose sums stay in registers.
// Unnamed namespace: see kernels/generic/block.h.
#pragma once

#include <cstddef>

namespace sotto {
namespace {

// The heights of all blocks: for (RowBlocks b(rows, 13); b.left() > 0; b.next()).
class RowBlocks {
 public:
  RowBlocks(size_t rows, size_t most) : rows_left_(rows), left_((rows + most - 1) / most) {}
  size_t left() const { return left_; }
  size_t height() const { return (rows_left_ + left_ - 1) / left_; }
  void next() {
    rows_left_ -= height();
    --left_;
  }

 private:
  size_t rows_left_;
  size_t left_;
};

}  // namespace
}  // namespace sotto
