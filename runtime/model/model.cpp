#include "runtime/model/model.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

#include "kernels/linear/int4.h"
#include "runtime/base/object_memory.h"

namespace sotto {
namespace {

// Bytes reserved for a layer, the same on every platform, because memory sizes are part of the API.
constexpr size_t kLayerBytes = 256;
static_assert(sizeof(LayerView) <= kLayerBytes);

void release(const ModelParams& params, const ByteRange& range) {
  if (params.release == nullptr || range.size == 0) return;
  params.release(params.release_user_data, range.bytes, range.size);
}

// Returns the range of the scales and biases if they are contiguous in the file, or else an empty range. Packed weights
// contain copies of these arrays, so the pages can be released. The range does not include the scales of a tied head,
// because the embedding uses them.
ByteRange scales_and_biases(const ModelView& view) {
  uintptr_t begin = UINTPTR_MAX, end = 0;
  size_t total = 0;
  const auto add = [&](const float* floats, size_t count) {
    if (floats == nullptr) return;
    const auto first = reinterpret_cast<uintptr_t>(floats);
    begin = std::min(begin, first);
    end = std::max(end, first + count * sizeof(float));
    total += align_up(count * sizeof(float), kMemoryAlignment);
  };
  const size_t count = view.linear_count() - (view.has_tied_head() ? 1 : 0);
  for (size_t i = 0; i < count; ++i) {
    const LinearWeights linear = view.linear(i);
    add(linear.scales, linear.outputs);
    add(linear.bias, linear.outputs);
  }
  if (end == 0 || align_up(end - begin, kMemoryAlignment) != total) return {};
  return {reinterpret_cast<const uint8_t*>(begin), end - begin, 0};
}

// Copies a range in pieces, so that only a few pages of a mapped file are in memory at the same time as their copy.
void copy_range(const ModelParams& params, const ByteRange& range, uint8_t* to) {
  constexpr size_t kPieceBytes = size_t{4} << 20;
  for (size_t done = 0; done < range.size; done += kPieceBytes) {
    const size_t size = std::min(kPieceBytes, range.size - done);
    std::memcpy(to + done, range.bytes + done, size);
    release(params, {range.bytes + done, size});
  }
}

bool has_int4_weights(const ModelView& view) {
  for (size_t i = 0; i < view.linear_count(); ++i) {
    if (view.linear(i).tiles != nullptr) return true;
  }
  return false;
}

// Returns the bytes of a linear layer that the kernels read: the form packed for this CPU if the file has one, or else
// the plain form.
ByteRange stored_linear(const ModelView& view, int packed_section, size_t index) {
  const bool is_packed = packed_section >= 0 && view.linear(index).tiles == nullptr;
  return is_packed ? view.packed_linear(packed_section, index) : view.linear_bytes(index);
}

}  // namespace

// The decisions of init(), made before any memory is written.
struct Model::Plan {
  ModelView view;
  const Kernels* kernels = nullptr;
  const TileLayout* layout = nullptr;  // of packed weights; null if the kernels read plain rows
  int packed_section = -1;
  bool pack = false;  // true if weights are packed into the caller's memory
  bool copy = false;  // true if weights that are not packed are copied there

