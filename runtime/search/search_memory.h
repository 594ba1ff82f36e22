// The memory of all searches of a session, laid out once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/base/arena.h"
#include "runtime/sampling/sample_input.h"
#include "runtime/search/beam_candidates.h"
#include "runtime/search/phrases.h"
#include "runtime/search/search_input.h"
#include "runtime/search/search_params.h"
#include "runtime/transformer/beams.h"

namespace sotto {

struct SearchShape {
  uint32_t sequence_count = 0;   // most at once
  uint32_t sequence_tokens = 0;  // most of each
};

// A sequence that goes on.
struct RunningSequence {
  double score = 0;            // what beams are compared by
  double log_probability = 0;  // sum of ln p
  uint32_t row = 0;            // of the model's live sequences
  uint32_t index = 0;          // of the sequence in the result
  SequenceText text;
};

// One that has ended: `tokens` says where its tokens are.
struct FinishedSequence {
  double score = 0;
  double log_probability = 0;
  uint32_t token_count = 0;
  Status stop = Status::kOk;
};

struct SearchMemory {
  void lay_out(const SearchShape& shape, Arena* arena);

  int32_t* tokens_of(uint32_t generation, uint32_t sequence) {
    return tokens[generation] + size_t{sequence} * shape.sequence_tokens;
  }
  int32_t* finished_tokens_of(uint32_t sequence) { return finished_tokens + size_t{sequence} * shape.sequence_tokens; }

  SearchShape shape;
  int32_t* tokens[2] = {};                 // (generation; sequence, token): of running sequences
  RunningSequence* running[2] = {};        // (generation; sequence)
  PhraseState* phrase_states[2] = {};      // (generation; sequence)
  int32_t* finished_tokens = nullptr;      // (sequence, token)
  FinishedSequence* finished = nullptr;    // (sequence)
  BeamStep* steps = nullptr;               // (sequence)
  BeamCandidate* best = nullptr;           // (sequence)
  BeamCandidate* going = nullptr;          // (2 sequence + sequence * (kMaxPhrases + 1))
  SamplerState* sampler_states = nullptr;  // (sequence)
  uint32_t* order = nullptr;               // (sequence, token): n-grams, sorted
  SearchSequence* results = nullptr;       // (sequence)
};

}  // namespace sotto
