// Computes the memory of a model and its session from their shape, without loading the model. The sizes of sessions and
// of packed weights come from sotto_memory.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/cli/support/model.h"

namespace sotto::cli {

// A model. A file of it need not exist.
struct PlannedModel {
  uint32_t vocabulary_size = 0;
  uint32_t max_context_tokens = 0;
  uint32_t embedding_size = 0;
  uint32_t head_count = 0;
  uint32_t layer_count = 0;
  uint32_t feed_forward_size = 0;
  uint32_t layer_bits = 8;
  uint32_t head_bits = 8;
  bool is_packed = false;  // true if the file contains the int8 weights in the form that this CPU reads
};

// Returns the shape and the bits of a model.
PlannedModel planned_model(const ModelInfo& info);

struct MemoryPart {
  const char* json_name;
  std::string name;
  uint64_t bytes;
  bool is_in_file;  // true for pages of the model file that are used in place
};

struct MemoryPlan {
  std::vector<MemoryPart> parts;
  uint64_t loading_bytes;  // the largest use while the model is loaded

  uint64_t allocated_bytes() const { return sum(false); }
  uint64_t file_bytes() const { return sum(true); }
  uint64_t total_bytes() const { return allocated_bytes() + file_bytes(); }
  uint64_t peak_bytes() const;

 private:
  uint64_t sum(bool is_in_file) const;
};

// Returns the memory of the model itself, without its weights.
uint64_t model_object_bytes(const PlannedModel& model);

// Returns the parameters with their defaults for this model. Throws a Failure that names an option whose value is out
// of range.
SessionParams resolved_session(const PlannedModel& model, SessionParams params);

// Returns the number of sequences of a matcher for a session, matcher_sequence_count of sotto_session_info.
constexpr uint32_t matcher_sequence_count(uint32_t sequence_count) { return 2 * sequence_count + 1; }

// `params` have been resolved.
MemoryPlan plan_memory(const PlannedModel& model, const SessionParams& params);

}  // namespace sotto::cli
