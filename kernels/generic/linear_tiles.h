// Rows over XNNPACK's packed weights (kernels/linear/packed_tiles.h): a tile comes from memory once, is
// asked for meanwhile, and stays in the caches while groups of rows pass by. `V` is an instruction
// set's vectors of sums: a depth of weights takes V::kTileVectors of them, and a pass as many as
// leave registers for the sums of V::kMaxRows.
#pragma once

#include <algorithm>

#include "kernels/linear/packed_tiles.h"
#include "kernels/linear/row_blocks.h"

namespace sotto::generic {

template <class V>
class LinearTiles {
 public:
  // `ordered` becomes (group, block, depth, row of the block, kTileDepth) of V::Activation.
  static void prepare(const TileArgs& args) {
    const int8_t* q = args.q;
    auto* to = reinterpret_cast<Activation*>(args.ordered);
    for (RowBlocks groups(args.rows, kGroupRows); groups.left() > 0; groups.next()) {
      for (RowBlocks blocks(groups.height(), V::kMaxRows); blocks.left() > 0; blocks.next()) {
        to = order(args, q, blocks.height(), to);
        q += blocks.height() * args.inputs;
      }
    }
  }

  static void multiply(const TileArgs& args, size_t first_tile, size_t tile_count) {
    const typename V::FloatMode mode;
    const LinearTiles tiles(args);
    for (size_t tile = first_tile; tile < first_tile + tile_count; ++tile) {
      tiles.multiply_tile(tile);
    }
  }

 private:
  using Activation = typename V::Activation;
  using Ints = typename V::Ints;

  static Activation* order(const TileArgs& args, const int8_t* q, size_t rows, Activation* to) {
    for (size_t input = 0; input < args.inputs; input += kTileDepth) {
      for (size_t r = 0; r < rows; ++r, to += kTileDepth) V::order(q + r * args.inputs + input, to);
    }
    return to;
  }

  static constexpr size_t kDepthBytes = V::kColumns * kTileDepth;
  static constexpr size_t kFrameBytes = V::kColumns * (sizeof(int32_t) + 2 * sizeof(float));
  static constexpr size_t kVectorBytes = kDepthBytes / V::kTileVectors;
  static constexpr size_t kLine = 64;
  static constexpr size_t kLinesOfDepth = kDepthBytes / kLine;
  static constexpr size_t kAhead = 8192;
  static constexpr size_t kGroupRows = kSmallBatchRows;

  struct Sums {  // of a row and a tile
    Ints vectors[V::kTileVectors];
  };

  struct Group {
    const Activation* q;
    size_t first;  // row
    size_t count;
  };

  // Asks for lines two pages ahead: hardware looks no further than the end of a page.
  struct Ahead {
    const uint8_t* address;
    size_t step;

    void ask() {
      for (size_t i = 0; i < kLinesOfDepth; ++i, address += step) __builtin_prefetch(address);
    }
  };

  explicit LinearTiles(const TileArgs& args)
      : args_(args), depths_((args.inputs + kTileDepth - 1) / kTileDepth), size_(kFrameBytes + depths_ * kDepthBytes) {
    size_t passes = 0;
    for (RowBlocks groups(args.rows, kGroupRows); groups.left() > 0; groups.next()) {
      const RowBlocks blocks(groups.height(), V::kMaxRows);
      passes += blocks.left() * V::kTileVectors / V::pass_vectors(blocks.height());
    }
    const size_t lines = passes * depths_ * kLinesOfDepth;
    step_ = (size_ + lines - 1) / lines;
  }

  void multiply_tile(size_t tile) const {
    const uint8_t* packed = static_cast<const uint8_t*>(args_.packed) + tile * size_;
    Ahead ahead = {packed + kAhead, step_};
    Group group = {reinterpret_cast<const Activation*>(args_.ordered), 0, 0};
    for (RowBlocks groups(args_.rows, kGroupRows); groups.left() > 0; groups.next()) {
      group.count = groups.height();
      multiply_group(group, packed, tile * V::kColumns, ahead);
      group.first += group.count;
      group.q += group.count * depths_ * kTileDepth;
    }
  }

  // All rows of a group take their turn on some depths, which stay in the L1 cache meanwhile.
  void multiply_group(const Group& group, const uint8_t* packed, size_t column, Ahead& ahead) const {
    const uint8_t* weights = packed + V::kColumns * sizeof(int32_t);
    Sums sums[kGroupRows];
    std::fill_n(sums, group.count, Sums{});
    for (size_t first = 0; first < depths_; first += V::kDepthsAtOnce) {
      const size_t depths = std::min(V::kDepthsAtOnce, depths_ - first);
      Sums* block_sums = sums;
      const Activation* q = group.q;
      for (RowBlocks blocks(group.count, V::kMaxRows); blocks.left() > 0; blocks.next()) {
        const size_t rows = blocks.height();
        add_rows<1>(rows, {q + first * rows * kTileDepth, weights, depths}, ahead, block_sums);
        q += depths_ * rows * kTileDepth;
        block_sums += rows;
      }
      weights += depths * kDepthBytes;
    }
    const typename V::Frame frame(packed, weights);
    for (size_t r = 0; r < group.count; ++r) {
      const size_t row = group.first + r;
      V::store(args_.y + row * args_.outputs + column, args_.outputs - column,
               V::finish(sums[r].vectors, frame, args_.quantization[row]));
    }
  }

  struct Operands {
    const Activation* q;
    const uint8_t* weights;
    size_t depths;
  };

  template <size_t kRows>
  static void add_rows(size_t rows, const Operands& operands, Ahead& ahead, Sums* sums) {
    if constexpr (kRows < V::kMaxRows) {
      if (rows > kRows) return add_rows<kRows + 1>(rows, operands, ahead, sums);
    }
    for (size_t first = 0; first < V::kTileVectors; first += V::pass_vectors(kRows)) {
      add_depths<kRows>(operands, first, ahead, sums);
    }
  }

  template <size_t kRows>
  static void add_depths(const Operands& operands, size_t first, Ahead& ahead, Sums* total) {
    constexpr size_t kVectors = V::pass_vectors(kRows);
    Ahead asked = ahead;
    Ints sums[kRows][kVectors];
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) sums[r][v] = V::zero();
    }
    const Activation* q = operands.q;
    const uint8_t* weights = operands.weights + first * kVectorBytes;
    for (size_t depth = 0; depth < operands.depths; ++depth) {
      asked.ask();
      Ints w[kVectors];
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) w[v] = V::weights(weights + v * kVectorBytes);
#pragma GCC unroll 8
      for (size_t r = 0; r < kRows; ++r) {
        const Ints a = V::broadcast(q + r * kTileDepth);
#pragma GCC unroll 4
        for (size_t v = 0; v < kVectors; ++v) V::multiply_add(sums[r][v], a, w[v]);
      }
      weights += kDepthBytes;
      q += kRows * kTileDepth;
    }
    ahead = asked;
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) {
        total[r].vectors[first + v] = V::add(total[r].vectors[first + v], sums[r][v]);
      }
    }
  }

  const TileArgs& args_;
  size_t depths_;
  size_t size_;  // of a tile
  size_t step_;  // of what is asked for
};

}  // namespace sotto::generic
