// Multiplies rows of activations with packed weights (kernels/linear/int8.h). Each tile is read from memory once: it is
// prefetched while the previous tile is multiplied, and stays in the caches for all groups of rows.
//
// `V` describes an instruction set:
//   kColumns, kTileVectors: the number of columns of a tile, and of the vectors that a depth of its weights fills;
//   kMaxRows: the number of rows that are multiplied together;
//   pass_vectors(rows): the number of vectors in a pass, as many as the registers hold sums for these rows;
//   kDepthsAtOnce: the number of depths whose weights stay in the L1 cache;
//   FloatMode: the treatment of denormals while an object of this type exists;
//   Activation: an element of reordered activations;
//   order(from, to): writes kTileDepth of them;
//   Ints: a vector of sums, weights or activations;
//   zero(), add(a, b): sums of zero, and the sum of two vectors;
//   weights(from): loads a vector of weights;
//   broadcast(q): loads a depth of activations, the same for every column;
//   multiply_add(sums, activations, weights): adds products to the sums;
//   Frame(tile, end): the sums, scales and biases of a tile whose weights end at `end`;
//   finish(sums, frame, quantization): returns the outputs of a row;
//   store(y, columns, outputs): stores the first `columns` outputs, or all if there are fewer.
#pragma once

#include <algorithm>

#include "kernels/linear/int8.h"
#include "kernels/linear/row_blocks.h"

namespace sotto::SOTTO_ISA::generic {

template <class V>
class Int8Tiles {
 public:
  // Reorders activations: writes the scratch memory as (group, block, depth, row of the block, kTileDepth), with
  // elements of V::Activation.
  static void prepare(const LinearArgs& args, size_t /*group*/) {
    const int8_t* q = args.q;
    auto* to = reinterpret_cast<Activation*>(args.scratch);
    for (const RowBlock group : RowBlocks(args.rows, kGroupRows)) {
      for (const RowBlock block : RowBlocks(group.count, V::kMaxRows)) {
        to = order(args, q, block.count, to);
        q += block.count * args.inputs;
      }
    }
  }

  static void multiply(const LinearArgs& args, size_t first_tile, size_t tile_count) {
    [[maybe_unused]] const typename V::FloatMode mode;
    const Int8Tiles tiles(args);
    for (size_t tile = first_tile; tile < first_tile + tile_count; ++tile) {
      tiles.multiply_tile(tile);
    }
  }

 private:
  using Activation = typename V::Activation;
  using Ints = typename V::Ints;

  static Activation* order(const LinearArgs& args, const int8_t* q, size_t rows, Activation* to) {
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
  static constexpr size_t kGroupRows = kSmallBatchRows;

  struct Sums {  // the sums of a row and a tile
    Ints vectors[V::kTileVectors];
  };

  struct Group {
    const Activation* q;
    RowBlock rows;
  };

  // Prefetches cache lines kPrefetchDistance ahead.
  struct Prefetcher {
    const uint8_t* address;
    size_t step;

    void prefetch() {
      for (size_t i = 0; i < kLinesOfDepth; ++i, address += step) __builtin_prefetch(address);
    }
  };

  explicit Int8Tiles(const LinearArgs& args)
      : args_(args), depths_(divide_up(args.inputs, kTileDepth)), size_(kFrameBytes + depths_ * kDepthBytes) {
    size_t passes = 0;
    for (const RowBlock group : RowBlocks(args.rows, kGroupRows)) {
      const RowBlocks blocks(group.count, V::kMaxRows);
      passes += blocks.count() * V::kTileVectors / V::pass_vectors(blocks[0].count);
    }
    const size_t lines = passes * depths_ * kLinesOfDepth;
    step_ = divide_up(size_, lines);
  }

  void multiply_tile(size_t tile) const {
    const uint8_t* packed = args_.weights + tile * size_;
    Prefetcher prefetcher = {packed + kPrefetchDistance, step_};
    const auto* q = reinterpret_cast<const Activation*>(args_.scratch);
    for (const RowBlock rows : RowBlocks(args_.rows, kGroupRows)) {
      multiply_group({q + rows.first * depths_ * kTileDepth, rows}, packed, tile * V::kColumns, prefetcher);
    }
  }

  // Multiplies all rows of a group with a few depths, then with the next depths, and so on. The weights then stay in
  // the L1 cache.
  void multiply_group(const Group& group, const uint8_t* packed, size_t column, Prefetcher& prefetcher) const {
    const uint8_t* weights = packed + V::kColumns * sizeof(int32_t);
    Sums sums[kGroupRows];
    std::fill_n(sums, group.rows.count, Sums{});
    for (size_t first = 0; first < depths_; first += V::kDepthsAtOnce) {
      const size_t depths = std::min(V::kDepthsAtOnce, depths_ - first);
      Sums* block_sums = sums;
      const Activation* q = group.q;
      for (const RowBlock block : RowBlocks(group.rows.count, V::kMaxRows)) {
        add_rows<1>(block.count, {q + first * block.count * kTileDepth, weights, depths}, prefetcher, block_sums);
        q += depths_ * block.count * kTileDepth;
        block_sums += block.count;
      }
      weights += depths * kDepthBytes;
    }
    const typename V::Frame frame(packed, weights);
    for (size_t r = 0; r < group.rows.count; ++r) {
      const size_t row = group.rows.first + r;
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
  static void add_rows(size_t rows, const Operands& operands, Prefetcher& prefetcher, Sums* sums) {
    if constexpr (kRows < V::kMaxRows) {
      if (rows > kRows) return add_rows<kRows + 1>(rows, operands, prefetcher, sums);
    }
    for (size_t first = 0; first < V::kTileVectors; first += V::pass_vectors(kRows)) {
      add_depths<kRows>(operands, first, prefetcher, sums);
    }
  }

  template <size_t kRows>
  static void add_depths(const Operands& operands, size_t first, Prefetcher& prefetcher, Sums* total) {
    constexpr size_t kVectors = V::pass_vectors(kRows);
    Prefetcher local = prefetcher;  // a local copy, which the compiler keeps in registers
    Ints sums[kRows][kVectors];
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) sums[r][v] = V::zero();
    }
    const Activation* q = operands.q;
    const uint8_t* weights = operands.weights + first * kVectorBytes;
    for (size_t depth = 0; depth < operands.depths; ++depth) {
      local.prefetch();
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
    prefetcher = local;
#pragma GCC unroll 8
    for (size_t r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (size_t v = 0; v < kVectors; ++v) {
        total[r].vectors[first + v] = V::add(total[r].vectors[first + v], sums[r][v]);
      }
    }
  }

  const LinearArgs& args_;
  size_t depths_;
  size_t size_;  // size of a tile
  size_t step_;  // step of the prefetcher
};

}  // namespace sotto::SOTTO_ISA::generic
