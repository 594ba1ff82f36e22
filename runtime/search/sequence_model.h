// What a search needs of the model: sequences that continue one text, evaluated together.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/transformer/branch_tree.h"

namespace sotto {

struct SequenceModel {
  void* self = nullptr;

  // Makes sequences begin behind the text: logits(0) are those after it. `*room`: how many
  // tokens each can be given to evaluate.
  Status (*begin)(void* self, uint32_t* room) = nullptr;

  // Adds a token a step, each behind a live sequence or the text; they are the live
  // sequences then, and logits(i) those after step i, which the caller may overwrite.
  // kStopCancelled: nothing is added.
  Status (*grow)(void* self, std::span<const BranchStep> steps) = nullptr;
  std::span<float> (*logits)(void* self, uint32_t sequence) = nullptr;

  // Only this one lives on, as sequence 0; logits stay where they are.
  void (*keep)(void* self, uint32_t sequence) = nullptr;

  // The largest cosine between the hidden states of step i of the last grow() and of the
  // tokens before it; null where the model keeps none.
  float (*similarity)(void* self, uint32_t step) = nullptr;
};

}  // namespace sotto