  size_t memory_of_linear(size_t index) const {
    const LinearWeights weights = view.linear(index);
    if (weights.tiles != nullptr) {
      return copy ? align_up(view.linear_bytes(index).size, kMemoryAlignment) : 0;
    }
    return pack || copy ? packed_size_bound(weights.inputs, weights.outputs) : 0;
  }
};

Status Model::make_plan(const void* file, size_t file_size, const ModelParams& params, Plan* plan, Error* error) {
  plan->kernels = find_kernels(params.isa);
  if (plan->kernels == nullptr) {
    return fail(error, Status::kCpuUnsupported, "isa is ", isa_name(params.isa),
                "; it must be one that this CPU and this build have");
  }
  SOTTO_TRY(plan->view.open(file, file_size, error));
  plan->copy = params.copy_weights;
  if (!int4_available() && has_int4_weights(plan->view)) {
    return fail(error, Status::kModelUnsupported, "4-bit weights: this library is built with SOTTO_WITH_INT4=OFF");
  }
  plan->layout = packed_layout(plan->kernels->isa);
  if (plan->layout != nullptr && plan->view.has_int8_linears()) {
    SOTTO_TRY(plan->view.find_packed(*plan->layout, &plan->packed_section, error));
    plan->pack = plan->packed_section < 0;
  }
  Arena measure;
  Model().layout(measure, *plan);
  if (!measure.overflowed()) return Status::kOk;
  return fail(error, Status::kModelUnsupported, "the weights need more memory than can be addressed");
}

// Calls function(index, memory) for each linear layer, in the order of the file. The memory is the place in `arena` to
// which the weights are copied or packed.
template <typename Function>
Status Model::for_each_linear(const Plan& plan, Arena* arena, Function function) {
  for (size_t index = 0; index < plan.view.linear_count(); ++index) {
    SOTTO_TRY(function(index, arena->take<uint8_t>(plan.memory_of_linear(index))));
  }
  return Status::kOk;
}

void Model::layout(Arena& arena, const Plan& plan) {
  layers_ = reinterpret_cast<LayerView*>(arena.take<uint8_t>(kLayerBytes * plan.view.config().layer_count));
  weights_ = arena;
  (void)for_each_linear(plan, &arena, [](size_t, uint8_t*) { return Status::kOk; });
}

Status Model::memory_size(const void* file, size_t file_size, const ModelParams& params, size_t* memory_size,
                          Error* error) {
  Plan plan;
  SOTTO_TRY(make_plan(file, file_size, params, &plan, error));
  return measure_object<Model>(memory_size, error, plan);
}

// Returns a linear layer by its index in the file (ModelView::linear()).
LinearWeights& Model::linear(size_t index) {
  if (index + 1 == view_.linear_count()) return head_;
  LayerView& layer = layers_[index / 4];
  LinearWeights* const linears[] = {&layer.attention_qkv, &layer.attention_output, &layer.feed_forward_up,
                                    &layer.feed_forward_down};
  return *linears[index % 4];
}

// Finds the weights of a linear layer, and copies or packs them into `memory` if the plan says so.
Status Model::load_linear(const Plan& plan, const ModelParams& params, size_t index, uint8_t* memory, Error* error) {
  LinearWeights* const weights = &linear(index);
  *weights = view_.linear(index);
  const bool is_packed = plan.packed_section >= 0 && weights->tiles == nullptr;
  const ByteRange range = stored_linear(view_, plan.packed_section, index);
  if (params.verify_checksums) {
    SOTTO_TRY(view_.verify_range(range, is_packed ? "packed weights" : "weights", error));
  }
  if (plan.pack && weights->tiles == nullptr) {
    pack_linear(*plan.layout, *weights, memory);
    weights->packed = memory;
    weights->layout = plan.layout;
    release(params, range);
    return Status::kOk;
  }
  if (plan.copy) copy_range(params, range, memory);
  const uint8_t* const bytes = plan.copy ? memory : range.bytes;
  if (is_packed) {
    weights->packed = bytes;
    weights->layout = plan.layout;
  } else if (weights->tiles != nullptr) {
    weights->tiles = bytes;
  } else {
    weights->rows = reinterpret_cast<const int8_t*>(bytes);
  }
  return Status::kOk;
}

// Verifies the tensors in the file that load_linear() does not read.
Status Model::verify_tensors_in_place(const ModelParams& params, Error* error) const {
  SOTTO_TRY(view_.verify_small_tensors(error));
  const bool is_in_use = view_.token_embedding().tiles != nullptr || packed_section_ < 0;
  if (view_.has_tied_head() && is_in_use) return Status::kOk;  // was verified as part of the head
  const ByteRange bytes = view_.token_embedding_bytes();
  SOTTO_TRY(view_.verify_range(bytes, "token embeddings", error));
  release(params, bytes);
  return Status::kOk;
}

Status Model::init(const void* file, size_t file_size, const ModelParams& params, void* memory, size_t memory_size,
                   Model** out, Error* error) {
  Plan plan;
  SOTTO_TRY(make_plan(file, file_size, params, &plan, error));
  SOTTO_TRY(plan.view.verify_contents(error));
  Model* model = nullptr;
  SOTTO_TRY(create_object(memory, memory_size, &model, error, plan));
  model->view_ = plan.view;
  model->kernels_ = plan.kernels;
  model->packed_section_ = plan.packed_section;
  model->packs_at_load_ = plan.pack;
  model->copies_weights_ = plan.copy;
  if (params.verify_checksums) SOTTO_TRY(model->verify_tensors_in_place(params, error));
  for (size_t i = 0; i < plan.view.config().layer_count; ++i) new (&model->layers_[i]) LayerView(plan.view.layer(i));
  SOTTO_TRY(for_each_linear(plan, &model->weights_, [&](size_t index, uint8_t* weights) {
    return model->load_linear(plan, params, index, weights, error);
  }));
  // A tied embedding and the head use the same pages.
  model->token_embedding_ = plan.view.has_tied_head() ? model->head_ : plan.view.token_embedding();
  model->positions_ = plan.view.positions();
  model->final_norm_ = plan.view.final_norm();
  // The verification has read the pages below, but generating text needs few of them.
  if (plan.pack || plan.packed_section >= 0) release(params, scales_and_biases(plan.view));
  release(params, plan.view.position_bytes());
  release(params, plan.view.metadata());
  *out = model;
  return Status::kOk;
}

}  // namespace sotto
