// The model as a search sees it: sequences that continue one text and are evaluated together. Beams of
// runtime/transformer implement it over GPT-2; tests implement it with functions.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "runtime/base/status.h"
#include "runtime/transformer/beams.h"

namespace sotto {

// Refers to any class with the members begin, grow, logits, keep and similarity of Beams.
class SequenceModel {
 public:
  SequenceModel() = default;
  template <typename Model>
  SequenceModel(Model* model, bool has_similarity)
      : self_(model),
        has_similarity_(has_similarity),
        begin_([](void* self, const std::atomic<uint32_t>& cancelled, uint32_t* capacity) {
          return static_cast<Model*>(self)->begin(cancelled, capacity);
        }),
        grow_([](void* self, std::span<const BeamStep> steps, const std::atomic<uint32_t>& cancelled) {
          return static_cast<Model*>(self)->grow(steps, cancelled);
        }),
        logits_([](void* self, uint32_t sequence) { return static_cast<Model*>(self)->logits(sequence); }),
        keep_([](void* self, uint32_t sequence) { static_cast<Model*>(self)->keep(sequence); }),
        similarity_([](void* self, uint32_t step) { return static_cast<Model*>(self)->similarity(step); }) {}

  Status begin(const std::atomic<uint32_t>& cancelled, uint32_t* capacity) const {
    return begin_(self_, cancelled, capacity);
  }
  // kStopCancelled: nothing has been added.
  Status grow(std::span<const BeamStep> steps, const std::atomic<uint32_t>& cancelled) const {
    return grow_(self_, steps, cancelled);
  }
  std::span<float> logits(uint32_t sequence) const { return logits_(self_, sequence); }
  void keep(uint32_t sequence) const { keep_(self_, sequence); }
  bool has_similarity() const { return has_similarity_; }
  float similarity(uint32_t step) const { return similarity_(self_, step); }

 private:
  void* self_ = nullptr;
  bool has_similarity_ = false;
  Status (*begin_)(void* self, const std::atomic<uint32_t>& cancelled, uint32_t* capacity) = nullptr;
  Status (*grow_)(void* self, std::span<const BeamStep> steps, const std::atomic<uint32_t>& cancelled) = nullptr;
  std::span<float> (*logits_)(void* self, uint32_t sequence) = nullptr;
  void (*keep_)(void* self, uint32_t sequence) = nullptr;
  float (*similarity_)(void* self, uint32_t step) = nullptr;
};

}  // namespace sotto
