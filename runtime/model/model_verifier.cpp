#include "runtime/model/model_verifier.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#include "kernels/linear/int4.h"
#include "kernels/linear/linear.h"
#include "runtime/base/arena.h"
#include "runtime/model/model_generated.h"

namespace sotto {
namespace {

// Visits the tensors of one part of the model after the other and stops at the first failure.
class TensorWalk {
 public:
  TensorWalk(Status (*visit)(void*, const TensorSpec&), void* context) : visit_(visit), context_(context) {}

  void tensor(int64_t layer, const char* owner, const char* part, TensorKind kind, const format::DataRange* range,
              uint64_t count) {
    const bool is_bytes = kind == TensorKind::kInt8 || kind == TensorKind::kTiles;
    pass_on({{layer, owner, part}, kind, range, count * (is_bytes ? 1 : sizeof(float)), 0});
  }

  void linear(int64_t layer, const char* owner, const format::Linear& linear) {
    const uint64_t outputs = linear.outputs();
    if (linear.tiles() != nullptr) {
      pass_on({{layer, owner, "tiles"},
               TensorKind::kTiles,
               linear.tiles(),
               int4_size(linear.inputs(), linear.outputs()),
               int4_tile_size(linear.inputs())});
      return;
    }
    tensor(layer, owner, "weights", TensorKind::kInt8, linear.weights(), outputs * linear.inputs());
    tensor(layer, owner, "scales", TensorKind::kScale, linear.scales(), outputs);
    tensor(layer, owner, "bias", TensorKind::kFinite, linear.bias(), outputs);
  }

  void norm(int64_t layer, const char* owner, const format::Norm& norm, uint64_t size) {
    tensor(layer, owner, "gain", TensorKind::kFinite, norm.gain(), size);
    tensor(layer, owner, "bias", TensorKind::kFinite, norm.bias(), size);
  }

  Status status() const { return status_; }

 private:
  void pass_on(const TensorSpec& spec) {
    if (status_ == Status::kOk && spec.range != nullptr) status_ = visit_(context_, spec);
  }

