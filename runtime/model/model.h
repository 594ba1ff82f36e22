// A model ready to run: the verified file, the instruction set in use, and one packed copy
// of the weights, in the file or in the caller's memory. Immutable, shared by sessions.
#pragma once

#include <cstddef>

#include "kernels/kernels.h"
#include "runtime/base/arena.h"
#include "runtime/base/status.h"
#include "runtime/model/model_view.h"

namespace sotto {

struct ModelOptions {
  Isa isa = Isa::kAuto;
  bool verify_checksums = true;
  // Weights that could be used in place are copied into the caller's memory.
  bool copy_weights = false;
  // Called when init is done with bytes of the file; null: nobody wants to know.
  void (*release)(void* context, const void* bytes, size_t size) = nullptr;
  void* release_context = nullptr;
};

class Model {
 public:
  static Status memory_size(const void* file, size_t file_size, const ModelOptions& options, size_t* memory_size,
                            Error* error);
  static Status init(const void* file, size_t file_size, const ModelOptions& options, void* memory, size_t memory_size,
                     Model** model, Error* error);

  const ModelConfig& config() const { return view_.config(); }
  const ModelView& view() const { return view_; }
  const TokenizerView* tokenizer() const { return view_.tokenizer(); }
  const Kernels& kernels() const { return *kernels_; }
  Isa isa() const { return kernels_->isa; }
  // All weights run from the file, and not because the reference engine takes any.
  bool packed_in_place() const { return !copies_weights_ && (packed_section_ >= 0 || !view_.has_int8_linears()); }

  // With `packed` set where the instruction set wants it.
  const LayerView& layer(size_t index) const { return layers_[index]; }
  const LinearWeights& head() const { return head_; }

  // With `packed` set where its rows are better read from there.
  const LinearWeights& token_embedding() const { return token_embedding_; }
  const float* positions() const { return positions_; }
  const NormView& final_norm() const { return final_norm_; }

 private:
  struct Plan;
  static Status make_plan(const void* file, size_t file_size, const ModelOptions& options, Plan* plan, Error* error);
  static size_t lay_out(const Plan& plan, Arena arena, Model** model, LayerView** layers, uint8_t** weights);
  Status verify_tensors_in_place(const ModelOptions& options, Error* error) const;
  Status load_linear(const Plan& plan, const ModelOptions& options, size_t index, uint8_t** memory,
                     LinearWeights* weights, Error* error);

  ModelView view_;
  const Kernels* kernels_ = nullptr;
  int packed_section_ = -1;
  bool copies_weights_ = false;
  LayerView* layers_ = nullptr;
  LinearWeights head_;
  LinearWeights token_embedding_;
  const float* positions_ = nullptr;
  NormView final_norm_;
};

}  // namespace sotto
