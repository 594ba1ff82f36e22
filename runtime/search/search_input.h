// What a search takes from the session whose text it continues.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/base/constraint.h"
#include "runtime/sampling/sampler.h"
#include "runtime/search/sequence_model.h"

namespace sotto {

struct SearchInput {
  SequenceModel model;
  const Kernels* kernels = nullptr;
  Sampler* sampler = nullptr;
  SamplerState sampler_state;
  const TokenConstraint* constraint = nullptr;  // null: none
  const std::atomic<uint32_t>* cancelled = nullptr;
  int32_t end_token = -1;
  bool (*is_stop_token)(const void* self, int32_t token) = nullptr;  // null: none is
  const void* stop_self = nullptr;
  TokenHistory history;          // of the stream; its third piece is empty
  uint64_t token_count = 0;      // of the stream
  uint64_t generated_count = 0;  // tokens at its end that were generated
};

// Sequences that a constraint needs, the session's own among them, for searches of so many.
constexpr uint32_t constraint_sequence_count(uint32_t sequence_count) {
  return 2 * sequence_count + 1;
}

}  // namespace sotto