  Status (*visit_)(void*, const TensorSpec&);
  void* context_;
  Status status_ = Status::kOk;
};

template <typename T>
T load(const uint8_t* bytes, uint64_t index) {
  T value;
  std::memcpy(&value, bytes + index * sizeof value, sizeof value);
  return value;
}

// Returns whether a float is allowed in a tensor of this kind. The test uses only integer operations on the bits, so
// that a block of floats can be tested without branches.
bool is_usable(TensorKind kind, uint32_t bits) {
  constexpr uint32_t kSmallestNormal = 0x00800000, kInfinity = 0x7f800000;
  return kind == TensorKind::kFinite ? bits << 1 < kInfinity << 1
                                     : bits - kSmallestNormal < kInfinity - kSmallestNormal;
}

// Returns the index of the first float that is not allowed, or `count`.
template <TensorKind kKind>
uint64_t find_unusable(const uint8_t* floats, uint64_t count) {
  constexpr uint64_t kBlock = 256;
  uint64_t i = 0;
  for (uint32_t bad = 0; i + kBlock <= count; i += kBlock) {
    for (uint64_t k = 0; k < kBlock; ++k) bad += !is_usable(kKind, load<uint32_t>(floats, i + k));
    if (bad > 0) break;
  }
  while (i < count && is_usable(kKind, load<uint32_t>(floats, i))) ++i;
  return i;
}

// Checks the scales and biases of all tiles.
Status verify_tiles(const uint8_t* file, const TensorSpec& spec, Error* error) {
  for (uint64_t tile = 0; tile < spec.expected_size; tile += spec.tile_size) {
    const uint64_t frame = spec.range->offset() + tile;
    for (uint64_t i = 0; i < 2 * kInt4Columns; ++i) {
      const uint64_t offset = frame + offsetof(Int4Frame, scales) + i * sizeof(float);
      const bool is_scale = i < kInt4Columns;
      const auto value = load<uint32_t>(file + offset, 0);
      if (is_usable(is_scale ? TensorKind::kScale : TensorKind::kFinite, value)) continue;
      return fail_tensor(error, Status::kModelCorrupt, offset, spec.name, is_scale ? "scale " : "bias ",
                         tile / spec.tile_size * kInt4Columns + i % kInt4Columns, " is ", std::bit_cast<float>(value));
    }
  }
  return Status::kOk;
}

}  // namespace

Status verify_form(const format::Linear& linear, const TensorName& name, Error* error) {
  const bool has_int8 = linear.weights() != nullptr && linear.scales() != nullptr;
  if (linear.tiles() == nullptr) {
    if (has_int8) return Status::kOk;
    return fail_tensor(error, Status::kModelCorrupt, Error::kNoOffset, name,
                       "neither int8 weights and scales nor tiles");
  }
  if (linear.weights() != nullptr || linear.scales() != nullptr || linear.bias() != nullptr) {
    return fail_tensor(error, Status::kModelCorrupt, Error::kNoOffset, name, "parts of int8 weights next to tiles");
  }
  if (linear.inputs() < kInt4Block) {
    return fail_tensor(error, Status::kModelCorrupt, Error::kNoOffset, name, "tiles of ", linear.inputs(),
                       " inputs, fewer than ", kInt4Block);
  }
  return Status::kOk;
}

Status visit_tensors(const format::Model& model, Status (*visit)(void*, const TensorSpec&), void* context) {
  const uint64_t width = model.embedding_size();
  TensorWalk walk(visit, context);
  walk.linear(-1, "token_embedding", *model.token_embedding());
  walk.tensor(-1, "positions", "table", TensorKind::kFinite, model.positions(), width * model.position_count());
  int64_t index = 0;
  for (const format::Layer* layer : *model.layers()) {
    walk.norm(index, "attention_norm", *layer->attention_norm(), width);
    walk.linear(index, "attention_qkv", *layer->attention_qkv());
    walk.linear(index, "attention_output", *layer->attention_output());
    walk.norm(index, "feed_forward_norm", *layer->feed_forward_norm(), width);
    walk.linear(index, "feed_forward_up", *layer->feed_forward_up());
    walk.linear(index, "feed_forward_down", *layer->feed_forward_down());
    ++index;
  }
  walk.norm(-1, "final_norm", *model.final_norm(), width);
  if (model.head() != nullptr) walk.linear(-1, "head", *model.head());
  return walk.status();
}

Status verify_placement(const FileBytes& file, const format::DataRange& range, const TensorName& name, Error* error) {
  if (range.offset() % kMemoryAlignment != 0) {
    return fail_tensor(error, Status::kModelCorrupt, range.offset(), name, "not aligned to 64 bytes");
  }
  if (range.offset() < file.data_begin || range.offset() > file.size || range.size() > file.size - range.offset()) {
    return fail_tensor(error, Status::kModelCorrupt, range.offset(), name,
                       range.offset() < file.data_begin ? "inside the metadata" : "beyond the end of the file");
  }
  return Status::kOk;
}

Status verify_extent(const FileBytes& file, const TensorSpec& spec, Error* error) {
  SOTTO_TRY(verify_placement(file, *spec.range, spec.name, error));
  if (spec.range->size() != spec.expected_size) {
    return fail_tensor(error, Status::kModelCorrupt, spec.range->offset(), spec.name, "has ", spec.range->size(),
                       " bytes, its shape needs ", spec.expected_size);
  }
  if (spec.kind == TensorKind::kInt8 && file.size - spec.range->offset() - spec.range->size() < kWeightPadding) {
    return fail_tensor(error, Status::kModelCorrupt, spec.range->offset(), spec.name, "ends less than ", kWeightPadding,
                       " bytes before the end of the file");
  }
  return Status::kOk;
}

namespace {

// Calls visit(range) for all bytes of the file outside its metadata.
template <typename Visit>
Status visit_ranges(const format::Model& model, const Visit& visit) {
  SOTTO_TRY(visit_tensors(model, [&](const TensorSpec& spec) { return visit(*spec.range); }));
  const uint32_t sections = model.packed() == nullptr ? 0 : model.packed()->size();
  for (uint32_t section = 0; section < sections; ++section) {
    for (const format::DataRange* range : *model.packed()->Get(section)->weights()) SOTTO_TRY(visit(*range));
  }
  return model.vocabulary() == nullptr ? Status::kOk : visit(*model.vocabulary()->arrays());
}

// A block of ranges in the order of the file.
struct RangeBlock {
  static constexpr uint32_t kCapacity = 128;
  struct Range {
    uint64_t begin;
    uint64_t end;
  };

