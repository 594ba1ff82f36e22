// Verifies the tensors of a model file, one by one, for ModelView::open() and verify_contents().
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

// The rule for the values of a tensor.
enum class TensorKind : uint8_t {
  kInt8,    // rows of a linear layer
  kFinite,  // float32, all numbers finite
  kScale,   // float32, all numbers finite, positive and normal
  kTiles,   // a linear layer with 4-bit weights, whose scales and biases obey the two rules above
};

// The name of a tensor in messages, for example "layer 3 attention_qkv scales".
struct TensorName {
  int64_t layer;  // -1 for a tensor outside the layers
  const char* owner;
  const char* part;
};

// A tensor as the metadata describes it, with its required kind and size.
struct TensorSpec {
  TensorName name;
  TensorKind kind;
  const format::DataRange* range;
  uint64_t expected_size;
  uint64_t tile_size;  // tile size for kTiles
};

// Checks that a linear layer has either int8 weights or tiles, and no field of the other form.
Status verify_form(const format::Linear& linear, const TensorName& name, Error* error);

// Calls visit(context, spec) for every tensor of a model, in file order, and stops at the first failure. verify_form()
// must have accepted the linear layers.
Status visit_tensors(const format::Model& model, Status (*visit)(void* context, const TensorSpec& spec), void* context);

// The same for a function object.
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

// The bytes of a file with a verified header.
struct FileBytes {
  const uint8_t* bytes;
  size_t size;
  size_t data_begin;  // end of the metadata
};

// Checks that the range is aligned, lies inside the data and has the expected size.
Status verify_extent(const FileBytes& file, const TensorSpec& spec, Error* error);

// Checks the numbers in a float tensor. verify_extent() must have accepted the tensor.
Status verify_numbers(const uint8_t* file, const TensorSpec& spec, Error* error);

// Checks that a range is aligned and lies inside the data.
Status verify_placement(const FileBytes& file, const format::DataRange& range, const TensorName& name, Error* error);

// Checks that no two tensors, packed weights or arrays of the vocabulary share bytes, so that memory and time for a
// model are proportional to the size of its file.
Status verify_disjoint(const format::Model& model, Error* error);

}  // namespace sotto
