// A model that is ready to run: the verified file, the selected instruction set, and the weights in the form that the
// kernels read, which are in the file or in the caller's memory. A model is immutable, so any number of sessions and
// threads can share it.
#pragma once

#include <cstddef>

#include "kernels/kernels.h"
#include "runtime/base/arena.h"
#include "runtime/base/status.h"
#include "runtime/generated/params.h"
#include "runtime/model/model_view.h"

namespace sotto {

class Model {
 public:
  static constexpr size_t kObjectBytes = 1024;
  struct Plan;

  static Status memory_size(const void* file, size_t file_size, const ModelParams& params, size_t* memory_size,
                            Error* error);
  static Status init(const void* file, size_t file_size, const ModelParams& params, void* memory, size_t memory_size,
                     Model** out, Error* error);
  void layout(Arena& arena, const Plan& plan);

  const ModelConfig& config() const { return view_.config(); }
  const ModelView& view() const { return view_; }
  const TokenizerView* tokenizer() const { return view_.tokenizer(); }
  const Kernels& kernels() const { return *kernels_; }
  Isa isa() const { return kernels_->isa; }
  // Returns whether all weights are read directly from the file: none were packed or copied.
  bool uses_file_packing() const { return !packs_at_load_ && !copies_weights_; }
  // Returns whether weights were packed into the caller's memory.
  bool packs_at_load() const { return packs_at_load_; }

  // The LinearWeights of the result have `packed` set if the kernels read packed weights.
  const LayerView& layer(size_t index) const { return layers_[index]; }
  const LinearWeights& head() const { return head_; }

  // The result has `packed` set if embedding rows are read from the packed weights.
  const LinearWeights& token_embedding() const { return token_embedding_; }
  const float* positions() const { return positions_; }
  const NormView& final_norm() const { return final_norm_; }

 private:
  static Status make_plan(const void* file, size_t file_size, const ModelParams& params, Plan* plan, Error* error);
  Status verify_tensors_in_place(const ModelParams& params, Error* error) const;
  template <typename Function>
  static Status for_each_linear(const Plan& plan, Arena* arena, Function function);
  LinearWeights& linear(size_t index);
  Status load_linear(const Plan& plan, const ModelParams& params, size_t index, uint8_t* memory, Error* error);

  ModelView view_;
  const Kernels* kernels_ = nullptr;
  int packed_section_ = -1;
  bool packs_at_load_ = false;
  bool copies_weights_ = false;
  LayerView* layers_ = nullptr;
  Arena weights_;  // memory for the weights that are copied or packed
  LinearWeights head_;
  LinearWeights token_embedding_;
  const float* positions_ = nullptr;
  NormView final_norm_;
};

}  // namespace sotto
