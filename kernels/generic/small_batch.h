// At most kSmallBatchRows over XNNPACK's packed weights (kernels/packed_tiles.h): they come from
// memory once, and are asked for meanwhile. `V` is an instruction set's vectors of sums: a depth
// of weights takes V::kTileVectors of them, and a pass as many as leave registers for the sums of
// V::kMaxRows.
#pragma once

#include <algorithm>

#include "kernels/packed_tiles.h"
#include "kernels/row_blocks.h"

namespace sotto::generic {

template <class V>
class SmallBatch {
 public:
  // `ordered` becomes (block, depth, row of the block, kTileDepth) of V::Activation.
  static void prepare(const TileArgs& args) {
    const int8_t* q = args.q;
    auto* to = reinterpret_cast<Activation*>(args.ordered);
    for (RowBlocks blocks(args.rows, V::kMaxRows); blocks.left() > 0; blocks.next()) {
      for (size_t input = 0; input < args.inputs; input += kTileDepth) {
        for (size_t r = 0; r < blocks.height(); ++r, to += kTileDepth) {
          V::order(q + r * args.inputs + input, to);
        }
      }
      q += blocks.height() * args.inputs;
    }
  }

  static void multiply(const TileArgs& args, size_t first_tile, size_t tile_count) {
    const typename V::FloatMode mode;
    const SmallBatch batch(args);
    for (size_t tile = first_tile; tile < first_tile + tile_count; ++tile) {
      batch.multiply_tile(tile);
    }
  }

 private:
  using Activation = typename V::Activation;
  using Ints = typename V::Ints;

  static constexpr size_t kDepthBytes = V::kColumns * kTileDepth;
  static constexpr size_t kFrameBytes = V::kColumns * (sizeof(int32_t) + 2 * sizeof(float));
  static constexpr size_t kVectorBytes = kDepthBytes / V::kTileVectors;
  static constexpr size_t kLine = 64;
  static constexpr size_t kLinesOfDepth = kDepthBytes / kLine;
  static constexpr size_t kAhead = 8192;

  struct Sums {  // of a row and a tile
    Ints vectors[V::kTileVectors];
  };

  // Asks for lines two pages ahead: hardware looks no further than the end of a page.
  struct Ahead {
    const uint8_t* address;
    size_t step;

    void ask() {
      for (size_t i = 0; i < kLinesOfDepth; ++i, address += step) __builtin_prefetch(address);
    }
  };

  explicit SmallBatch(const TileArgs& args)
      : args_(args),
        depths_((args.inputs + kTileDepth - 1) / kTileDepth),
        size_(kFrameBytes + depths_ * kDepthBytes) {
    const RowBlocks blocks(args.rows, V::kMaxRows);
    const size_t passes = blocks.left() * V::kTileVectors / V::pass_vectors(blocks.height());
    const size_t lines = passes * depths_ * kLinesOfDepth;
    step_ = (size_ + lines - 1) / lines;
  }

  // All rows take their turn on some depths at a time, which stay in the L1 cache meanwhile.
  void multiply_tile(size_t tile) const {
    const uint8_t* packed = static_cast<const uint8_t*>(args_.packed) + tile * size_;
    const uint8_t* weights = packed + V::kColumns * sizeof(int32_t);
    Ahead ahead = {weights + kAhead, step_};
    Sums sums[kSmallBatchRows];
    std::fill_n(sums, args_.rows, Sums{});
    for (size_t first = 0; first < depths_; first += V::kDepthsAtOnce) {
      const size_t depths = std::min(V::kDepthsAtOnce, depths_ - first);
      Sums* block_sums = sums;
      const auto* q = reinterpret_cast<const Activation*>(args_.ordered);
      for (RowBlocks blocks(args_.rows, V::kMaxRows); blocks.left() > 0; blocks.next()) {
        const size_t rows = blocks.height();
        add_rows<1>(rows, {q + first * rows * kTileDepth, weights, depths}, ahead, block_sums);
        q += depths_ * rows * kTileDepth;
        block_sums += rows;
      }
      weights += depths * kDepthBytes;
    }
    finish(sums, typename V::Frame(packed, weights), tile * V::kColumns);
  }

  void finish(const Sums* sums, const typename V::Frame& frame, size_t column) const {
    for (size_t r = 0; r < args_.rows; ++r) {
      V::store(args_.y + r * args_.outputs + column, args_.outputs - column,
               V::finish(sums[r].vectors, frame, args_.quantization[r]));
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
