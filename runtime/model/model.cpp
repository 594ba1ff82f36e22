#include "runtime/model/model.h"

#include <cstdint>
#include <new>

#include "kernels/int4_linear.h"

namespace sotto {

// Set aside for the objects themselves, on every platform: memory sizes are part of the API.
constexpr size_t kModelBytes = 1024;
constexpr size_t kLayerBytes = 256;
static_assert(sizeof(Model) <= kModelBytes);
static_assert(sizeof(LayerView) <= kLayerBytes);

static void release(const ModelOptions& options, const ByteRange& range) {
  if (options.release != nullptr) options.release(options.release_context, range.bytes, range.size);
}

static bool has_int4_weights(const ModelView& view) {
  for (size_t i = 0; i < view.linear_count(); ++i) {
    if (view.linear(i).tiles != nullptr) return true;
  }
  return false;
}

// What init will do, settled before any memory is touched.
struct Model::Plan {
  ModelView view;
  const Kernels* kernels = nullptr;
  int packed_section = -1;
  bool pack = false;  // into the caller's memory
};

Status Model::make_plan(const void* file, size_t file_size, const ModelOptions& options, Plan* plan,
                        Error* error) {
  plan->kernels = find_kernels(options.isa);
  if (plan->kernels == nullptr) {
    return fail(error, Status::kCpuUnsupported, "this CPU or build has no ", isa_name(options.isa));
  }
  const Isa isa = plan->kernels->isa;
  if (!select_linear_isa(isa)) {
    return fail(error, Status::kInvalidState, "isa ", isa_name(isa),
                ": this process already runs another instruction set");
  }
  SOTTO_TRY(plan->view.open(file, file_size, error));
  if (!int4_available() && has_int4_weights(plan->view)) {
    return fail(error, Status::kModelUnsupported,
                "4-bit weights: this library is built with SOTTO_FEATURE_INT4=OFF");
  }
  if (!linear_needs_packing(isa) || !plan->view.has_int8_linears()) return Status::kOk;
  SOTTO_TRY(plan->view.find_packed(packed_layout_fingerprint(), &plan->packed_section, error));
  plan->pack = plan->packed_section < 0;
  return Status::kOk;
}

// Places the model's parts; over an empty arena it only measures.
size_t Model::lay_out(const Plan& plan, Arena arena, Model** model, LayerView** layers,
                      uint8_t** packed) {
  *model = reinterpret_cast<Model*>(arena.take<uint8_t>(kModelBytes));
  *layers = reinterpret_cast<LayerView*>(
      arena.take<uint8_t>(kLayerBytes * plan.view.config().layer_count));
  size_t packed_bytes = 0;
  for (size_t i = 0; plan.pack && i < plan.view.linear_count(); ++i) {
    const LinearWeights weights = plan.view.linear(i);
    if (weights.tiles != nullptr) continue;
    packed_bytes += packed_size_bound(weights.inputs, weights.outputs);
  }
  *packed = arena.take<uint8_t>(packed_bytes);
  return arena.size();
}

Status Model::memory_size(const void* file, size_t file_size, const ModelOptions& options,
                          size_t* memory_size, Error* error) {
  Plan plan;
  SOTTO_TRY(make_plan(file, file_size, options, &plan, error));
  Model* model;
  LayerView* layers;
  uint8_t* packed;
  *memory_size = lay_out(plan, Arena(), &model, &layers, &packed);
  return Status::kOk;
}

// Finds or makes the packed weights of one linear layer. `*packed`: where the next ones go.
Status Model::load_linear(const ModelOptions& options, size_t index, uint8_t** packed,
                          LinearWeights* weights, Error* error) {
  *weights = view_.linear(index);
  if (packed_section_ >= 0 && weights->tiles == nullptr) {
    const ByteRange range = view_.packed_linear(packed_section_, index);
    if (options.verify_checksums) {
      SOTTO_TRY(view_.verify_range(range, "packed weights", error));
    }
    weights->packed = range.bytes;
    return Status::kOk;
  }
  const ByteRange bytes = view_.linear_bytes(index);
  if (options.verify_checksums) {
    SOTTO_TRY(view_.verify_range(bytes, "weights", error));
  }
  if (weights->tiles != nullptr || !linear_needs_packing(isa())) return Status::kOk;
  if (pack_linear(*weights, *packed) == 0) {
    return fail(error, Status::kInternal, "packing the weights failed");
  }
  weights->packed = *packed;
  *packed += packed_size_bound(weights->inputs, weights->outputs);
  release(options, bytes);
  return Status::kOk;
}

// What stays in the file and is not read by load_linear.
Status Model::verify_tensors_in_place(const ModelOptions& options, Error* error) const {
  SOTTO_TRY(view_.verify_small_tensors(error));
  const bool is_in_use = view_.token_embedding().tiles != nullptr || !packed_in_place();
  if (view_.has_tied_head() && is_in_use) return Status::kOk;  // checked as the head
  const ByteRange bytes = view_.token_embedding_bytes();
  SOTTO_TRY(view_.verify_range(bytes, "token embeddings", error));
  release(options, bytes);
  return Status::kOk;
}

Status Model::init(const void* file, size_t file_size, const ModelOptions& options, void* memory,
                   size_t memory_size, Model** out, Error* error) {
  Plan plan;
  SOTTO_TRY(make_plan(file, file_size, options, &plan, error));
  SOTTO_TRY(plan.view.verify_contents(error));
  if (reinterpret_cast<uintptr_t>(memory) % kMemoryAlignment != 0) {
    return fail(error, Status::kMemoryMisaligned, "memory is not aligned to 64 bytes");
  }
  Model* place;
  LayerView* layers;
  uint8_t* packed;
  const size_t needed = lay_out(plan, Arena(), &place, &layers, &packed);
  if (memory_size < needed) {
    return fail(error, Status::kMemoryTooSmall, "the model needs ", needed, " bytes, got ",
                memory_size);
  }
  lay_out(plan, Arena(memory), &place, &layers, &packed);

  auto* model = new (place) Model;
  model->view_ = plan.view;
  model->kernels_ = plan.kernels;
  model->packed_section_ = plan.packed_section;
  model->layers_ = layers;
  if (options.verify_checksums) SOTTO_TRY(model->verify_tensors_in_place(options, error));
  for (size_t i = 0; i < plan.view.config().layer_count; ++i) {
    auto* layer = new (&layers[i]) LayerView(plan.view.layer(i));
    LinearWeights* const linears[] = {&layer->attention_qkv, &layer->attention_output,
                                      &layer->feed_forward_up, &layer->feed_forward_down};
    for (size_t k = 0; k < 4; ++k) {
      SOTTO_TRY(model->load_linear(options, 4 * i + k, &packed, linears[k], error));
    }
  }
  SOTTO_TRY(
      model->load_linear(options, plan.view.linear_count() - 1, &packed, &model->head_, error));
  model->token_embedding_ = plan.view.token_embedding();
  // Tied to the head, whose pages are in use anyway.
  if (model->head_.packed != nullptr && plan.view.has_tied_head() && packed_rows_are_readable()) {
    model->token_embedding_.packed = model->head_.packed;
  }
  model->positions_ = plan.view.positions();
  model->final_norm_ = plan.view.final_norm();
  // Read to be verified; of what comes back, a text needs little.
  release(options, plan.view.position_bytes());
  release(options, plan.view.metadata());
  *out = model;
  return Status::kOk;
}

}  // namespace sotto
