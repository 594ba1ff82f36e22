// What a search takes from the session whose text it continues.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/base/constraint.h"
#include "runtime/base/utf8.h"
#include "runtime/sampling/sampler.h"
#include "runtime/search/sequence_model.h"

namespace sotto {

// What of a sequence's text a stop string may have begun in.
struct SequenceText {
  uint16_t stop_state = 0;
  Utf8Stream characters;
};

// What ends a sequence beside the end of text and the search's own limits.
struct SearchStops {
  const void* self = nullptr;
  bool (*is_token)(const void* self, int32_t token) = nullptr;  // null: none is
  size_t token_count = 0;                                       // tokens that are one
  // Goes on by a token; true where that completes a stop string. Null: there are none.
  bool (*completes_string)(const void* self, int32_t token, SequenceText* text) = nullptr;
  SequenceText text;           // the stream's
  uint64_t max_tokens = 0;     // generated ones; 0: no limit
  uint64_t max_time_ns = 0;    // of the search; 0: no limit
  float repetition_limit = 0;  // 0: none
  uint32_t repetition_window = 0;
};

struct SearchInput {
  SequenceModel model;
  const Kernels* kernels = nullptr;
  Sampler* sampler = nullptr;
  SamplerState sampler_state;
  const TokenConstraint* constraint = nullptr;  // null: none
  const std::atomic<uint32_t>* cancelled = nullptr;
  int32_t end_token = -1;
  SearchStops stops;
  TokenHistory history;          // of the stream; its third piece is empty
  uint64_t token_count = 0;      // of the stream
  uint64_t generated_count = 0;  // tokens at its end that were generated
};

// Sequences that a constraint needs, the session's own among them, for searches of so many.
constexpr uint32_t constraint_sequence_count(uint32_t sequence_count) { return 2 * sequence_count + 1; }

}  // namespace sotto