  void sort() {
    std::sort(ranges, ranges + count, [](const Range& a, const Range& b) { return a.begin < b.begin; });
  }
  // Returns the first offset that two ranges of the block share, or kNoOffset.
  uint64_t find_overlap() const {
    for (uint32_t i = 1; i < count; ++i) {
      if (ranges[i].begin < ranges[i - 1].end) return ranges[i].begin;
    }
    return Error::kNoOffset;
  }
  // Returns whether one of the disjoint ranges shares bytes with another one.
  bool overlaps(const Range& other) const {
    const Range* const after =
        std::lower_bound(ranges, ranges + count, other.end, [](const Range& a, uint64_t end) { return a.begin < end; });
    return after != ranges && after[-1].end > other.begin;
  }

  Range ranges[kCapacity];
  uint32_t count = 0;
};

}  // namespace

// Compares each block of ranges with all ranges after it, because there is no memory for all of them.
Status verify_disjoint(const format::Model& model, Error* error) {
  const auto fail_shared = [&](uint64_t offset) {
    return fail_at(error, Status::kModelCorrupt, offset, "two tensors share the bytes from this offset on");
  };
  for (uint64_t first = 0;; first += RangeBlock::kCapacity) {
    RangeBlock block;
    uint64_t number = 0;
    SOTTO_TRY(visit_ranges(model, [&](const format::DataRange& range) {
      if (range.size() == 0) return Status::kOk;
      const RangeBlock::Range bytes = {range.offset(), range.offset() + range.size()};
      const uint64_t position = number++;
      if (position < first) return Status::kOk;
      if (position >= first + RangeBlock::kCapacity) {
        return block.overlaps(bytes) ? fail_shared(range.offset()) : Status::kOk;
      }
      block.ranges[block.count++] = bytes;
      if (block.count < RangeBlock::kCapacity) return Status::kOk;
      block.sort();
      const uint64_t shared = block.find_overlap();
      return shared == Error::kNoOffset ? Status::kOk : fail_shared(shared);
    }));
    if (block.count == RangeBlock::kCapacity) continue;
    block.sort();
    const uint64_t shared = block.find_overlap();
    return shared == Error::kNoOffset ? Status::kOk : fail_shared(shared);
  }
}

Status verify_numbers(const uint8_t* file, const TensorSpec& spec, Error* error) {
  if (spec.kind == TensorKind::kInt8) return Status::kOk;
  if (spec.kind == TensorKind::kTiles) return verify_tiles(file, spec, error);
  const uint8_t* floats = file + spec.range->offset();
  const uint64_t count = spec.expected_size / sizeof(float);
  const uint64_t index = spec.kind == TensorKind::kFinite ? find_unusable<TensorKind::kFinite>(floats, count)
                                                          : find_unusable<TensorKind::kScale>(floats, count);
  if (index == count) return Status::kOk;
  return fail_tensor(error, Status::kModelCorrupt, spec.range->offset() + index * sizeof(float), spec.name, "element ",
                     index, " is ", load<float>(floats, index));
}

}  // namespace sotto
