// The checks of ModelView::open() and verify_contents(), tensor by tensor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/status.h"

namespace sotto::format {
struct DataRange;
struct Linear;
struct Model;
struct Norm;
}  // namespace sotto::format

namespace sotto {

// What the bytes of a tensor must be.
enum class TensorKind : uint8_t {
  kInt8,    // rows of a linear layer
  kFinite,  // float32, all numbers finite
  kScale,   // float32, all numbers finite, positive and normal
  kTiles,   // a linear layer with 4-bit weights, whose scales and biases obey the two rules above
};

// Names a tensor in messages: "layer 3 attention_qkv scales".
struct TensorName {
  int64_t layer;  // -1 for a tensor outside the layers
  const char* owner;
  const char* part;
};

struct TensorSpec {
  TensorName name;
  TensorKind kind;
  const format::DataRange* range;
  uint64_t expected_size;
  uint64_t tile_size;  // tile size of kTiles
};

// Checks that a linear layer has either int8 weights or tiles, and not parts of both.
Status verify_form(const format::Linear& linear, const TensorName& name, Error* error);

// Calls visit(context, spec) for every tensor of a model, in file order, until it fails. The forms of the linear layers
// must have been verified.
Status visit_tensors(const format::Model& model, Status (*visit)(void* context, const TensorSpec& spec), void* context);

// The same with a function object.
template <typename Visit>
Status visit_tensors(const format::Model& model, const Visit& visit) {
  const auto call = [](void* context, const TensorSpec& spec) { return (**static_cast<const Visit**>(context))(spec); };
  const Visit* pointer = &visit;
  return visit_tensors(model, call, &pointer);
}

// Fails with a message that begins with the name of the tensor.
template <typename... Parts>
Status fail_tensor(Error* error, Status status, uint64_t offset, const TensorName& name, const Parts&... parts) {
  if (name.layer < 0) {
    return fail_at(error, status, offset, name.owner, " ", name.part, ": ", parts...);
  }
  return fail_at(error, status, offset, "layer ", static_cast<uint64_t>(name.layer), " ", name.owner, " ", name.part,
                 ": ", parts...);
}

struct FileBytes {
  const uint8_t* bytes;
  size_t size;
  size_t data_begin;  // offset at which the metadata ends
};

// Checks that `range` is aligned, inside the data and of its expected size.
Status verify_extent(const FileBytes& file, const TensorSpec& spec, Error* error);

// Checks that float tensors hold usable numbers. Their extents must have been verified.
Status verify_numbers(const uint8_t* file, const TensorSpec& spec, Error* error);

// Checks only alignment and position.
Status verify_placement(const FileBytes& file, const format::DataRange& range, const TensorName& name, Error* error);

}  // namespace sotto
